"""All bindings and effects of a command, those inside arms included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treadle.model import contract as c


def own_effects(command: c.Command) -> tuple[c.Effect, ...]:
    """The effects outside the loop."""
    return (*command.effects, *_in_arms(command.decisions))


def loop_effects(command: c.Command) -> tuple[c.Effect, ...]:
    """The effects of the loop's body; none without a loop."""
    loop = command.loop
    return () if loop is None else (*loop.effects, *_in_arms(loop.decisions))


def own_bindings(command: c.Command) -> tuple[c.Binding, ...]:
    """The bindings outside the loop, in source order: a decision's observed row comes before its creates."""
    return (*command.bindings, *_bound_in(command.decisions))


def loop_bindings(command: c.Command) -> tuple[c.Binding, ...]:
    """The bindings of the loop's body; none without a loop."""
    loop = command.loop
    return () if loop is None else (*loop.bindings, *_bound_in(loop.decisions))


def applied(decision: c.Decision) -> Iterator[c.Apply]:
    """The arms of a decision that apply."""
    for arm in decision.arms:
        if isinstance(arm.action, c.Apply):
            yield arm.action


def _in_arms(decisions: Sequence[c.Decision]) -> Iterator[c.Effect]:
    for decision in decisions:
        for action in applied(decision):
            yield from action.effects


def _bound_in(decisions: Sequence[c.Decision]) -> Iterator[c.Binding]:
    for decision in decisions:
        if decision.observe is not None:
            yield decision.observe
        for action in applied(decision):
            yield from action.bindings
