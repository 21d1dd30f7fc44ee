"""Invariants over the result, an entity's own and then an aggregate's.

A false one answers the binding's `violates` outcome, else the terminal failure `invariant_violated` with
its name. An aggregate's invariant holds over its root's fields and the fields of the children that the
command binds: it is looked at for every root of which the command writes the row or a child, once for
each combination of bound children that it names in which something was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

from treadle.model.facts import Cells, Key, Verdict
from treadle.plan.aggregates import AggregatePlan, SharedInvariant
from treadle.plan.frame import BEFORE, CHANGES, KEY, OWNERS, PASSES, VIEW, Bound, Frame, Step
from treadle.plan.verdicts import terminal
from treadle.plan.writes import Write

Owner: TypeAlias = tuple[Write, Frame]
Violated: TypeAlias = Callable[[Sequence[Owner], str], Verdict]


def check_invariants(frame: Frame) -> Verdict | None:
    """The step for entities' own invariants, in binding order."""
    for change, owner in zip(frame[CHANGES], frame[OWNERS], strict=True):
        if change.cells is None:
            continue
        for invariant in owner[0].entity.invariants:
            if not invariant.holds(change.cells):
                return _violated((owner,), invariant.name)
    return None


def _violated(owners: Sequence[Owner], name: str) -> Verdict:
    for write, own in owners:
        answer = write.violates.get(name)
        if answer is not None:
            return answer(own)
    return terminal("invariant_violated", name)


class _Member(NamedTuple):
    """A row of an aggregate as the command leaves it; `owner` is the write that made it so, if one did."""

    cells: Cells
    owner: Owner | None


Rows: TypeAlias = dict[tuple[str, Key], _Member | None]


def shared_step(aggregate: AggregatePlan, top: Sequence[Bound], looped: Sequence[Bound]) -> Step:
    """The step for one aggregate's invariants; `top` and `looped` are the bindings of its entities."""
    members = {aggregate.root, *aggregate.declaration.children}

    def step(frame: Frame) -> Verdict | None:
        rows: Rows = {}
        _add_bound(rows, top, (frame,))
        _add_bound(rows, looped, frame[PASSES] or ())
        touched: dict[Key, None] = {}
        for change, owner in zip(frame[CHANGES], frame[OWNERS], strict=True):
            if change.entity in members:
                member = None if change.cells is None else _Member(change.cells, owner)
                rows[change.entity, change.key] = member
                touched[change.key[: aggregate.root_key_count]] = None
        for root_key in touched:
            verdict = _check_root(aggregate, root_key, rows, frame)
            if verdict is not None:
                return verdict
        return None

    return step


def _add_bound(rows: Rows, bounds: Sequence[Bound], frames: Sequence[Frame]) -> None:
    for own in frames:
        for bound in bounds:
            before = own[bound.slot + BEFORE]
            if before is not None:
                rows[bound.entity.name, own[bound.slot + KEY]] = _Member(before.cells, None)


def _check_root(aggregate: AggregatePlan, root_key: Key, rows: Rows, frame: Frame) -> Verdict | None:
    root = _root(aggregate, root_key, rows, frame)
    if root is None:
        return None
    children: dict[str, list[_Member]] = {}
    count = aggregate.root_key_count
    for (entity, key), member in rows.items():
        if member is not None and entity != aggregate.root and key[:count] == root_key:
            children.setdefault(entity, []).append(member)
    for invariant in aggregate.invariants:
        for cells, owners in _combinations(aggregate.root, root, invariant, children):
            if not invariant.holds(cells):
                return _violated(owners, invariant.name)
    return None


def _root(aggregate: AggregatePlan, root_key: Key, rows: Rows, frame: Frame) -> _Member | None:
    at = (aggregate.root, root_key)
    if at in rows:
        return rows[at]
    row = frame[VIEW].row(*at)
    return None if row is None else _Member(row.cells, None)


def _combinations(
    name: str, root: _Member, invariant: SharedInvariant, children: Mapping[str, Sequence[_Member]]
) -> Iterator[tuple[dict[str, Cells], list[Owner]]]:
    """The root with one bound child of each entity that the invariant names, where one of them was written.

    An invariant of the root alone is looked at whenever the aggregate was written.
    """
    for chosen in product(*(children.get(entity, ()) for entity in invariant.entities)):
        owners = [member.owner for member in (root, *chosen) if member.owner is not None]
        if owners or not invariant.entities:
            cells = {name: root.cells}
            cells.update(zip(invariant.entities, (member.cells for member in chosen), strict=True))
            yield cells, owners
