"""What follows a command's effects: changes and removals, the checks of the result, and the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from treadle import limits
from treadle.model import contract as c
from treadle.model import types as t
from treadle.model.facts import RevisionFact, Verdict
from treadle.plan.checks import check_policies, command_size_step, mutation_count_step, row_size_step
from treadle.plan.clauses import loop_effects, own_effects
from treadle.plan.deletes import Removal, removal_of
from treadle.plan.entities import Data, EntityPlan
from treadle.plan.frame import (
    CHANGES,
    EVENTS,
    NUMBER,
    OWNERS,
    PASSES,
    RELEASED,
    TAKEN,
    Bound,
    Frame,
    Scope,
    Step,
)
from treadle.plan.invariants import check_invariants, shared_step
from treadle.plan.names import leaf_of
from treadle.plan.uniques import check_uniques
from treadle.plan.verdicts import payload, success
from treadle.plan.writes import collect

_new: Final = tuple.__new__


class Bindings(NamedTuple):
    """A command's bindings with their slots: `top` the command's own, `looped` its loop's."""

    data: Data
    command: c.Command
    scope: Scope
    top: tuple[Bound, ...]
    inner: Scope | None
    looped: tuple[Bound, ...]

    @property
    def passes(self) -> int:
        """The most passes that the loop makes; 0 without one."""
        loop = self.command.loop
        if loop is None:
            return 0
        kind = next(field.type for field in self.command.inputs if field.name == loop.input)
        return kind.maximum if isinstance(kind, t.List) else 0

    def written(self) -> dict[str, EntityPlan]:
        """The entities of which rows may change, those that cascades delete included."""
        found = {bound.entity.name: bound.entity for bound in self.top + self.looped if bound.writes}
        for bound in self.top + self.looped:
            policy = bound.entity.declaration.delete_policy
            if bound.kind == "delete" and isinstance(policy, c.Cascade):
                found.update((each.entity, self.data.entities[each.entity]) for each in policy.relationships)
        return found


def result_steps(bindings: Bindings, outcomes: Mapping[str, c.OutcomeDecl]) -> list[Step]:
    """The steps from the effects' end to the answer, only those that can find something."""
    written = bindings.written().values()
    steps: list[Step | None] = [collect, _removals(bindings, outcomes)]
    if any(entity.policy is not None for entity in written):
        steps.append(check_policies)
    steps.append(row_size_step(written))
    steps.extend(_bounds(bindings))
    if any(entity.uniques for entity in written):
        steps.append(check_uniques)
    if any(entity.invariants for entity in written):
        steps.append(check_invariants)
    steps.extend(_shared(bindings))
    return [step for step in steps if step is not None]


def _removals(bindings: Bindings, outcomes: Mapping[str, c.OutcomeDecl]) -> Step | None:
    """Removals of each element in order, then the command's own."""

    def of(scope: Scope | None, bounds: tuple[Bound, ...]) -> tuple[Removal, ...]:
        if scope is None:
            return ()
        leaf = leaf_of(scope)
        found = [
            removal_of(bound, bindings.data.entities, outcomes, leaf)
            for bound in bounds
            if bound.kind == "delete"
        ]
        return tuple(removal for removal in found if removal is not None)

    looped, top = of(bindings.inner, bindings.looped), of(bindings.scope, bindings.top)
    if not looped and not top:
        return None

    def remove(frame: Frame) -> Verdict | None:
        for own in frame[PASSES]:
            for removal in looped:
                verdict = removal(own)
                if verdict is not None:
                    return verdict
        for removal in top:
            verdict = removal(frame)
            if verdict is not None:
                return verdict
        return None

    return remove


def _bounds(bindings: Bindings) -> list[Step]:
    """The checks of a command's size and count; none where the declared bounds already keep them."""
    command, sizes = bindings.command, bindings.data.sizes
    looped = [bound for bound in bindings.looped if bound.writes]
    top = [bound for bound in bindings.top if bound.writes]

    def of_rows(bounds: Iterable[Bound]) -> int:
        return sum(sizes.record_bound(bound.entity.members) for bound in bounds)

    def of_events(effects: Iterable[c.Effect]) -> int:
        emitted = [bindings.data.events[each.event] for each in effects if isinstance(each, c.Emit)]
        return sum(sizes.record_bound(event.fields) for event in emitted)

    once = sizes.record_bound(command.inputs) + of_rows(top) + of_events(own_effects(command))
    each_pass = of_rows(looped) + of_events(loop_effects(command))
    steps: list[Step] = []
    if len(top) + bindings.passes * len(looped) > limits.BULK_MUTATIONS:
        steps.append(mutation_count_step())
    if once + bindings.passes * each_pass > limits.COMMAND_BYTES:
        rows = {name: sizes.record_measure(entity.members) for name, entity in bindings.written().items()}
        emits = [each for each in own_effects(command) + loop_effects(command) if isinstance(each, c.Emit)]
        events = {each.event: sizes.record_measure(bindings.data.events[each.event].fields) for each in emits}
        inputs = sizes.record_measure(command.inputs)
        steps.append(command_size_step(inputs, rows, events, len(command.inputs)))
    return steps


def _shared(bindings: Bindings) -> list[Step]:
    """The checks of aggregates of which a root or a child is written."""
    aggregates = {
        entity.aggregate.name: entity.aggregate
        for entity in bindings.written().values()
        if entity.aggregate is not None and entity.aggregate.invariants
    }
    return [
        shared_step(
            aggregate,
            [bound for bound in bindings.top if bound.entity.aggregate is aggregate],
            [bound for bound in bindings.looped if bound.entity.aggregate is aggregate],
        )
        for aggregate in aggregates.values()
    ]


def answer_step(command: c.Command, outcomes: Mapping[str, c.OutcomeDecl], scope: Scope) -> Step:
    """The last step: the success outcome, from the final images."""
    name, fields = command.success.name, payload(command.success, outcomes, leaf_of(scope))

    def answer(frame: Frame) -> Verdict:
        changes = tuple(frame[CHANGES])
        revisions = []
        for (write, own), change in zip(frame[OWNERS], changes, strict=True):
            if write.reports:
                revisions.append(_new(RevisionFact, (write.name, own[NUMBER], change[3])))
        return success(
            name,
            fields(frame),
            changes,
            frame[RELEASED],
            frame[TAKEN],
            tuple(frame[EVENTS]),
            tuple(revisions),
        )

    return answer
