"""Decisions: the first arm whose condition holds is taken; its creates and effects run at once.

So requirements and effects after a decision see the decided images. `apply` makes the decided row a
written one; `no_effect` leaves it, and an absent observed row stays absent; `reject` answers its outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from treadle.model import contract as c
from treadle.model.facts import Verdict
from treadle.plan.bindings import binding_step, claim_step, observe_step
from treadle.plan.effects import effect_steps
from treadle.plan.expressions import compile_expr
from treadle.plan.frame import WRITTEN, Bound, Frame, Scope, Step, Value
from treadle.plan.names import leaf_of
from treadle.plan.verdicts import failure

Events: TypeAlias = Mapping[str, c.Event]
Outcomes: TypeAlias = Mapping[str, c.OutcomeDecl]


def decision_step(
    scope: Scope, decision: c.Decision, events: Events, outcomes: Outcomes, *, once: bool
) -> Step:
    """The step of a decision, its observe clause included."""
    observe: Step | None = None
    if decision.observe is not None:
        observe = observe_step(scope, scope.bind(decision.observe, decided=False))
    bound = scope.bounds[decision.binding]
    arms = [_arm(scope, arm, bound, events, outcomes, once=once) for arm in decision.arms]
    chosen = _choice(tuple(arms))
    return chosen if observe is None else sequence((observe, chosen))


def _choice(arms: tuple[tuple[Value | None, Step], ...]) -> Step:
    def choose(frame: Frame) -> Verdict | None:
        for when, action in arms:
            if when is None or when(frame):
                return action(frame)
        return None

    return choose


def _arm(
    scope: Scope, arm: c.Arm, bound: Bound, events: Events, outcomes: Outcomes, *, once: bool
) -> tuple[Value | None, Step]:
    when = None if arm.when is None else compile_expr(arm.when, leaf_of(scope))
    match arm.action:
        case c.NoEffect():
            return when, _nothing
        case c.Reject():
            return when, failure(arm.action.outcome, outcomes, leaf_of(scope))
        case c.Apply():
            return when, _apply(scope, arm.action, bound, events, outcomes, once=once)


def _nothing(frame: Frame) -> None:
    return None


def _apply(
    scope: Scope, apply: c.Apply, bound: Bound, events: Events, outcomes: Outcomes, *, once: bool
) -> Step:
    claim = claim_step(scope, bound, outcomes, once=once) if bound.kind == "observe" else _mark(bound)
    bounds = [scope.bind(declaration, decided=False) for declaration in apply.bindings]
    creates = [binding_step(scope, each, outcomes, once=once) for each in bounds]
    return sequence((claim, *creates, *effect_steps(scope, apply.effects, events, outcomes)))


def _mark(bound: Bound) -> Step:
    if not bound.decided:  # a lease operation at the top level writes it in any case
        return _nothing
    written = bound.slot + WRITTEN

    def mark(frame: Frame) -> None:
        frame[written] = True

    return mark


def sequence(steps: tuple[Step, ...]) -> Step:
    """One step that takes several in order, up to the first verdict."""
    if len(steps) == 1:
        return steps[0]

    def run(frame: Frame) -> Verdict | None:
        for step in steps:
            verdict = step(frame)
            if verdict is not None:
                return verdict
        return None

    return run
