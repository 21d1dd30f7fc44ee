"""Access sets: from the input and the sealed service values alone, what a command may touch.

Rows are the keys of all bindings, of every arm and every element, and the root of an aggregate with
invariants. Unique entries are those that a write may take. What cannot be known beforehand (rows behind
an index, a unique whose values partly stay as they are in the row) makes `Access.ranges` true: the view
then has to answer for rows and entries that are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from treadle.model import contract as c
from treadle.model.facts import RowRef, UniqueRef
from treadle.plan.clauses import applied
from treadle.plan.entities import EntityPlan, UniquePlan
from treadle.plan.expressions import OutOfRange, compile_expr, walk
from treadle.plan.frame import Bound, Frame, KeyOf, Scope
from treadle.plan.names import key_of, leaf_of
from treadle.plan.verdicts import tuple_of

Entry: TypeAlias = Callable[[Frame], UniqueRef | None]
Rows: TypeAlias = Callable[[Frame], RowRef]


class Touched(NamedTuple):
    """What the bindings of one scope touch. `live`: something cannot be known beforehand."""

    rows: tuple[Rows, ...]
    entries: tuple[Entry, ...]
    live: bool
    keys: tuple[tuple[EntityPlan, KeyOf], ...]


class Body(NamedTuple):
    """The clauses of one scope that give values to its rows; `inner` are the effects of a loop in it."""

    decisions: tuple[c.Decision, ...]
    effects: tuple[c.Effect, ...]
    inner: tuple[c.Effect, ...] = ()


def touched(scope: Scope, bounds: Sequence[Bound], body: Body) -> Touched:
    """What `bounds` touch, whichever arms are taken."""
    rows: list[Rows] = []
    entries: list[Entry] = []
    keys: list[tuple[EntityPlan, KeyOf]] = []
    live = False
    for bound in bounds:
        key = key_of(scope, bound.declaration.key)
        rows.extend(_rows(bound, key))
        keys.append((bound.entity, key))
        live = live or _live(bound)
        if bound.writes and bound.kind != "delete" and bound.entity.uniques:
            found, unknown = _entries(scope, bound, body)
            entries.extend(found)
            live = live or unknown
    return Touched(tuple(rows), tuple(entries), live, tuple(keys))


def _rows(bound: Bound, key: KeyOf) -> Iterator[Rows]:
    name = bound.entity.name
    yield lambda frame: (name, key(frame))
    aggregate = bound.entity.aggregate
    if aggregate is not None and aggregate.invariants and bound.writes and name != aggregate.root:
        root, count = aggregate.root, aggregate.root_key_count
        yield lambda frame: (root, key(frame)[:count])


def _live(bound: Bound) -> bool:
    """Whether evaluating the binding asks an index, or a row that only an index or a unique names."""
    policy = bound.entity.policy
    if policy is not None and (policy.probes or bound.entity.uniques):
        return True
    return bound.kind == "delete" and isinstance(
        bound.entity.declaration.delete_policy, c.Restrict | c.Cascade
    )


def _entries(scope: Scope, bound: Bound, body: Body) -> tuple[list[Entry], bool]:
    """The entries that a binding may take, and whether some cannot be known beforehand."""
    alternatives = _alternatives(bound, body)
    if alternatives is None:
        return [], True
    found: dict[tuple[str, tuple[c.Expr, ...]], Entry] = {}
    unknown = False
    for unique in bound.entity.uniques:
        for effects in alternatives:
            values = _values(bound, unique, effects, body.inner)
            if values is None:
                continue
            known = tuple(value for value in (_known(scope, each) for each in values) if value is not None)
            if len(known) < len(values):
                unknown = True
            else:
                found[unique.name, known] = _entry(scope, bound.entity, unique, known)
    return list(found.values()), unknown


def _alternatives(bound: Bound, body: Body) -> list[tuple[c.Effect, ...]] | None:
    """The lists of effects that may run on a binding; None where several decisions together say so."""
    deciding = [decision for decision in body.decisions if _concerns(decision, bound.name)]
    if not deciding:
        return [body.effects]
    if len(deciding) > 1:
        return None
    alternatives = []
    for arm in deciding[0].arms:
        action = arm.action
        if not isinstance(action, c.Apply):
            alternatives.append(body.effects if bound.kind == "mutate" else None)
        elif bound.kind != "create" or bound.declaration in action.bindings:
            alternatives.append(body.effects + action.effects)
    return [each for each in alternatives if each is not None]


def _concerns(decision: c.Decision, name: str) -> bool:
    if decision.binding == name:
        return True
    actions = list(applied(decision))
    made = {binding.name for action in actions for binding in action.bindings}
    return name in made or any(_on(effect, name) for action in actions for effect in action.effects)


def _on(effect: c.Effect, name: str) -> bool:
    return not isinstance(effect, c.Emit) and effect.binding == name


def _values(
    bound: Bound, unique: UniquePlan, effects: tuple[c.Effect, ...], inner: tuple[c.Effect, ...]
) -> list[c.Expr | None] | None:
    """What the unique's fields become; None in place of one that stays as it is in the row, and None
    altogether where none of them changes."""
    given: dict[str, c.Expr | None] = {}
    if bound.kind != "mutate":
        given.update((assign.name, assign.value) for assign in bound.declaration.initialize)
        workflow = bound.entity.workflow
        if workflow is not None and workflow.initial is not None:
            given[workflow.state] = _state(bound.entity, workflow, workflow.initial)
    given.update(_assigned(bound, effects))
    given.update(dict.fromkeys(_assigned(bound, inner)))
    if bound.kind == "mutate" and not set(given) & set(unique.fields):
        return None
    key = {
        member.name: expr for member, expr in zip(bound.entity.members, bound.declaration.key, strict=False)
    }
    return [key.get(field, given.get(field)) for field in unique.fields]


def _state(entity: EntityPlan, workflow: c.Workflow, state: str) -> c.Literal:
    return c.Literal(state, entity.members[entity.positions[workflow.state]].type)


def _assigned(bound: Bound, effects: tuple[c.Effect, ...]) -> dict[str, c.Expr | None]:
    """The fields of a binding that effects write; None for a value that depends on the row."""
    assigned: dict[str, c.Expr | None] = {}
    workflow = bound.entity.workflow
    for effect in effects:
        match effect:
            case c.Set() if effect.binding == bound.name:
                assigned[effect.field] = effect.value
            case c.TransitionEffect() if effect.binding == bound.name and workflow is not None:
                destinations = [
                    each.destination for each in workflow.transitions if each.name == effect.transition
                ]
                assigned[workflow.state] = _state(bound.entity, workflow, destinations[0])
            case c.LeaseEffect() if effect.binding == bound.name and workflow is not None and workflow.lease:
                lease = workflow.lease
                names = (lease.owner, lease.expires_at, lease.fencing_token, lease.attempts)
                assigned.update((name, None) for name in names if name is not None)
            case _:
                pass
    return assigned


_UNKNOWN = (c.TxTime, c.BindingField, c.BindingRow)


def _known(scope: Scope, expr: c.Expr | None) -> c.Expr | None:
    """The expression over inputs, elements, service values and constants only, or None."""
    if expr is None:
        return None
    if isinstance(expr, c.BindingField):
        bound = scope.bounds[expr.binding]
        position = bound.entity.positions[expr.field]
        return bound.declaration.key[position] if position < bound.entity.key_count else None
    return None if any(isinstance(node, _UNKNOWN) for node in walk(expr)) else expr


def _entry(scope: Scope, entity: EntityPlan, unique: UniquePlan, exprs: tuple[c.Expr, ...]) -> Entry:
    leaf = leaf_of(scope)
    values_of = tuple_of([compile_expr(expr, leaf) for expr in exprs])
    name, unique_name = entity.name, unique.name

    def entry(frame: Frame) -> UniqueRef | None:
        try:
            return name, unique_name, values_of(frame)
        except OutOfRange:
            return None  # the command will end in `arithmetic` before it takes anything

    return entry
