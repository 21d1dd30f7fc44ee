"""What must hold of every record, whatever was asked: the rules a second time, without the engine's code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treadle.history import Entry, Written
from treadle.model.contract import Contract, Lease, Workflow
from treadle.simulation.drawing import Row, Rows


class Laws:
    """Checks records one after the other."""

    def __init__(self, contract: Contract, rows: Rows) -> None:
        self._rows = rows
        self._workflows = [(one, _steps(one)) for one in contract.workflows]
        self._kept = {one.entity for one in contract.workflows}
        """Entities whose deleted rows leave their revision behind: there no old one fits a new row."""

    def broken(self, entry: Entry) -> Iterator[str]:
        """What does not hold of a record, given the rows before it."""
        where = f"record {entry.number}, {entry.name}"
        if entry.rows and not entry.success:
            yield f"{where}: {entry.outcome or entry.failure} is no success and wrote rows"
        for written in entry.rows:
            place = f"{where}, {written.entity}{tuple(written.key)!r}"
            before = self._rows.of(written.entity).get(tuple(written.key))
            yield from self._revision(written, before, place)
            for workflow, steps in self._workflows:
                if workflow.entity == written.entity and written.fields is not None:
                    yield from _state(workflow, steps, written, before, place)
                    if workflow.lease is not None:
                        yield from _lease(workflow.lease, written, before, entry, place)

    def _revision(self, written: Written, before: Row | None, place: str) -> Iterator[str]:
        gone = self._rows.gone.get((written.entity, tuple(written.key)), 0)
        last = gone if written.entity in self._kept else 0
        expected = (before.revision if before is not None else last) + (written.fields is not None)
        if written.revision != expected:
            yield f"{place}: revision {written.revision} follows, {expected} should"


def _steps(workflow: Workflow) -> set[tuple[str, str]]:
    return {(source, one.destination) for one in workflow.transitions for source in one.sources}


def _state(
    workflow: Workflow, steps: set[tuple[str, str]], written: Written, before: Row | None, place: str
) -> Iterator[str]:
    now = (written.fields or {})[workflow.state]
    if before is None:
        if workflow.initial is not None and now != workflow.initial:
            yield f"{place}: began as {now}, not {workflow.initial}"
        return
    was = before.fields[workflow.state]
    if was != now and (was, now) not in steps:
        yield f"{place}: went from {was} to {now}, which no transition declares"


def _lease(lease: Lease, written: Written, before: Row | None, entry: Entry, place: str) -> Iterator[str]:
    if before is None:
        return
    now: dict[str, Any] = written.fields or {}
    was = before.fields
    if now[lease.fencing_token] < was[lease.fencing_token]:
        yield f"{place}: the fencing token fell"
    if now.get(lease.owner) is None:
        return
    fresh = now[lease.fencing_token] != was[lease.fencing_token]
    if fresh and was.get(lease.owner) is not None and was[lease.expires_at] > entry.time:
        yield f"{place}: claimed while it was held"
    if not fresh and now.get(lease.owner) != was.get(lease.owner):
        yield f"{place}: another owner under the same fencing token"
