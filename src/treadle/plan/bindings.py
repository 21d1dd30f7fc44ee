"""Bindings: find the row, answer what its presence or absence means, and lay out a working copy.

Every binding sees the row as it was before the command. A second writing binding on one row ends the
command in the terminal failure `duplicate_target`, before its presence is looked at. A row that policy
hides looks absent; where a new row would take its place, the command is denied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from treadle.errors import InvariantBroken
from treadle.model import contract as c
from treadle.model.facts import Key, Row, Verdict
from treadle.plan.entities import EntityPlan
from treadle.plan.expressions import Leaf, compile_expr
from treadle.plan.frame import (
    BEFORE,
    KEY,
    SEALED,
    SEEN,
    VIEW,
    WRITES,
    Bound,
    Failure,
    Frame,
    KeyOf,
    Scope,
    Step,
)
from treadle.plan.names import key_of, leaf_of
from treadle.plan.policies import denied
from treadle.plan.verdicts import DUPLICATE, failure
from treadle.plan.writes import Write, write_of

Find: TypeAlias = Callable[[Frame, Key], Row | None]
Image: TypeAlias = Callable[[Frame, Key], list[object]]


def binding_step(scope: Scope, bound: Bound, outcomes: Mapping[str, c.OutcomeDecl], *, once: bool) -> Step:
    """The step of a binding. `once`: the command might bind a row for writing twice, so look."""
    leaf = leaf_of(scope)
    key = key_of(scope, bound.declaration.key)
    kind = bound.kind
    if kind == "read":
        return _found(bound, key, _failure(bound, outcomes, leaf), None)
    write = write_of(bound, outcomes, leaf)
    if kind == "create":
        step = _create(bound, key, _failure(bound, outcomes, leaf), write, image_of(bound, leaf))
    elif kind == "init_or_mutate":
        step = _initialized(bound, key, write, image_of(bound, leaf))
    else:
        step = _found(bound, key, _failure(bound, outcomes, leaf), write)
    return _once(bound.entity.name, key, step) if once else step


def observe_step(scope: Scope, bound: Bound) -> Step:
    """The step of `observe_or_initialize`: nothing is written until an arm applies (`claim_step`)."""
    return _initialized(bound, key_of(scope, bound.declaration.key), None, image_of(bound, leaf_of(scope)))


def claim_step(scope: Scope, bound: Bound, outcomes: Mapping[str, c.OutcomeDecl], *, once: bool) -> Step:
    """The step that makes an observed row a written one."""
    write = write_of(bound, outcomes, leaf_of(scope))
    entity, slot = bound.entity, bound.slot

    def claim(frame: Frame) -> None:
        if frame[slot + BEFORE] is None:
            _deny_hidden(entity, frame, frame[slot + KEY])
        frame[WRITES].append((write, frame))

    return _once(entity.name, key_of(scope, bound.declaration.key), claim) if once else claim


def _failure(bound: Bound, outcomes: Mapping[str, c.OutcomeDecl], leaf: Leaf) -> Failure:
    outcome = bound.declaration.failure
    if outcome is None:
        raise InvariantBroken(f"internal invariant broken: {bound.kind} {bound.name} has no failure outcome")
    return failure(outcome, outcomes, leaf)


def _once(entity: str, key: KeyOf, step: Step) -> Step:
    def first(frame: Frame) -> Verdict | None:
        target = (entity, key(frame))
        seen = frame[SEEN]
        if target in seen:
            return DUPLICATE
        seen.add(target)
        return step(frame)

    return first


def _find(entity: EntityPlan) -> Find:
    """The row as this principal sees it."""
    name, policy = entity.name, entity.policy
    if policy is None:
        return lambda frame, key: frame[VIEW].row(name, key)

    def find(frame: Frame, key: Key) -> Row | None:
        row: Row | None = frame[VIEW].row(name, key)
        return None if policy.hides(row, frame[SEALED], frame[VIEW]) else row

    return find


def _deny_hidden(entity: EntityPlan, frame: Frame, key: Key) -> None:
    """Raise `Denied` if the row that seemed absent is one that policy hides."""
    if entity.policy is not None and frame[VIEW].row(entity.name, key) is not None:
        raise denied()


def _found(bound: Bound, key: KeyOf, absent: Failure, write: Write | None) -> Step:
    """read, mutate, delete: the row has to be there."""
    find, name = _find(bound.entity), bound.entity.name
    slot, before, key_slot = bound.slot, bound.slot + BEFORE, bound.slot + KEY

    def read(frame: Frame) -> Verdict | None:
        at = key(frame)
        row = find(frame, at)
        if row is None:
            return absent(frame)
        frame[slot] = row[1]
        frame[before] = row
        frame[key_slot] = at
        if write is not None:
            frame[WRITES].append((write, frame))
        return None

    def mutate(frame: Frame) -> Verdict | None:
        at = key(frame)
        row = frame[VIEW].row(name, at)
        if row is None:
            return absent(frame)
        frame[slot] = list(row[1])
        frame[before] = row
        frame[key_slot] = at
        frame[WRITES].append((write, frame))
        return None

    def mutate_seen(frame: Frame) -> Verdict | None:
        verdict = read(frame)
        frame[slot] = list(frame[slot] or ())
        return verdict

    if bound.kind != "mutate":
        return read
    return mutate if bound.entity.policy is None else mutate_seen


def _create(bound: Bound, key: KeyOf, present: Failure, write: Write, image: Image) -> Step:
    entity, name = bound.entity, bound.entity.name
    slot, key_slot = bound.slot, bound.slot + KEY

    def create(frame: Frame) -> Verdict | None:
        at = key(frame)
        row = frame[VIEW].row(name, at)
        if row is not None:
            if entity.policy is not None and entity.policy.hides(row, frame[SEALED], frame[VIEW]):
                raise denied()
            return present(frame)
        frame[slot] = image(frame, at)
        frame[key_slot] = at
        frame[WRITES].append((write, frame))
        return None

    return create


def _initialized(bound: Bound, key: KeyOf, write: Write | None, image: Image) -> Step:
    """init_or_mutate (`write` given) and observe_or_initialize: the row, or one made by the initializer."""
    find, entity, slot = _find(bound.entity), bound.entity, bound.slot

    def initialize(frame: Frame) -> None:
        at = key(frame)
        row = find(frame, at)
        if row is None and write is not None:
            _deny_hidden(entity, frame, at)
        frame[slot] = image(frame, at) if row is None else list(row.cells)
        frame[slot + BEFORE] = row
        frame[slot + KEY] = at
        if write is not None:
            frame[WRITES].append((write, frame))

    return initialize


def image_of(bound: Bound, leaf: Leaf) -> Image:
    """The cells of a new row: its key, the initializer's values, the workflow's initial state, else null."""
    entity = bound.entity
    blank: list[object] = [None] * (len(entity.members) - entity.key_count)
    if entity.workflow is not None and entity.workflow.initial is not None:
        blank[entity.positions[entity.workflow.state] - entity.key_count] = entity.workflow.initial
    values = tuple(
        (entity.positions[assign.name], compile_expr(assign.value, leaf))
        for assign in bound.declaration.initialize
    )

    def image(frame: Frame, key: Key) -> list[object]:
        cells: list[object] = [*key, *blank]
        for position, value in values:
            cells[position] = value(frame)
        return cells

    return image
