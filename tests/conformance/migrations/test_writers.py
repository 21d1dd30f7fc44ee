"""Others write while a migration runs: whatever they do, the deployment ends as the rules say."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.migrations.conftest import START
from tests.support.effort import effort
from tests.support.engines import open_on
from tests.support.orders import MIGRATION, SECOND, SHOP, Shop, Steps
from treadle.engine import migration as migrating
from treadle.errors import ContractError, ContractMismatch
from treadle.store.memory import MemoryStore
from treadle.testing import ManualClock


def test_what_was_written_after_its_step_is_brought_again(shop: Shop, small_steps: None) -> None:
    for number in range(6):
        shop.place(number, amount=10)
    steps = Steps(shop.db)
    while steps.standing.done < 6:
        steps.step()
    shop.change(0, customer=2, amount=50)
    shop.change(5, customer=3, amount=60, code="other")
    shop.held("Cancel", 2)
    shop.held("Cancel", 3)
    shop.place(3, customer=2, amount=70)
    shop.place(9, amount=80)
    shop.held("Pack", 1)
    assert steps.deploy() == 2
    totals = {number: row.fields["total"] for number in range(10) if (row := shop.order(number)) is not None}
    assert totals == {0: 101, 1: 21, 3: 141, 4: 21, 5: 121, 9: 161}
    assert shop.order(1).fields["state"] == "Packed" and shop.order(3).fields["hint"] == 2
    assert shop.db.verify().ok


def test_a_unique_entry_that_moves_while_it_is_collected(shop: Shop, small_steps: None) -> None:
    for number in range(4):
        shop.place(number, code=f"x{number}")
    steps = Steps(shop.db)
    while steps.standing.phase != "following":
        steps.step()
    shop.change(0, code="free")
    shop.change(3, code="x0")
    shop.change(0, code="x3")
    shop.change(1, code="x2")
    with pytest.raises(ContractError, match=r"Order\(.*, [12]\): unique by_code is taken by another row"):
        steps.deploy()
    shop.change(2, code="x1")
    assert steps.deploy() == 2
    assert {shop.order(n).fields["code"] for n in range(4)} == {"x0", "x1", "x2", "x3"}
    assert shop.db.verify().ok


def test_a_customer_that_goes_while_orders_are_brought(shop: Shop, small_steps: None) -> None:
    for number in range(4):
        shop.place(number, customer=1 + number % 2)
    steps = Steps(shop.db)
    while steps.standing.phase != "following":
        steps.step()
    shop.run("DropCustomer", "Dropped", customer_id=2)
    with pytest.raises(ContractError, match="reference of_customer names a Customer that is not there"):
        steps.deploy()
    shop.change(1, customer=1)
    shop.change(3, customer=3)
    assert steps.deploy() == 2
    assert shop.db.verify().ok


def test_a_root_that_changes_under_children_that_fit(shop: Shop, small_steps: None) -> None:
    shop.place(1, amount=10)
    for line in range(1, 6):
        shop.line(1, line, cost=line * 2)
    steps = Steps(shop.db)
    while steps.standing.phase != "following":
        steps.step()
    shop.change(1, amount=7)
    with pytest.raises(ContractError, match=r"Line\(.*, 1, 4\): invariant Within.*Line\(.*, 1, 5\)"):
        steps.deploy()
    shop.change(1, amount=20)
    assert steps.deploy() == 2
    assert shop.db.verify().ok


def test_the_clock_may_be_reset_meanwhile(shop: Shop, clock: ManualClock) -> None:
    """An operator's act writes rows too, without a command."""
    clock.advance(timedelta(days=40_000))
    shop.place(1)
    shop.claim(1)
    clock.set(START)
    steps = Steps(shop.db)
    while steps.standing.phase != "following":
        steps.step()
    assert shop.db.reset_clock()[1] == 1
    assert steps.deploy() == 2
    assert shop.order(1).fields["packer"] is None and shop.order(1).fields["fence"] == 1
    assert shop.db.verify().ok


NUMBERS = st.integers(0, 5)
COMMANDS = st.one_of(
    st.tuples(st.just("place"), NUMBERS, st.integers(1, 3), st.integers(1, 9), st.integers(0, 3)),
    st.tuples(st.just("change"), NUMBERS, st.integers(1, 3), st.integers(1, 9), st.integers(0, 3)),
    st.tuples(st.just("cancel"), NUMBERS),
    st.tuples(st.just("customer"), st.integers(1, 3)),
    st.tuples(st.just("drop"), st.integers(1, 3)),
    st.tuples(st.just("line"), NUMBERS, st.integers(1, 3), st.integers(1, 9)),
)


