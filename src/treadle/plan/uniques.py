"""Uniques over the result: every released entry leaves before any is taken.

An entry that another row still holds, or that two rows of one command take, answers the binding's
`conflict` outcome, else the terminal failure `unique_conflict` with the constraint's name. Where the
holder is hidden from the principal, the command is denied.
"""

from __future__ import annotations

from typing import TypeAlias

from treadle.model.facts import Key, RowChange, UniqueRef, Verdict
from treadle.plan.frame import CHANGES, OWNERS, RELEASED, SEALED, TAKEN, VIEW, Frame
from treadle.plan.policies import denied
from treadle.plan.verdicts import terminal
from treadle.plan.writes import Write

Taking: TypeAlias = tuple[UniqueRef, Key, Write, Frame]


def check_uniques(frame: Frame) -> Verdict | None:
    """The step that fills RELEASED and TAKEN, or answers the first conflict in binding order."""
    released: list[UniqueRef] = []
    taking: list[Taking] = []
    for change, (write, own) in zip(frame[CHANGES], frame[OWNERS], strict=True):
        _entries(change, write, own, released, taking)
    taken: dict[UniqueRef, Key] = {}
    gone = set(released)
    for unique, key, write, own in taking:
        if unique in taken:
            return _conflict(write, own, unique)
        holder = frame[VIEW].holder(unique)
        if holder is not None and unique not in gone:
            _deny_hidden(write, frame, holder)
            return _conflict(write, own, unique)
        taken[unique] = key
    frame[RELEASED] = tuple(released)
    frame[TAKEN] = tuple(taken.items())
    return None


def _entries(
    change: RowChange, write: Write, own: Frame, released: list[UniqueRef], taking: list[Taking]
) -> None:
    before, after = change.before, change.cells
    for unique in write.entity.uniques:
        old = None if before is None else unique.values_of(before.cells)
        new = None if after is None else unique.values_of(after)
        if old == new:
            continue
        if old is not None:
            released.append((change.entity, unique.name, old))
        if new is not None:
            taking.append(((change.entity, unique.name, new), change.key, write, own))


def _conflict(write: Write, own: Frame, unique: UniqueRef) -> Verdict:
    answer = write.conflicts.get(unique[1])
    return terminal("unique_conflict", unique[1]) if answer is None else answer(own)


def _deny_hidden(write: Write, frame: Frame, holder: Key) -> None:
    policy = write.entity.policy
    if policy is not None:
        row = frame[VIEW].row(write.entity.name, holder)
        if policy.hides(row, frame[SEALED], frame[VIEW]):
            raise denied()
