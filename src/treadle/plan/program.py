"""A command's program: its clauses as steps, in the order in which they decide.

    bindings · decisions · for each element its bindings, decisions, requirements · requirements ·
    effects, each element's, then the command's · changes and removals · policies, sizes, uniques,
    invariants · the success outcome from the final images

The first step that answers a verdict ends the command. Steps are made once; running them reads nothing
but the frame, so the same input, sealed context and rows give the same verdict, always and everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.errors import InvariantBroken
from treadle.model import contract as c
from treadle.model import types as t
from treadle.plan import clauses
from treadle.plan.access import Body, Touched, touched
from treadle.plan.bindings import binding_step
from treadle.plan.decisions import decision_step
from treadle.plan.effects import effect_steps
from treadle.plan.entities import Data, EntityPlan
from treadle.plan.expressions import compile_expr
from treadle.plan.frame import Scope, Step
from treadle.plan.loops import loop_effects, loop_step
from treadle.plan.names import leaf_of
from treadle.plan.results import Bindings, answer_step, result_steps
from treadle.plan.verdicts import failure


@dataclass(frozen=True, slots=True)
class Program:
    """The compiled clauses. `size` is the frame's length, `once` whether bound rows are remembered."""

    steps: tuple[Step, ...]
    size: int
    once: bool


class Builder:
    """Makes a command's program. Bindings take their slots in the order in which they stand."""

    def __init__(self, data: Data, command: c.Command) -> None:
        self._data = data
        self.command = command
        self._events = data.events
        self._outcomes = {outcome.name: outcome for outcome in command.outcomes}
        self.scope = Scope(data.entities)
        for field in command.inputs:
            self.scope.name(field.name)
        for service in command.services:
            self.scope.name(service.name)
        self._inner: Scope | None = None

    @property
    def key_input(self) -> int | None:
        """The position of the idempotency key among the inputs."""
        name = self.command.idempotency_key
        return None if name is None else [field.name for field in self.command.inputs].index(name)

    @property
    def writes(self) -> bool:
        """Whether a row or an event can come of the command."""
        command = self.command
        bindings = clauses.own_bindings(command) + clauses.loop_bindings(command)
        effects = clauses.own_effects(command) + clauses.loop_effects(command)
        return any(binding.kind != "read" for binding in bindings) or any(
            isinstance(effect, c.Emit) for effect in effects
        )

    def program(self) -> Program:
        """All steps, in order."""
        command, scope = self.command, self.scope
        once = self._may_repeat()
        steps = self._lookups(scope, command.bindings, command.decisions, command.effects, once=once)
        before, after = self._loop(once=once)
        steps += before
        steps += self._requires(scope, command.requires)
        steps += after
        steps += effect_steps(scope, command.effects, self._events, self._outcomes)
        if any(bound.writes for bound in (self._inner or scope).bounds.values()):
            steps += result_steps(self._rows(), self._outcomes)
        steps.append(answer_step(command, self._outcomes, scope))
        return Program(tuple(steps), scope.next_slot, once)

    def _lookups(
        self,
        scope: Scope,
        bindings: Sequence[c.Binding],
        decisions: Sequence[c.Decision],
        effects: Sequence[c.Effect],
        *,
        once: bool,
    ) -> list[Step]:
        leased = {effect.binding for effect in effects if isinstance(effect, c.LeaseEffect)}
        decided = {decision.binding for decision in decisions if decision.observe is None} - leased
        bounds = [scope.bind(binding, decided=binding.name in decided) for binding in bindings]
        steps = [binding_step(scope, bound, self._outcomes, once=once) for bound in bounds]
        steps += [decision_step(scope, each, self._events, self._outcomes, once=once) for each in decisions]
        return steps

    def _requires(self, scope: Scope, requires: Sequence[c.Require]) -> list[Step]:
        leaf = leaf_of(scope)

        def step(require: c.Require) -> Step:
            holds, answer = compile_expr(require.expr, leaf), failure(require.failure, self._outcomes, leaf)
            return lambda frame: None if holds(frame) else answer(frame)

        return [step(require) for require in requires]

    def _loop(self, *, once: bool) -> tuple[list[Step], list[Step]]:
        """The loop's first part and its effects, as steps of the command."""
        loop = self.command.loop
        if loop is None:
            return [], []
        inner = self.scope.inner(loop.element, self._element_entity(loop))
        self._inner = inner
        steps = self._lookups(inner, loop.bindings, loop.decisions, loop.effects, once=once)
        steps += self._requires(inner, loop.requires)
        effects = effect_steps(inner, loop.effects, self._events, self._outcomes)
        return [loop_step(self.scope, inner, loop.input, steps)], [loop_effects(effects)] if effects else []

    def _element_entity(self, loop: c.Loop) -> EntityPlan | None:
        kind = next(field.type for field in self.command.inputs if field.name == loop.input)
        if not isinstance(kind, t.List):
            raise InvariantBroken(f"internal invariant broken: {self.command.name} loops over {kind}")
        return self._data.entities[kind.item.entity] if isinstance(kind.item, t.Record) else None

    def _may_repeat(self) -> bool:
        """Whether two writing bindings of the command might name one row."""
        if self.command.loop is not None:
            return True
        written = [each.entity for each in clauses.own_bindings(self.command) if each.kind != "read"]
        return len(set(written)) < len(written)

    def _rows(self) -> Bindings:
        outer = self.scope.bounds
        inner = {} if self._inner is None else self._inner.bounds
        own = tuple(bound for name, bound in inner.items() if name not in outer)
        top = tuple(outer.values())
        return Bindings(self._data, self.command, self.scope, top, self._inner, own)

    def touched(self) -> Touched:
        """What the command's own bindings touch."""
        command = self.command
        body = Body(command.decisions, command.effects, clauses.loop_effects(command))
        return touched(self.scope, self._rows().top, body)

    def touched_inner(self) -> Touched | None:
        """What a loop's bindings touch, for each element."""
        loop = self.command.loop
        if loop is None or self._inner is None:
            return None
        return touched(self._inner, self._rows().looped, Body(loop.decisions, loop.effects))
