"""What a migration does to rows: they change all at once or not at all, and nothing else does."""

from __future__ import annotations

from datetime import timedelta

import pytest

import treadle
from tests.conformance.migrations.conftest import START
from tests.support.orders import FIRST, MIGRATION, ONE_FIELD, SECOND, SHOP, TOTAL, Shop, Steps, successor
from treadle.errors import ContractError
from treadle.testing import ManualClock


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
