"""The plan of one command in words: what it reads, locks, checks in which order, writes and answers.

`explain` makes lines with a section and a depth, in reading order; whoever shows them decides how.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from treadle.errors import UnknownName
from treadle.model import contract as c
from treadle.plan import words
from treadle.plan.clauses import loop_bindings, loop_effects, own_bindings, own_effects
from treadle.plan.entities import EntityPlan, UniquePlan
from treadle.text import nearest

if TYPE_CHECKING:
    from treadle.plan import Plan

Section: TypeAlias = Literal["command", "access", "reads", "locks", "checks", "writes", "answers", "tables"]


class Line(NamedTuple):
    """One line: its section, how deep it stands in it, and its text. `outcome` is what a check may answer."""

    section: Section
    depth: int
    text: str
    outcome: str | None = None


def explain(plan: Plan, name: str) -> list[Line]:
    """The plan of the command `name`; raises `UnknownName` for one that the contract does not declare."""
    if name in plan.reimports:
        return list(_reimport(plan, plan.reimports[name].declaration))
    found = plan.commands.get(name)
    if found is None:
        known = [*plan.commands, *plan.reimports]
        raise UnknownName(f"no command {name} in contract {plan.contract.name}{nearest(name, known)}")
    command, entities = found.declaration, plan.entities
    lines = list(_header(command))
    lines += _access(command, plan.contract.row_policies)
    lines += _reads(command, entities, ranges=found.ranges)
    lines += _locks(command, entities)
    lines += _Checks(command, entities).lines()
    lines += _writes(command, entities)
    lines += _answers(command.outcomes)
    lines += _tables(plan, {binding.entity for binding in _bindings(command)})
    return lines


def _answers(outcomes: Sequence[c.OutcomeDecl]) -> Iterator[Line]:
    yield from (Line("answers", 0, f"{each.name} ({_fields(each)})", each.name) for each in outcomes)


def _tables(plan: Plan, touched: Collection[str]) -> Iterator[Line]:
    for table in plan.tables:
        if table.entity in touched:
            renamed = [f"{each.field} as {each.name}" for each in table.columns if each.field != each.name]
            yield Line("tables", 0, f"{table.entity} is table {table.name}{_aside(renamed)}")


def _aside(parts: Sequence[str]) -> str:
    return f" ({', '.join(parts)})" if parts else ""


def _fields(outcome: c.OutcomeDecl) -> str:
    kind = "success" if outcome.success else "no change"
    return ", ".join([kind, *(f"{field.name}: {field.type}" for field in outcome.fields)])


def _bindings(command: c.Command) -> tuple[c.Binding, ...]:
    return own_bindings(command) + loop_bindings(command)


def _header(command: c.Command) -> Iterator[Line]:
    key = (
        f", once per {command.idempotency_key}"
        if command.idempotency_key
        else ", not recorded unless it writes"
    )
    yield Line("command", 0, f"{'bulk ' if command.bulk else ''}command {command.name}{key}")
    for field in command.inputs:
        yield Line("command", 1, f"input {field.name}: {field.type}")
    for service in command.services:
        yield Line("command", 1, f"service {service.name}: {service.kind}, sealed before it runs")
    if command.loop is not None:
        yield Line("command", 1, f"for each {command.loop.element} in {command.loop.input}, all or nothing")


_OPERATIONS: Final = {
    "read": ("read",),
    "create": ("create",),
    "mutate": ("read", "update"),
    "delete": ("read", "delete"),
    "init_or_mutate": ("read", "create", "update"),
    "observe": ("read", "create", "update"),
}
_REFUSED: Final = {"read": "a row that this hides looks absent"}
_DENIED: Final = "else denied, and nothing is recorded"


def _access(command: c.Command, policies: Sequence[c.RowPolicy]) -> Iterator[Line]:
    """What row policies allow a caller here; an operation without a rule is not allowed."""
    seen: dict[tuple[str, str], None] = {}
    for binding in _bindings(command):
        seen.update(dict.fromkeys((binding.entity, each) for each in _OPERATIONS[binding.kind]))
    for entity, operation in seen:
        own = [policy for policy in policies if policy.entity == entity]
        rules = [rule for policy in own for rule in policy.rules if rule.operation == operation]
        if own:
            when = " or ".join(words.expression(rule.expr) for rule in rules)
            text = f"only when {when}" if rules else "never"
            yield Line("access", 0, f"{operation} {entity} {text}; {_REFUSED.get(operation, _DENIED)}")


def _reimport(plan: Plan, reimport: c.Reimport) -> Iterator[Line]:
    """A reimport command: it has one form, and its entity says the rest."""
    entity = plan.entities[reimport.entity]
    yield Line("command", 0, f"reimport command {reimport.name}, run by the operator's import alone")
    yield Line("command", 1, f"input {reimport.input.name}: {reimport.input.type}")
    yield Line("reads", 0, f"{entity.name}, for each record")
    for reference in entity.declaration.references:
        yield Line("reads", 1, f"its {reference.target}, for reference {reference.name}")
    for unique in entity.uniques:
        yield Line("reads", 1, f"who holds unique {unique.name} ({', '.join(unique.fields)})")
    if entity.lease is not None:
        yield Line("checks", 0, "a lease with only one of owner and expiry: refused, nothing is recorded")
    for reference in entity.declaration.references:
        yield Line(
            "checks", 0, f"{reference.target} of {reference.name} is absent: refused, nothing is recorded"
        )
    answer = reimport.failure
    yield Line("checks", 0, f"{entity.name} is there already: {words.outcome(answer)}", answer.name)
    for unique in entity.uniques:
        yield _constraint(f"unique {unique.name} is taken", None, "unique_conflict")
    for invariant in entity.invariants:
        yield _constraint(f"invariant {invariant.name} is false", None, "invariant_violated")
    last = " or the key's last one" if entity.tombstones else ""
    yield Line(
        "writes", 0, f"each record as it was, state and lease too, revision above the exported one{last}"
    )
    yield from _answers(reimport.outcomes)
    yield from _tables(plan, {entity.name})


def _reads(command: c.Command, entities: Mapping[str, EntityPlan], *, ranges: bool) -> Iterator[Line]:
    inner = set(loop_bindings(command))
    for binding in _bindings(command):
        each = ", for each element" if binding in inner else ""
        yield Line("reads", 0, f"{words.row(binding)}{each}")
        aggregate = entities[binding.entity].aggregate
        if aggregate is not None and aggregate.invariants and aggregate.root != binding.entity:
            yield Line("reads", 1, f"its {aggregate.root}, for invariants of {aggregate.name}")
        for unique in _takes(command, binding, entities[binding.entity]):
            yield Line("reads", 1, f"who holds unique {unique.name} ({', '.join(unique.fields)})")
    if ranges:
        yield Line("reads", 0, "rows that only an index or the row itself names, while it runs")


def _takes(command: c.Command, binding: c.Binding, entity: EntityPlan) -> list[UniquePlan]:
    """The uniques whose entry a binding may take: those of a new row, and of fields that it changes."""
    if binding.kind in ("read", "delete"):
        return []
    changed: set[str] = set()
    workflow = entity.workflow
    for effect in _all_effects(command):
        match effect:
            case c.Set() if effect.binding == binding.name:
                changed.add(effect.field)
            case c.TransitionEffect() if effect.binding == binding.name and workflow is not None:
                changed.add(workflow.state)
            case c.LeaseEffect() if effect.binding == binding.name and workflow and workflow.lease:
                lease = workflow.lease
                changed |= {lease.owner, lease.expires_at, lease.fencing_token, lease.attempts or ""}
            case _:
                pass
    return [each for each in entity.uniques if binding.kind != "mutate" or changed & set(each.fields)]


def _locks(command: c.Command, entities: Mapping[str, EntityPlan]) -> Iterator[Line]:
    if command.partition is not None:
        yield Line("locks", 0, f"partition {words.expression(command.partition)}")
    seen: dict[str, None] = {}
    for binding in _bindings(command):
        aggregate = entities[binding.entity].aggregate
        if aggregate is not None:
            key = words.listed(aggregate.declaration.conflict_key)
            seen[f"{aggregate.name} ({key}) of {words.row(binding)}"] = None
    yield from (Line("locks", 0, text) for text in seen)


class _Checks:
    """The clauses of a command in the order in which they decide."""

    def __init__(self, command: c.Command, entities: Mapping[str, EntityPlan]) -> None:
        self._command = command
        self._entities = entities
        self._entity_of = {binding.name: entities[binding.entity] for binding in _bindings(command)}

    def lines(self) -> Iterator[Line]:
        command, loop = self._command, self._command.loop
        yield from self._lookups(command.bindings, command.decisions, 0)
        if loop is not None:
            yield Line("checks", 0, f"for each {loop.element}, in order")
            yield from self._lookups(loop.bindings, loop.decisions, 1)
            yield from self._requires(loop.requires, 1)
        yield from self._requires(command.requires, 0)
        later = list(self._effects(loop.effects, 1)) if loop is not None else []
        if loop is not None and later:
            yield Line("checks", 0, f"then for each {loop.element}, in order")
            yield from later
        yield from self._effects(command.effects, 0)
        yield from self._results()

    def _lookups(
        self, bindings: Sequence[c.Binding], decisions: Sequence[c.Decision], depth: int
    ) -> Iterator[Line]:
        for binding in bindings:
            yield from self._binding(binding, depth)
        for decision in decisions:
            if decision.observe is not None:
                yield from self._binding(decision.observe, depth)
            yield from self._decision(decision, depth)

    def _binding(self, binding: c.Binding, depth: int) -> Iterator[Line]:
        row = words.row(binding)
        if binding.failure is None:
            yield Line("checks", depth, f"{binding.name} is {row}, or a new one")
        else:
            state = "there already" if binding.kind == "create" else "absent"
            answer = f"{row} is {state}: {words.outcome(binding.failure)}"
            yield Line("checks", depth, answer, binding.failure.name)

    def _decision(self, decision: c.Decision, depth: int) -> Iterator[Line]:
        for arm in decision.arms:
            when = "otherwise" if arm.when is None else f"when {words.expression(arm.when)}"
            match arm.action:
                case c.Reject():
                    answer = arm.action.outcome
                    yield Line("checks", depth, f"{when}: {words.outcome(answer)}", answer.name)
                case c.NoEffect():
                    yield Line("checks", depth, f"{when}: leave {decision.binding} as it is")
                case c.Apply():
                    yield Line("checks", depth, f"{when}: change {decision.binding}")
                    yield from self._lookups(arm.action.bindings, (), depth + 1)
                    yield from self._effects(arm.action.effects, depth + 1)

    def _requires(self, requires: Sequence[c.Require], depth: int) -> Iterator[Line]:
        for require in requires:
            text = f"unless {words.expression(require.expr)}: {words.outcome(require.failure)}"
            yield Line("checks", depth, text, require.failure.name)

    def _effects(self, effects: Sequence[c.Effect], depth: int) -> Iterator[Line]:
        for effect in effects:
            match effect:
                case c.TransitionEffect():
                    yield from self._transition(effect, depth)
                case c.LeaseEffect():
                    yield from self._lease(effect, depth)
                case _:
                    pass

    def _transition(self, effect: c.TransitionEffect, depth: int) -> Iterator[Line]:
        workflow = self._entity_of[effect.binding].workflow
        sources = (
            [each.sources for each in workflow.transitions if each.name == effect.transition]
            if workflow
            else []
        )
        states = " or ".join(sources[0]) if sources else ""
        yield _stale(effect.binding, effect.revision, effect.stale, depth)
        text = f"{effect.binding} is not {states}: {words.outcome(effect.illegal)}"
        yield Line("checks", depth, text, effect.illegal.name)

    def _lease(self, effect: c.LeaseEffect, depth: int) -> Iterator[Line]:
        lease = self._entity_of[effect.binding].lease
        bounds = (
            f"outside {lease.minimum} to {lease.maximum} seconds" if lease is not None else "out of bounds"
        )
        yield _stale(effect.binding, effect.revision, effect.stale, depth)
        for answer, text in lease_checks(effect, bounds):
            yield Line("checks", depth, f"{text}: {words.outcome(answer)}", answer.name)

    def _results(self) -> Iterator[Line]:
        for binding in _bindings(self._command):
            entity = self._entities[binding.entity]
            if binding.kind == "delete":
                yield from _removal(binding, entity)
            elif binding.kind != "read":
                yield from self._constraints(binding, entity)

    def _constraints(self, binding: c.Binding, entity: EntityPlan) -> Iterator[Line]:
        conflicts = {each.constraint: each.outcome for each in binding.conflicts}
        violates = {each.constraint: each.outcome for each in binding.violates}
        for unique in _takes(self._command, binding, entity):
            taken = f"unique {unique.name} of {binding.name} is taken"
            yield _constraint(taken, conflicts.get(unique.name), "unique_conflict")
        shared = entity.aggregate.invariants if entity.aggregate is not None else ()
        for name in [each.name for each in entity.invariants] + [each.name for each in shared]:
            yield _constraint(f"invariant {name} is false", violates.get(name), "invariant_violated")


def _stale(binding: str, revision: str, answer: c.Outcome, depth: int) -> Line:
    return Line(
        "checks", depth, f"{binding}'s revision is not {revision}: {words.outcome(answer)}", answer.name
    )


def _constraint(text: str, answer: c.Outcome | None, failure: str) -> Line:
    if answer is None:
        return Line("checks", 0, f"{text}: terminal failure {failure}")
    return Line("checks", 0, f"{text}: {words.outcome(answer)}", answer.name)


def lease_checks(effect: c.LeaseEffect, bounds: str) -> Iterator[tuple[c.Outcome, str]]:
    """What a lease operation checks after the revision, in order: the outcome and when it is answered."""
    holder = f"{effect.binding} is not held by {effect.owner} with {effect.fencing_token}"
    texts = {
        "claim": (
            ("invalid", f"{effect.duration} is {bounds}"),
            ("unavailable", "the lease is held and has not expired"),
            ("exhausted", "a counter or the expiry would overflow"),
        ),
        "renew": (
            ("invalid", f"{effect.duration} is {bounds}, or {holder}"),
            ("expired", "the lease has expired"),
            ("exhausted", "the expiry would overflow"),
        ),
        "release": (("invalid", holder),),
        "expire": (("active", "the lease is not held, or has not expired"),),
        "fence": (("invalid", holder), ("expired", "the lease has expired")),
    }[effect.op]
    for name, text in texts:
        answer: c.Outcome | None = getattr(effect, name)
        if answer is not None:
            yield answer, text


def _removal(binding: c.Binding, entity: EntityPlan) -> Iterator[Line]:
    match entity.declaration.delete_policy:
        case c.Restrict() as policy if binding.restrict is not None:
            text = f"{policy.entity}.{policy.index} has an entry for it: {words.outcome(binding.restrict)}"
            yield Line("checks", 0, text, binding.restrict.name)
        case c.Cascade() as policy if binding.cascade is not None:
            for each in policy.relationships:
                text = f"more than {each.maximum} rows of {each.entity} by {each.reference}"
                yield Line("checks", 0, f"{text}: {words.outcome(binding.cascade)}", binding.cascade.name)
        case _:
            pass


def _writes(command: c.Command, entities: Mapping[str, EntityPlan]) -> Iterator[Line]:
    for binding in _bindings(command):
        entity = entities[binding.entity]
        match binding.kind:
            case "read":
                continue
            case "create":
                after = " or one above its last revision" if entity.tombstones else ""
                yield Line("writes", 0, f"new {words.row(binding)} as {binding.name}, revision 1{after}")
                if entity.workflow is not None and entity.workflow.initial is not None:
                    yield Line("writes", 1, f"{entity.workflow.state} = {entity.workflow.initial}")
            case "delete":
                yield Line("writes", 0, f"remove {words.row(binding)}, after all other effects")
            case _:
                new = "" if binding.kind == "mutate" else ", or a new one"
                yield Line("writes", 0, f"{words.row(binding)} as {binding.name}, revision + 1{new}")
        yield from _sets(command, binding.name)
    for effect in _all_effects(command):
        if isinstance(effect, c.Emit):
            fields = ", ".join(f"{each.name}: {words.expression(each.value)}" for each in effect.fields)
            yield Line("writes", 0, f"event {effect.event} {{ {fields} }}")


def _all_effects(command: c.Command) -> tuple[c.Effect, ...]:
    return own_effects(command) + loop_effects(command)


def _sets(command: c.Command, binding: str) -> Iterator[Line]:
    for effect in _all_effects(command):
        if isinstance(effect, c.Emit) or effect.binding != binding:
            continue
        match effect:
            case c.Set():
                yield Line("writes", 1, f"{effect.field} = {words.expression(effect.value)}")
            case c.TransitionEffect():
                yield Line("writes", 1, f"transition {effect.transition}")
            case c.LeaseEffect():
                yield Line("writes", 1, f"lease {effect.op}")
