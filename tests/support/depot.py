"""The depot: a contract with one of everything, edited to be its own successor, and commands on it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from uuid import UUID

import treadle
from tests.support.shared import ROOT
from treadle.model.contract import Contract
from treadle.riff import compile_contract

SOURCE = (ROOT / "tests/data/depot.riff").read_text(encoding="utf-8")
STORE, WORKER = UUID(int=1), UUID(int=9)
Edit = tuple[str, str]


def edited(*edits: Edit, version: int = 2, source: str = SOURCE) -> str:
    """The contract as `version`, with each `old` replaced once by its `new`."""
    text = source.replace("contract Depot version 1", f"contract Depot version {version}")
    for old, new in edits:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


def without(start: str, end: str = "\n  }\n") -> Edit:
    """The edit that removes the piece of the contract from `start` up to the next `end`."""
    begin = SOURCE.index(start)
    return SOURCE[begin : SOURCE.index(end, begin) + len(end)], ""


@cache
def compiled(source: str) -> Contract:
    found = compile_contract(source)
    assert found.contract is not None, found.render()
    return found.contract


def box_id(number: int) -> UUID:
    return UUID(int=0x100 + number)


class Depot:
    """A database with the contract deployed. Each command has a key of its own."""

    def __init__(self, db: treadle.Database, source: str = SOURCE) -> None:
        self.db = db
        self.count = 0
        db.deploy(source)

    def run(self, command: str, expect: str | None = None, **given: Any) -> treadle.Receipt:
        """Run a command in the store; with `expect`, that outcome must come."""
        self.count += 1
        keyed: Mapping[str, Any] = {} if command == "Look" else {"key": f"key-{self.count}"}
        receipt = self.db.run(command, {**keyed, "store_id": STORE, **given}, principal="tests")
        assert expect is None or receipt.outcome == expect, receipt
        return receipt

    def open(self) -> None:
        self.run("OpenStore", "Opened", most=900)

    def add(self, number: int, kind: str = "Small", weight: int | None = None) -> treadle.Receipt:
        given = {"box_id": box_id(number), "kind": kind, "weight": weight or number}
        return self.run("AddBox", "Added", **given)

    def claim(self, number: int) -> treadle.Receipt:
        """Claim a box for ten minutes."""
        revision = self.revision(number)
        given = {"box_id": box_id(number), "worker": WORKER, "seconds": 600, "revision": revision}
        return self.run("Claim", "Claimed", **given)

    def revision(self, number: int) -> int:
        row = self.db.row("Box", (STORE, box_id(number)))
        assert row is not None
        return row.revision

    def held(self, command: str, expect: str, number: int, **given: Any) -> treadle.Receipt:
        """Run a command on a claimed box."""
        row = self.db.row("Box", (STORE, box_id(number)))
        assert row is not None
        evidence = {"worker": WORKER, "token": row.fields["fence"], "revision": row.revision}
        return self.run(command, expect, box_id=box_id(number), **evidence, **given)

    def label(self, *numbers: int) -> treadle.Receipt:
        labels = [{"store_id": STORE, "label_id": UUID(int=n), "text": f"label {n}"} for n in numbers]
        return self.run("AddLabels", "LabelsAdded", labels=labels)
