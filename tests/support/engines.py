"""Databases for tests of the engine: the contract of leased work items on any store, and calls to it."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import treadle
from tests.support.shared import ROOT
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.engine.deployment import Proposal
from treadle.ports.clock import Clock
from treadle.ports.store import Store
from treadle.riff import compile_contract
from treadle.store.ids import SystemIds
from treadle.testing import ManualClock

SOURCE: Final = ROOT.joinpath("tests/data/work_items.riff").read_text()
START: Final = datetime(2026, 3, 1, tzinfo=UTC)
ORGANIZATION: Final = uuid.UUID(int=0xA)
OWNER: Final = uuid.UUID(int=0xB)


def open_on(store: Store, clock: Clock | None = None) -> Database:
    """A handle on an open store, with a clock that stands still unless one is given."""
    return Database(Engine(store, clock or ManualClock(START), SystemIds(), maximum_jump=None), "test")


@functools.cache
def successor() -> str:
    """The contract at version 2, with one more optional field and one more command."""
    return SOURCE.replace("contract WorkItems version 1", "contract WorkItems version 2").replace(
        "field lease_attempts: u64", "field lease_attempts: u64\n    field note: optional<string<40>>", 1
    )


def work_id(number: int) -> uuid.UUID:
    return uuid.UUID(int=0x1000 + number)


def create(number: int) -> tuple[str, Mapping[str, Any]]:
    """The command that creates work item `number`."""
    return "CreateWork", {
        "request_key": f"create-{number}",
        "organization_id": ORGANIZATION,
        "work_id": work_id(number),
    }


def claim(
    number: int, revision: int = 1, *, key: str = "", owner: uuid.UUID = OWNER
) -> tuple[str, Mapping[str, Any]]:
    """The command that claims work item `number` as it was at `revision`."""
    return "ClaimWork", {
        "request_key": key or f"claim-{number}-{revision}",
        "organization_id": ORGANIZATION,
        "work_id": work_id(number),
        "owner_id": owner,
        "duration": 60,
        "expected_revision": revision,
    }


def compiled_proposal(source: str, expected: int) -> Proposal:
    """A deployment of `source` over version `expected`, compiled beforehand."""
    compiled = compile_contract(source)
    assert compiled.contract is not None, compiled.diagnostics
    return Proposal(compiled.contract, source, expected, None, treadle.access.caller.Caller("owner"))
