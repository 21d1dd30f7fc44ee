"""Operator acts on the database itself, each one record of the log: confirming and resetting the clock.

A restore is made of the same parts. None of them is reachable by an application role.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from treadle.access.caller import Caller
from treadle.engine import state as states
from treadle.engine.batch import Batch
from treadle.engine.command import row_images
from treadle.engine.job import Job
from treadle.engine.state import Deployed
from treadle.model import canonical, record
from treadle.model.contract import Lease
from treadle.model.facts import Cells, Row, RowChange, Verdict
from treadle.model.record import LogRecord
from treadle.plan import SEMANTICS_VERSION
from treadle.ports.store import ReadTx, Table

SECOND: Final = 1_000_000
PAGE: Final = 1_000


class ActJob(Job):
    """An operator's act: exclusive, for the `admin` permission, outside the bound on the clock's jump."""

    __slots__ = ("caller",)

    exclusive = True
    any_clock = True

    def __init__(self, caller: Caller) -> None:
        super().__init__(size=0)
        self.caller = caller

    def step(self, batch: Batch) -> None:
        batch.check_token(self.caller)
        batch.state.roles.check_permission(self.caller, "admin")
        self.act(batch)

    def act(self, batch: Batch) -> None:
        """Do it; what it writes goes to the batch, with one record."""
        raise NotImplementedError

    def entry(self, batch: Batch, kind: str, name: str, body: Any) -> LogRecord:
        """The record of this act, without its place in the log."""
        return act_record(batch, self.caller, kind, name, body)


def act_record(batch: Batch, caller: Caller, kind: str, name: str, body: Any) -> LogRecord:
    """A record that is no command, without its place in the log. `body` holds plain values."""
    deployed = batch.state.deployed
    return LogRecord(
        number=0,
        time=0,
        previous=record.GENESIS,
        kind=kind,
        name=name,
        principal=caller.principal,
        actor_kind=caller.kind,
        role=caller.role,
        actor_instance=caller.instance or None,
        manual_clock=batch.manual_clock,
        contract=deployed.identity_bytes if deployed else None,
        contract_version=deployed.version if deployed else None,
        semantics=SEMANTICS_VERSION,
        body=canonical.encode(body),
    )


class ConfirmClock(ActJob):
    """The clock is right although it is far ahead of the last commit: this record is then the last commit."""

    def act(self, batch: Batch) -> None:
        self.result = batch.append(self.entry(batch, "clock", "confirm", {}))


class ResetClock(ActJob):
    """Recover from a commit that was stamped far in the future.

    The transaction time goes on from the clock's now, although the last commit is later. A lease whose
    expiry lies further ahead than its longest duration allows would be held until that far day: its owner
    and expiry are cleared. Fences stay, so that a claim gives a token above all that were given. The
    history incarnation rises, since times before and after this record do not compare.
    `branch` is 8 random bytes that tell this history from every other.
    The result is the record's number and how many leases were cleared.
    """

    __slots__ = ("branch",)

    def __init__(self, caller: Caller, branch: bytes) -> None:
        super().__init__(caller)
        self.branch = branch

    def act(self, batch: Batch) -> None:
        before = batch.time
        batch.time = batch.now
        changes = tuple(self._changes(batch))
        verdict = Verdict("", (), False, changes=changes)
        entry = self.entry(batch, "clock", "reset", {"from": before, "leases": len(changes)})
        deployed = batch.state.deployed
        if deployed is not None:
            entry = entry._replace(changes=row_images(deployed, verdict))
        number = batch.append(entry)
        batch.overlay.apply(verdict, number)
        states.begin_history(batch.tx, self.branch)
        self.result = (number, len(changes))

    @staticmethod
    def _changes(batch: Batch) -> Iterator[RowChange]:
        deployed = batch.state.deployed
        if deployed is None:
            return
        for workflow in deployed.contract.workflows:
            if workflow.lease is not None:
                table = deployed.tables[workflow.entity]
                limit = batch.time + workflow.lease.maximum * SECOND
                yield from _overlong(batch.tx, deployed, table, workflow.lease, limit)


def _overlong(tx: ReadTx, deployed: Deployed, table: Table, lease: Lease, limit: int) -> Iterator[RowChange]:
    names = [column.field for column in table.columns]
    owner, expiry = names.index(lease.owner), names.index(lease.expires_at)
    for row in scan(tx, table):
        until = row.cells[expiry]
        if until is not None and until > limit:
            cells: Cells = tuple(
                None if place in (owner, expiry) else cell for place, cell in enumerate(row.cells)
            )
            yield RowChange(table.entity, row.cells[: table.key_count], row, row.revision + 1, cells)


def scan(tx: ReadTx, table: Table) -> Iterator[Row]:
    """Every row of a table in key order, a page at a time."""
    after = None
    while page := tx.scan(table, after, PAGE):
        yield from page
        after = page[-1].cells[: table.key_count]
