"""A migration under way: rows that do not fit, interruptions, giving up, damage."""

from __future__ import annotations

import uuid
from itertools import pairwise

import pytest

import treadle
from tests.support.engines import open_on
from tests.support.orders import FIRST, MIGRATION, ONE_FIELD, SECOND, SHOP, TOTAL, Shop, Steps, successor
from treadle.access.roles import Role
from treadle.engine import migration as migrating
from treadle.engine.deployment import DeployJob
from treadle.engine.evolving import compare_built
from treadle.errors import ContractError, ContractMismatch, InvariantBroken
from treadle.model.facts import RowChange
from treadle.ports.store import Store


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


def test_a_reference_to_an_entity_that_only_comes_with_it(shop: Shop) -> None:
    region = "aggregate Regions { root Region partition_by shop conflict_key (shop, region) }"
    source = successor(
        ("  entity Customer {", "  entity Region { key (shop: uuid, region: u64) }\n  entity Customer {"),
        ("    field name: string<40>\n", "    field name: string<40> field region: u64 REFERENCE\n"),
        ("REFERENCE", "reference of_region (shop, region) -> Region (shop, region)"),
        ("  aggregate Customers", f"  {region}\n  aggregate Customers"),
        ("create Customer(shop, customer_id)", "READ create Customer(shop, customer_id)"),
        ("READ", "read Region(shop, 1) as region else Missing {}"),
        ('set customer.name = "someone"', 'set customer.name = "someone" set customer.region = 1'),
    )
    migration = "migrate 1 to 2 { field Customer.region = 1 reference Customer.of_region }"
    assert "reference of_region names a Region that is not there" in unfit(shop, source, migration)


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
    with pytest.raises(treadle.Denied, match="admin"):
        shop.db.compare(SECOND, role="worker")
    broken = successor(("field name: string<40>", "field name: string<41>"))
    with pytest.raises(treadle.Denied, match="admin"):
        shop.db.deploy(broken, role="worker")
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
