"""Transitions: the revision that the caller observed, then the source state, then the new state."""

from __future__ import annotations

from collections.abc import Mapping

from treadle.errors import InvariantBroken
from treadle.model import contract as c
from treadle.model.facts import Verdict
from treadle.plan.frame import BEFORE, Frame, Scope, Step
from treadle.plan.names import leaf_of
from treadle.plan.verdicts import failure


def transition_step(scope: Scope, effect: c.TransitionEffect, outcomes: Mapping[str, c.OutcomeDecl]) -> Step:
    """The step of a transition: `stale`, else `illegal`, else the destination is set, source or not."""
    bound = scope.bounds[effect.binding]
    transition = _transition(bound.entity.workflow, effect.transition)
    state = bound.entity.positions[bound.entity.workflow.state] if bound.entity.workflow else 0
    sources, destination = frozenset(transition.sources), transition.destination
    image_slot, before_slot, revision = bound.slot, bound.slot + BEFORE, scope.slots[effect.revision]
    stale = failure(effect.stale, outcomes, leaf_of(scope))
    illegal = failure(effect.illegal, outcomes, leaf_of(scope))

    def step(frame: Frame) -> Verdict | None:
        if frame[before_slot][0] != frame[revision]:
            return stale(frame)
        image = frame[image_slot]
        if image[state] not in sources:
            return illegal(frame)
        image[state] = destination
        return None

    return step


def _transition(workflow: c.Workflow | None, name: str) -> c.Transition:
    for transition in workflow.transitions if workflow is not None else ():
        if transition.name == name:
            return transition
    raise InvariantBroken(f"internal invariant broken: no transition {name}")
