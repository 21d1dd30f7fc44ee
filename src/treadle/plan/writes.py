"""What becomes of a bound row: its revision and its change, once the effects have run.

A row is created at revision 1, or one above the last revision of its deleted predecessor where that is
kept; each command that mutates it adds exactly 1. At the greatest u64 the command fails closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from treadle import limits
from treadle.model import contract as c
from treadle.model.facts import Key, RowChange, View
from treadle.plan.entities import EntityPlan
from treadle.plan.expressions import Leaf
from treadle.plan.frame import (
    BEFORE,
    CHANGES,
    KEY,
    OWNERS,
    VIEW,
    WRITES,
    WRITTEN,
    Bound,
    Failure,
    Frame,
)
from treadle.plan.verdicts import EXHAUSTED, Terminal, failure

Change: TypeAlias = Callable[[Frame], RowChange | None]

_new: Final = tuple.__new__


@dataclass(frozen=True, slots=True)
class Write:
    """A writing binding. `reports`: its new revision is told to the caller of a successful command."""

    name: str
    entity: EntityPlan
    reports: bool
    change: Change
    conflicts: Mapping[str, Failure]
    violates: Mapping[str, Failure]


def write_of(bound: Bound, outcomes: Mapping[str, c.OutcomeDecl], leaf: Leaf) -> Write:
    """The write of a binding."""
    declaration = bound.declaration
    change = _CHANGES[declaration.kind](bound.entity, bound.slot)
    return Write(
        name=declaration.name,
        entity=bound.entity,
        reports=bound.entity.workflow is not None and declaration.kind != "delete",
        change=_if_written(change, bound.slot) if bound.decided else change,
        conflicts={each.constraint: failure(each.outcome, outcomes, leaf) for each in declaration.conflicts},
        violates={each.constraint: failure(each.outcome, outcomes, leaf) for each in declaration.violates},
    )


def collect(frame: Frame) -> None:
    """The step after the effects: the changes, in the order in which their rows were bound."""
    changes: list[RowChange] = frame[CHANGES]
    owners = frame[OWNERS]
    for owner in frame[WRITES]:
        change = owner[0].change(owner[1])
        if change is not None:
            changes.append(change)
            owners.append(owner)


def unwritten(frame: Frame) -> None:
    """The change of a write that is made elsewhere: a cascade's, or a reimport's."""
    return None


def first_revision(entity: EntityPlan, key: Key, view: View) -> int:
    """The revision at which a row is created."""
    if not entity.tombstones:
        return 1
    return successor(view.last_revision(entity.name, key))


def successor(revision: int) -> int:
    """The next revision; the command fails closed where there is none."""
    if revision == limits.U64_MAX:
        raise Terminal(EXHAUSTED)
    return revision + 1


def _created(entity: EntityPlan, slot: int) -> Change:
    name = entity.name

    def change(frame: Frame) -> RowChange:
        key = frame[slot + KEY]
        revision = first_revision(entity, key, frame[VIEW])
        return _new(RowChange, (name, key, None, revision, tuple(frame[slot])))

    return change


def _mutated(entity: EntityPlan, slot: int) -> Change:
    name = entity.name
    before_slot, key_slot = slot + BEFORE, slot + KEY
    last = limits.U64_MAX

    def change(frame: Frame) -> RowChange:
        before = frame[before_slot]
        revision = before[0]
        if revision == last:
            raise Terminal(EXHAUSTED)
        return _new(RowChange, (name, frame[key_slot], before, revision + 1, tuple(frame[slot])))

    return change


def _either(entity: EntityPlan, slot: int) -> Change:
    created, mutated = _created(entity, slot), _mutated(entity, slot)
    return lambda frame: (created if frame[slot + BEFORE] is None else mutated)(frame)


def _deleted(entity: EntityPlan, slot: int) -> Change:
    def change(frame: Frame) -> RowChange:
        before = frame[slot + BEFORE]
        return RowChange(entity.name, frame[slot + KEY], before, before.revision, None)

    return change


def _if_written(change: Change, slot: int) -> Change:
    return lambda frame: change(frame) if frame[slot + WRITTEN] else None


_CHANGES: Final[Mapping[str, Callable[[EntityPlan, int], Change]]] = {
    "create": _created,
    "mutate": _mutated,
    "init_or_mutate": _either,
    "observe": _either,
    "delete": _deleted,
}
