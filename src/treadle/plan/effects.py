"""Effects: set, emit, transition and the lease operations, on the working copies, in source order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treadle.model import contract as c
from treadle.model.facts import EventFact
from treadle.plan.expressions import compile_expr, constant
from treadle.plan.frame import EVENTS, Frame, Scope, Step
from treadle.plan.leases import lease_step
from treadle.plan.names import leaf_of
from treadle.plan.positions import picker
from treadle.plan.transitions import transition_step
from treadle.plan.verdicts import tuple_of


def effect_steps(
    scope: Scope,
    effects: Sequence[c.Effect],
    events: Mapping[str, c.Event],
    outcomes: Mapping[str, c.OutcomeDecl],
) -> tuple[Step, ...]:
    """One step an effect."""

    def step(effect: c.Effect) -> Step:
        match effect:
            case c.Set():
                return _set(scope, effect)
            case c.Emit():
                return _emit(scope, effect, events[effect.event])
            case c.TransitionEffect():
                return transition_step(scope, effect, outcomes)
            case c.LeaseEffect():
                return lease_step(scope, effect, outcomes)

    return tuple(step(effect) for effect in effects)


def _set(scope: Scope, effect: c.Set) -> Step:
    bound = scope.bounds[effect.binding]
    slot, position = bound.slot, bound.entity.positions[effect.field]
    value = compile_expr(effect.value, leaf_of(scope))

    def step(frame: Frame) -> None:
        frame[slot][position] = value(frame)

    return step


def _emit(scope: Scope, effect: c.Emit, event: c.Event) -> Step:
    given = {assign.name: compile_expr(assign.value, leaf_of(scope)) for assign in effect.fields}
    cells_of = tuple_of([given.get(field.name, constant(None)) for field in event.fields])
    places = {field.name: position for position, field in enumerate(event.fields)}
    partition_of = picker([places[name] for name in event.partition_by]) if event.partition_by else _nothing
    name = event.name

    def step(frame: Frame) -> None:
        cells = cells_of(frame)
        frame[EVENTS].append(EventFact(name, partition_of(cells), cells))

    return step


def _nothing(values: Sequence[object]) -> tuple[object, ...]:
    return ()