def act(shop: Shop, words: tuple[Any, ...]) -> None:
    match words:
        case ("place", number, customer, amount, code):
            shop.place(number, customer, amount, f"code{code}")
        case ("change", number, customer, amount, code):
            shop.change(number, customer, amount, f"code{code}")
        case ("cancel", number):
            shop.held("Cancel", number)
        case ("customer", number):
            shop.customer(number)
        case ("drop", number):
            shop.run("DropCustomer", customer_id=number)
        case ("line", number, line, cost):
            shop.line(number, line, cost)


def fits(shop: Shop, orders: dict[int, Any], customers: set[int], lines: dict[tuple[int, int], int]) -> bool:
    """Whether the rows may become rows of the second version, by the rules as they are written there."""
    codes = [order["code"] for order in orders.values()]
    return (
        len(set(codes)) == len(codes)
        and all(order["customer_id"] in customers for order in orders.values())
        and all(order["amount"] * 2 + 1 >= 3 for order in orders.values())
        and all(cost <= orders[order]["amount"] for (order, _), cost in lines.items() if order in orders)
    )


@settings(max_examples=effort(60), suppress_health_check=list(HealthCheck))
@given(st.lists(COMMANDS, max_size=12), st.lists(st.one_of(COMMANDS, st.just(("step",))), max_size=30))
def test_however_steps_and_commands_mix(before: list, during: list) -> None:
    """The deployment succeeds exactly when the rows as they are then fit, and then gives what they become."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrating, "STEP_ROWS", 2)
        patch.setattr(migrating, "STEP_RECORDS", 3)
        shop = Shop(open_on(MemoryStore()))
        for customer in (1, 2):
            shop.customer(customer)
        for words in before:
            act(shop, words)
        steps = Steps(shop.db)
        for words in during:
            if words == ("step",):
                steps.step()
            else:
                act(shop, words)
        orders = {n: row.fields for n in range(6) if (row := shop.order(n)) is not None}
        customers = {n for n in range(4) if shop.db.row("Customer", (SHOP, n)) is not None}
        lines = {
            (order, line): row.fields["cost"]
            for order in range(6)
            for line in range(4)
            if (row := shop.db.row("Line", (SHOP, order, line))) is not None
        }
        if fits(shop, orders, customers, lines):
            assert steps.deploy() == 2
        else:
            with pytest.raises(ContractError, match="rows do not fit version 2"):
                steps.deploy()
            assert shop.db.version == 1
        for number, fields in orders.items():
            now = shop.order(number).fields
            assert {name: now[name] for name in fields} == fields
            assert shop.db.version == 1 or now["total"] == fields["amount"] * 2 + 1
        assert sum(shop.order(number) is not None for number in range(6)) == len(orders)
        report = shop.db.verify()
        assert report.ok, report.problems


def test_threads_write_all_the_while(shop: Shop, small_steps: None) -> None:
    for number in range(40):
        shop.place(number)
    stop = threading.Event()
    failures: list[BaseException] = []

    def write(offset: int) -> None:
        mine = Shop(shop.db, deploy=False)
        mine.keys = f"t{offset}-"
        number = offset
        try:
            while not stop.is_set():
                number += 2
                mine.place(number, amount=1 + number % 7)
                mine.change(number - 2, amount=1 + number % 5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(offset,)) for offset in (1000, 1001)]
    for thread in threads:
        thread.start()
    try:
        told: list[tuple[int, int]] = []
        assert shop.db.deploy(SECOND, migration=MIGRATION, progress=lambda *now: told.append(now)) == 2
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
    assert not failures
    assert told == sorted(told) and told[-1] == (told[-1][1], told[-1][1])
    report = shop.db.verify()
    assert report.ok, report.problems


def test_two_may_carry_it_at_once(shop: Shop, small_steps: None) -> None:
    for number in range(30):
        shop.place(number)
    answers: list[object] = []

    def carry() -> None:
        try:
            answers.append(shop.db.deploy(SECOND, migration=MIGRATION))
        except ContractMismatch as error:
            answers.append(error.code)

    threads = [threading.Thread(target=carry) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert 2 in answers and set(answers) <= {2, "version_conflict"}
    assert shop.db.version == 2 and shop.db.verify().ok
