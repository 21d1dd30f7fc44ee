"""Migrations on every store: rows change all at once or not at all, whatever others write meanwhile."""

from __future__ import annotations

import threading
import uuid
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import treadle
from tests.support.effort import effort
from tests.support.engines import open_on
from tests.support.orders import FIRST, MIGRATION, SECOND, SHOP, Shop, Steps
from treadle.access.roles import Role
from treadle.engine import migration as migrating
from treadle.engine.deployment import DeployJob
from treadle.engine.evolving import compare_built
from treadle.errors import ContractError, ContractMismatch, InvariantBroken
from treadle.model.facts import RowChange
from treadle.ports.store import Store
from treadle.store.memory import MemoryStore
from treadle.testing import ManualClock

START = datetime(2026, 3, 1, tzinfo=UTC)
ONE_FIELD = "migrate 1 to 2 { field Order.total = amount }"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def shop(store: Store, clock: ManualClock) -> Shop:
    made = Shop(open_on(store, clock))
    for customer in (1, 2, 3):
        made.customer(customer)
    return made


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows a step, so that a migration of a few rows takes several."""
    monkeypatch.setattr(migrating, "STEP_ROWS", 2)


def successor(*edits: tuple[str, str], version: int = 2) -> str:
    """The first version with some edits only."""
    text = FIRST.replace("contract Orders version 1", f"contract Orders version {version}")
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


TOTAL = successor(
    ("    field amount: u64\n", "    field amount: u64\n    field total: u64\n"),
    ("    set order.fence = 0\n", "    set order.total = 0\n    set order.fence = 0\n"),
)


# What a migration does.


def test_rows_get_their_fields_and_nothing_else_changes(shop: Shop, clock: ManualClock) -> None:
    for number in range(5):
        shop.place(number, 1 + number % 3, amount=10 + number)
    claimed = shop.claim(3)
    assert claimed is not None
    before = [shop.order(number) for number in range(5)]
    clock.advance(timedelta(seconds=30))
    assert shop.db.deploy(SECOND, migration=MIGRATION) == 2
    for old in before:
        number = old.fields["order_id"]
        new = shop.order(number)
        added = {
            "total": (10 + number) * 2 + 1,
            "grade": "Plain",
            "since": START + timedelta(seconds=30),
            "hint": 1 + number % 3,
        }
        assert new.fields == old.fields | added
        assert new.revision == old.revision
    held = shop.run(
        "Change",
        "Changed",
        order_id=3,
        packer=claimed.fields["order"]["packer"],
        token=1,
        revision=claimed.revisions["order"],
        customer_id=2,
        amount=99,
        code="new",
    )
    assert held.fields["order"]["total"] == 27, "a lease and its evidence outlive the deployment"
    assert shop.db.verify().ok


def test_what_was_demanded_is_demanded_from_then_on(shop: Shop) -> None:
    shop.place(1)
    shop.line(1, cost=10)
    assert shop.db.deploy(SECOND, migration=MIGRATION) == 2
    assert shop.place(2, code="c1").outcome == "CodeTaken"
    assert shop.place(3, customer=9).outcome == "NoCustomer"
    assert shop.run("DropCustomer", customer_id=1).outcome == "HasOrders"
    with pytest.raises(treadle.TerminalFailure, match="Dear"):
        shop.place(4, amount=0)
    with pytest.raises(treadle.TerminalFailure, match="Within"):
        shop.line(1, cost=11)
    assert shop.db.verify().ok


def test_the_new_index_answers_queries(shop: Shop) -> None:
    for number in range(6):
        shop.place(number, 1 + number % 2, amount=number + 1)
    query = """query Dear($shop: Order.shop) {
      many order from Order where order.shop == $shop order by order.total desc, order.order_id desc take 3
      return Found { orders: order { order_id total } } outcomes Found
    }"""
    with pytest.raises(ContractError):
        shop.db.deploy(FIRST.replace("version 1", "version 2"), queries=query)
    assert shop.db.deploy(SECOND, migration=MIGRATION, queries=query) == 2
    found = shop.db.query("Dear", {"shop": SHOP})
    assert [row["order_id"] for row in found.fields["orders"]] == [5, 4, 3]


def test_every_receipt_replays(shop: Shop) -> None:
    first = shop.place(1)
    steps = Steps(shop.db)
    during = shop.place(2)
    steps.step()
    assert steps.deploy() == 2
    for number, receipt in ((1, first), (2, during)):
        body = {"key": f"k{3 + number}", "shop": SHOP, "order_id": number, "customer_id": 1, "amount": 10}
        again = shop.db.run("Place", {**body, "code": f"c{number}"}, principal="tests")
        assert again.replayed
        assert again == receipt
    assert shop.db.verify().ok


def test_the_log_tells_what_it_did(shop: Shop) -> None:
    shop.place(1)
    commit = shop.order(1).commit
    shop.db.deploy(SECOND, migration=MIGRATION)
    kinds = [(entry.kind, entry.name, len(entry.rows)) for entry in shop.db.log(first=commit + 1)]
    assert kinds == [("migrate", "begin", 0), ("migrate", "rows", 1), ("deploy", "Orders", 0)]
    begin, rows, deploy = list(shop.db.log(first=commit + 1))
    assert begin.body["text"] == MIGRATION and begin.contract_version == 2
    assert deploy.body["migration"] == begin.body["migration"]
    assert shop.order(1).commit == rows.number
    (written,) = rows.rows
    assert written.before == commit and written.fields is not None and written.fields["total"] == 21
    chain = [entry.number for entry in shop.db.log(of=("Order", (SHOP, 1)))]
    assert chain == [rows.number, commit]


def test_rows_that_get_no_field_keep_their_record(shop: Shop) -> None:
    shop.place(1)
    commit = shop.order(1).commit
    index = successor(
        (
            "    delete_policy no_inbound\n  }\n\n  entity Line",
            "    index by_code (shop, code)\n    delete_policy no_inbound\n  }\n\n  entity Line",
        )
    )
    assert shop.db.deploy(index, migration="migrate 1 to 2 { index Order.by_code }") == 2
    assert shop.order(1).commit == commit
    assert all(not entry.rows for entry in shop.db.log() if entry.kind == "migrate")
    assert shop.db.verify().ok


def test_a_second_and_a_third_migration_follow(shop: Shop) -> None:
    shop.place(1)
    assert shop.db.deploy(TOTAL, migration=ONE_FIELD) == 2
    third = TOTAL.replace("version 2", "version 3").replace(
        "field total: u64", "field total: u64 index by_total (shop, total)"
    )
    assert shop.db.deploy(third, migration="migrate 2 to 3 { index Order.by_total }") == 3
    shop.place(2)
    fourth = third.replace("version 3", "version 4").replace("(shop, total)", "(shop, total, amount)")
    assert shop.db.deploy(fourth, migration="migrate 3 to 4 { index Order.by_total }") == 4
    assert shop.change(2) is not None
    assert shop.held("Cancel", 2) is not None
    again = shop.place(2)
    assert again.revisions["order"] > 3, "a deleted row's revision outlives the tables that are put in place"
    assert shop.db.verify().ok


def test_all_rows_or_none_show_it(shop: Shop, small_steps: None) -> None:
    for number in range(7):
        shop.place(number)
    steps = Steps(shop.db)
    seen = shop.db.history
    while steps.standing.phase != "following":
        steps.step()
        assert shop.db.version == 1 and shop.db.history == seen
        assert all("total" not in shop.order(number).fields for number in range(7))
        assert "total" not in shop.place(100 + shop.count).fields["order"]
    assert steps.deploy() == 2
    assert all("total" in shop.order(number).fields for number in range(7))
    assert shop.db.verify().ok


# Others write meanwhile.


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


# Rows that do not fit.


def unfit(shop: Shop, source: str, migration: str) -> str:
    with pytest.raises(ContractError) as caught:
        shop.db.deploy(source, migration=migration)
    assert caught.value.code == "contract_incompatible"
    assert shop.db.version == 1
    return caught.value.message


def test_rows_that_do_not_fit_are_named_and_may_be_changed(shop: Shop) -> None:
    shop.place(1, customer=1, code="same")
    shop.place(2, customer=7, code="two")
    shop.place(3, customer=1, code="same")
    shop.place(4, amount=0)
    shop.place(5, amount=4)
    shop.line(5, cost=9)
    message = unfit(shop, SECOND, MIGRATION)
    assert message.startswith("rows do not fit version 2: ")
    for says in (
        f"Order({SHOP}, 2): reference of_customer names a Customer that is not there",
        f"Order({SHOP}, 3): unique by_code is taken by another row",
        f"Order({SHOP}, 4): invariant Dear does not hold",
        f"Line({SHOP}, 5, 1): invariant Within does not hold",
        "give the migration up with `treadle deploy --abandon`",
    ):
        assert says in message
    shop.customer(7)
    shop.change(1, code="another")
    shop.change(4, amount=1)
    assert "Order" not in unfit(shop, SECOND, MIGRATION).split("Line")[0]
    shop.line(5, cost=4)
    assert shop.db.deploy(SECOND, migration=MIGRATION) == 2
    assert len([entry for entry in shop.db.log() if entry.name == "begin"]) == 1, "it went on where it was"
    assert shop.db.verify().ok


def test_a_value_that_cannot_be_computed(shop: Shop) -> None:
    shop.place(1, amount=3)
    shop.place(2, amount=2**63)
    message = unfit(shop, TOTAL, "migrate 1 to 2 { field Order.total = amount * 2 }")
    assert f"Order({SHOP}, 2): field total cannot be computed: a result is out of its type's range" in message
    assert "1):" not in message.split(": ", 1)[1].split(";")[0]
    message = unfit(shop, TOTAL, "migrate 1 to 2 { field Order.total = amount * 2 }")
    assert "2)" in message
    with pytest.raises(ContractMismatch, match="under way"):
        shop.db.deploy(TOTAL, migration="migrate 1 to 2 { field Order.total = 7 }")
    assert shop.db.abandon_migration() == 2
    assert shop.db.deploy(TOTAL, migration="migrate 1 to 2 { field Order.total = 7 }") == 2


def test_too_many_end_it_early(shop: Shop, monkeypatch: pytest.MonkeyPatch, small_steps: None) -> None:
    monkeypatch.setattr(migrating, "MOST_PROBLEMS", 4)
    for number in range(40):
        shop.place(number, customer=99)
    message = unfit(shop, SECOND, MIGRATION)
    assert message.count("reference of_customer") <= 10
    standing = Steps(shop.db).standing
    assert standing.phase == "bringing" and standing.done < 10
    shop.customer(99)
    monkeypatch.undo()
    assert shop.db.deploy(SECOND, migration=MIGRATION) == 2


# Under way: interrupted, refused, given up.


def test_another_handle_goes_on(open_store, kind, small_steps: None) -> None:
    if kind.name == "memory":
        pytest.skip("a memory database has one handle")
    shop = Shop(open_on(open_store()))
    shop.customer(1)
    for number in range(9):
        shop.place(number)
    steps = Steps(shop.db)
    for _ in range(3):
        steps.step()
    other = open_on(open_store())
    assert other.run(
        "Place",
        {"key": "o", "shop": SHOP, "order_id": 50, "customer_id": 1, "amount": 1, "code": "z"},
        principal="o",
    ).ok
    shop.db.close()
    assert other.deploy(SECOND, migration=MIGRATION) == 2
    row = other.row("Order", (SHOP, 50))
    assert row is not None and row.fields["total"] == 3
    assert len([entry for entry in other.log() if entry.name == "begin"]) == 1
    assert other.verify().ok


def test_nothing_else_is_deployed_meanwhile_but_roles_and_queries(shop: Shop) -> None:
    shop.place(1)
    steps = Steps(shop.db)
    with pytest.raises(ContractMismatch, match="to version 2 is under way"):
        shop.db.deploy(successor(version=3))
    with pytest.raises(ContractMismatch, match="to version 2 is under way"):
        shop.db.deploy(TOTAL.replace("version 2", "version 3"), migration=ONE_FIELD.replace("to 2", "to 3"))
    with pytest.raises(ContractError, match="needs a migration"):
        shop.db.deploy(SECOND)
    assert shop.db.deploy(FIRST, roles=[Role("admin", operations=("admin",))]) == 1
    assert steps.deploy() == 2


def test_a_migration_is_given_up_without_a_trace(shop: Shop, small_steps: None) -> None:
    for number in range(5):
        shop.place(number)
    rows = [shop.order(number) for number in range(5)]
    steps = Steps(shop.db)
    for _ in range(4):
        steps.step()
    assert shop.db.abandon_migration() == 2
    assert shop.db.abandon_migration() == 0
    assert [shop.order(number) for number in range(5)] == rows and shop.db.version == 1
    with pytest.raises(ContractMismatch, match="ended meanwhile"):
        steps.step()
    shop.change(1, code="c0")
    assert shop.db.verify().ok
    message = unfit(shop, SECOND, MIGRATION)
    assert "unique by_code is taken" in message
    shop.change(1, code="mine")
    assert shop.db.deploy(SECOND, migration=MIGRATION) == 2
    assert shop.db.verify().ok


def test_what_was_collected_for_a_migration_that_was_given_up_counts_for_nothing(shop: Shop) -> None:
    shop.place(1, code="taken")
    steps = Steps(shop.db)
    while steps.standing.phase != "following":
        steps.step()
    shop.db.abandon_migration()
    shop.held("Cancel", 1)
    shop.place(2, code="taken")
    assert shop.db.deploy(SECOND, migration=MIGRATION) == 2
    assert shop.place(3, code="taken").outcome == "CodeTaken"


def test_entities_without_rows_need_none(store: Store) -> None:
    shop = Shop(open_on(store))
    shop.customer(1)
    assert shop.db.deploy(SECOND) == 2
    assert shop.place(1).fields["order"]["total"] == 21
    assert shop.place(2, code="c1").outcome == "CodeTaken"
    assert shop.db.verify().ok


def test_a_migration_that_nothing_needs_does_no_harm(store: Store) -> None:
    shop = Shop(open_on(store))
    assert shop.db.deploy(SECOND, migration=MIGRATION) == 2
    assert shop.db.deploy(SECOND, migration="not even read") == 2
    assert shop.db.verify().ok


def test_rows_that_come_to_an_empty_entity_meanwhile_are_brought(shop: Shop) -> None:
    steps = Steps(shop.db)
    shop.place(1, amount=4)
    assert steps.deploy() == 2
    assert shop.order(1).fields["total"] == 9


def test_a_row_that_comes_between_the_look_and_the_deployment_is_noticed(shop: Shop) -> None:
    """Without a migration: the entity was empty when somebody looked, and is not when it is deployed."""
    proposal = shop.db._proposal(SECOND, None, None, None, shop.db.acting_as("owner").caller)
    shop.place(1)
    with pytest.raises(ContractError, match="needs a migration"):
        shop.db._one(DeployJob(proposal), None)


def test_who_may_migrate(shop: Shop) -> None:
    shop.place(1)
    shop.db.deploy(
        FIRST, roles=[Role("worker", commands=("Place",)), Role("operator", operations=("admin",))]
    )
    with pytest.raises(treadle.Denied, match="admin"):
        shop.db.deploy(SECOND, migration=MIGRATION, role="worker")
    with pytest.raises(treadle.Denied, match="admin"):
        shop.db.abandon_migration(role="worker")
    assert shop.db.deploy(SECOND, migration=MIGRATION, role="operator", principal="eve") == 2
    assert {entry.principal for entry in shop.db.log() if entry.kind == "migrate"} == {"eve"}


def test_a_lost_race_begins_nothing(shop: Shop) -> None:
    shop.place(1)
    with pytest.raises(ContractMismatch) as caught:
        shop.db.deploy(SECOND, migration=MIGRATION, expected_version=7)
    assert caught.value.code == "version_conflict"
    assert not [entry for entry in shop.db.log() if entry.kind == "migrate"]


# Damage.


def test_what_was_built_is_compared_before_it_counts(shop: Shop, store: Store) -> None:
    for number in range(3):
        shop.place(number)
    steps = Steps(shop.db)
    while steps.standing.phase != "following":
        steps.step()
    built = steps.site.built["Order"]
    with store.write() as tx:
        row = tx.scan(built, None, 1)[0]
        wrong = tuple(7 if cell == 21 else cell for cell in row.cells)
        tx.write_rows(built, [RowChange("Order", row.cells[:2], row, row.revision, wrong)], [row.commit])
        tx.commit()
    with pytest.raises(InvariantBroken, match=r"Order\(.*, 0\) was not brought to what it becomes"):
        steps.deploy()
    assert shop.db.version == 1
    with store.write() as tx:
        tx.write_rows(built, [RowChange("Order", row.cells[:2], row, row.revision, None)], [0])
        tx.commit()
    with pytest.raises(InvariantBroken, match="was not brought"):
        compare_built(shop.db._engine, steps.site, lambda done, total: None)
    shop.db.abandon_migration()
    assert steps.deploy() == 2


def test_verify_computes_migrated_rows_again(shop: Shop, store: Store) -> None:
    shop.place(1)
    assert shop.db.deploy(SECOND, migration=MIGRATION) == 2
    identity = next(entry.body["migration"] for entry in shop.db.log() if entry.name == "begin")
    with store.write() as tx:
        stored = tx.setting(migrating.COMPILED + identity)
        assert stored is not None
        tx.put_setting(migrating.COMPILED + identity, stored.replace(b'"value":2', b'"value":3'))
        tx.commit()
    report = shop.db.verify()
    assert any("computed again, a row of Order becomes another one" in one.what for one in report.problems)


def test_verify_notices_a_row_that_a_migration_left_out(shop: Shop, store: Store) -> None:
    shop.place(1)
    assert shop.db.deploy(SECOND, migration=MIGRATION) == 2
    tables = shop.db._engine.state.require().tables
    with store.write() as tx:
        row = tx.scan(tables["Order"], None, 1)[0]
        tx.write_rows(tables["Order"], [RowChange("Order", row.cells[:2], row, row.revision, None)], [0])
        tx.write_uniques([("Order", "by_code", (row.cells[0], "c1"))], [])
        tx.commit()
    found = [one.what for one in shop.db.verify().problems]
    assert any("is not stored" in what for what in found) and any("unique entries" in what for what in found)
    assert uuid.UUID(bytes=row.cells[0]) == SHOP


def test_a_step_is_bounded(shop: Shop) -> None:
    given = [
        (
            "Place",
            {"key": f"b{n}", "shop": SHOP, "order_id": n, "customer_id": 1, "amount": 5, "code": f"b{n}"},
        )
        for n in range(migrating.STEP_ROWS + 50)
    ]
    assert all(answer.ok for answer in shop.db.run_many(given, principal="tests"))
    steps = Steps(shop.db)
    done = [0]
    while steps.standing.phase != "following":
        done.append(steps.step().standing.done)
    assert max(after - before for before, after in pairwise(done)) == migrating.STEP_ROWS
    assert steps.deploy() == 2 and shop.db.verify().ok
