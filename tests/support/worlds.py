"""The work item contract, in a database whose clock is moved by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import treadle
from tests.support.shared import ROOT
from treadle.registry import load
from treadle.testing import ManualClock

CONTRACT = (ROOT / "tests/data/work_items.riff").read_text(encoding="utf-8")
ORGANIZATION, WORK = UUID(int=100), UUID(int=200)
ANN, BOB = UUID(int=1), UUID(int=2)
START = datetime(2030, 1, 1, 12, tzinfo=UTC)
KEYS = count()


class World:
    """One database and one work item in it."""

    def __init__(self, url: str, contract: str = CONTRACT) -> None:
        self.url = url
        self.item = {"organization_id": ORGANIZATION, "work_id": WORK}
        self.clock = ManualClock(START)
        self.db = treadle.open(url, clock=self.clock)
        self.db.deploy(contract)

    def run(self, command: str, *, role: str | None = None, **given: Any) -> treadle.Receipt:
        """Run a command on the item with a fresh idempotency key, unless `given` says otherwise."""
        keyed = {} if command == "ShowWork" else {"request_key": f"key-{next(KEYS)}"}
        return self.db.run(command, keyed | self.item | given, principal="scheduler", role=role)

    def create(self) -> treadle.Receipt:
        return self.run("CreateWork")

    def claim(
        self, owner: UUID = ANN, revision: int = 1, duration: int = 60, **given: Any
    ) -> treadle.Receipt:
        return self.run("ClaimWork", owner_id=owner, expected_revision=revision, duration=duration, **given)

    def held(self, command: str, held: treadle.Receipt, **given: Any) -> treadle.Receipt:
        """Run a command with the evidence of a claim: its owner, token and the revision it gave."""
        work = held.fields["work"]
        evidence = {
            "owner_id": work["lease_owner"],
            "token": work["lease_fence"],
            "expected_revision": held.revisions["work"],
        }
        return self.run(command, **evidence | given)

    @property
    def row(self) -> Any:
        return self.db.row("WorkItem", tuple(self.item.values()))

    def advance(self, seconds: float = 0, microseconds: int = 0) -> None:
        self.clock.advance(timedelta(seconds=seconds, microseconds=microseconds))


def codes(contract: str) -> list[str]:
    """The codes of what the compiler refuses."""
    compiled = load("riff").compile_contract(contract, "work_items.riff")
    return [found.code for found in compiled.diagnostics if found.severity == "error"]


def changed(*replacements: tuple[str, str]) -> str:
    """The contract with each `old` replaced, wherever it stands, by its `new`."""
    text = CONTRACT
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return text
