"""Orders on their way to a successor: the contract, its second version, and commands by short names."""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import UUID

import treadle
from tests.support.shared import ROOT
from treadle.access.caller import Caller
from treadle.database import Database
from treadle.engine import evolving
from treadle.engine.deployment import Proposal
from treadle.engine.migration import (
    BeginMigration,
    Standing,
    StepMigration,
    Stepped,
    Wanted,
    site_of,
)
from treadle.model.contract import Contract
from treadle.riff import compile_contract

FIRST = (ROOT / "tests/data/orders.riff").read_text(encoding="utf-8")
SHOP, PACKER = UUID(int=5), UUID(int=6)

EDITS = (
    ("contract Orders version 1", "contract Orders version 2"),
    ("field amount: u64\n", "field amount: u64\n FIELDS"),
    ("FIELDS", "field total: u64 field grade: Grade field since: timestamp field hint: optional<u64>\n"),
    (
        "delete_policy no_inbound\n  }\n\n  entity Line",
        "CONSTRAINTS delete_policy no_inbound\n  }\n  entity Line",
    ),
    ("CONSTRAINTS", "index by_customer (shop, customer_id) index by_total (shop, total) CONSTRAINTS"),
    ("CONSTRAINTS", "unique by_code (shop, code) invariant Dear: total >= 3 CONSTRAINTS"),
    ("CONSTRAINTS", "reference of_customer (shop, customer_id) -> Customer (shop, customer_id)\n"),
    ("delete_policy no_inbound\n", "delete_policy restrict Order.by_customer\n"),
    ("as customer else Missing {}", "as customer else Missing {} restrict HasOrders {}"),
    ("child Line partition_by shop", "child Line invariant Within: cost <= amount partition_by shop"),
    ("create Order(shop, order_id) as order else Exists {}", "CUSTOMER CREATE conflict by_code CodeTaken {}"),
    ("CREATE", "create Order(shop, order_id) as order else Exists {}"),
    (
        "idempotency_key key\n    mutate Order(shop, order_id) as order else Missing {}\n    lease fence",
        "FENCE",
    ),
    (
        "FENCE",
        "idempotency_key key CUSTOMER\n mutate Order(shop, order_id) as order else Missing {} lease fence",
    ),
    ("CUSTOMER", "read Customer(shop, customer_id) as customer else NoCustomer {}"),
    ("CUSTOMER", "read Customer(shop, customer_id) as customer else NoCustomer {}"),
    ("set order.fence = 0\n", "set order.total = amount * 2 + 1 set order.grade = Grade.Fine REST\n"),
    ("REST", "set order.since = tx.time set order.fence = 0"),
)
MIGRATION = """migrate 1 to 2 {
  field Order.total = amount * 2 + 1
  field Order.grade = Grade.Plain
  field Order.since = tx.time
  field Order.hint = customer_id
  index Order.by_customer
  index Order.by_total
  unique Order.by_code
  reference Order.of_customer
  invariant Order.Dear
  invariant Orders.Within
}
"""


def second() -> str:
    """The contract at version 2: with everything that needs a migration."""
    text = FIRST
    for old, new in EDITS:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


SECOND = second()


def successor(*edits: tuple[str, str], version: int = 2) -> str:
    """The first version with some edits only, as a later one."""
    text = FIRST.replace("contract Orders version 1", f"contract Orders version {version}")
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


TOTAL = successor(
    ("    field amount: u64\n", "    field amount: u64\n    field total: u64\n"),
    ("    set order.fence = 0\n", "    set order.total = 0\n    set order.fence = 0\n"),
)
ONE_FIELD = "migrate 1 to 2 { field Order.total = amount }"
"""The migration to `TOTAL`, which only adds a field."""


@cache
def contract(source: str) -> Contract:
    """A contract's text compiled, once for all tests that deploy it again and again."""
    found = compile_contract(source)
    assert found.contract is not None, found.render()
    return found.contract


def deployed(db: Database, source: str, migration: str | None = None) -> int:
    """Deploy a text as `Database.deploy` does, without compiling it again."""
    proposal = Proposal(contract(source), source, None, None, Caller("owner"))
    version = evolving.deploy(db._engine, proposal, migration)
    db._engine.refresh()
    return version


class Shop:
    """A shop in a database; each command has a key of its own."""

    def __init__(self, db: Database, *, deploy: bool = True) -> None:
        self.db = db
        self.count = 0
        self.keys = "k"
        if deploy:
            deployed(db, FIRST)

    def run(self, command: str, expect: str | None = None, **given: Any) -> treadle.Receipt:
        """Run a command in the shop; with `expect`, that outcome must come."""
        self.count += 1
        receipt = self.db.run(
            command, {"key": f"{self.keys}{self.count}", "shop": SHOP, **given}, principal="tests"
        )
        assert expect is None or receipt.outcome == expect, receipt
        return receipt

    def customer(self, number: int) -> None:
        self.run("AddCustomer", customer_id=number)

    def place(self, number: int, customer: int = 1, amount: int = 10, code: str = "") -> treadle.Receipt:
        code = code or f"c{number}"
        return self.run("Place", order_id=number, customer_id=customer, amount=amount, code=code)

    def order(self, number: int) -> Any:
        return self.db.row("Order", (SHOP, number))

    def claim(self, number: int) -> treadle.Receipt | None:
        """Claim an order for a quarter of an hour, unless it is held already or not there."""
        row = self.order(number)
        if row is None or row.fields["packer"] is not None:
            return None
        return self.run(
            "Claim", "Claimed", order_id=number, packer=PACKER, seconds=900, revision=row.revision
        )

    def held(self, command: str, number: int, **given: Any) -> treadle.Receipt | None:
        """Run a command on an order, claimed first where it is not."""
        self.claim(number)
        row = self.order(number)
        if row is None:
            return None
        evidence = {"packer": PACKER, "token": row.fields["fence"], "revision": row.revision}
        return self.run(command, order_id=number, **evidence, **given)

    def change(
        self, number: int, customer: int = 1, amount: int = 10, code: str = ""
    ) -> treadle.Receipt | None:
        code = code or f"c{number}"
        return self.held("Change", number, customer_id=customer, amount=amount, code=code)

    def line(self, order: int, line: int = 1, cost: int = 1) -> None:
        self.run("SetLine", "LineSet", order_id=order, line=line, cost=cost)


class Steps:
    """A migration carried on by hand, a step at a time."""

    def __init__(self, db: Database, after: str = SECOND, migration: str = MIGRATION) -> None:
        self.db, self.text = db, migration
        wanted = contract(after)
        active = db._engine.refresh().require()
        self.wanted = Wanted(wanted, after, evolving.compiled_migration(migration, active.contract, wanted))
        self.after = after
        self.standing: Standing = db._one(BeginMigration(Caller("owner"), self.wanted, 0), None)
        self.site = site_of(self.standing, active, wanted, self.wanted.migration)

    def step(self) -> Stepped:
        """One step; what it came to."""
        stepped: Stepped = self.db._one(StepMigration(Caller("owner"), self.wanted, self.site), None)
        self.standing = stepped.standing
        return stepped

    def deploy(self) -> int:
        """Carry it to its end and deploy."""
        return deployed(self.db, self.after, self.text)
