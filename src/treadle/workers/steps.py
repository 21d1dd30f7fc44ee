"""What a turn's commands need, read off the contract: which input takes the owner, the token, the revision …

A worker names commands; the lease declaration and the commands' own clauses say the rest. What cannot be
provided is an error when the worker starts, not in the middle of the night.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from treadle.errors import ConfigError
from treadle.model import contract as c
from treadle.model.contract import Binding, Command, Contract, Entity, Lease, LeaseEffect, Workflow
from treadle.model.types import Bytes, List, Optional, String, Type
from treadle.text import nearest

Evidence = Literal["key", "owner", "token", "duration", "revision"]


class Leased(NamedTuple):
    """What the worker leases: an entity with its workflow and lease."""

    entity: Entity
    workflow: Workflow
    lease: Lease

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.entity.key)


class Place(NamedTuple):
    """Where a success outcome holds a field of the leased row: a payload field, or a field of a whole row."""

    name: str
    field: str | None = None

    def of(self, fields: Mapping[str, Any]) -> Any:
        value = fields[self.name]
        return value if self.field is None else value[self.field]


class Step(NamedTuple):
    """One command of a turn.

    `evidence` says which inputs take what the turn knows, `key_fields` which take a field of the row's key.
    `others` are the inputs that are left: of the row by name, of the worker's own values, or of the handler.
    The rest are outcomes: `stale` says that the row has another revision, `unowned` that the lease is not the
    worker's, `taken` that somebody holds it, `misfit` that the duration does not fit, `missing` that there is
    no such row.
    """

    command: Command
    binding: str
    op: str
    evidence: Mapping[str, Evidence]
    key_fields: Mapping[str, str]
    others: tuple[c.Field, ...]
    stale: frozenset[str]
    unowned: frozenset[str]
    taken: frozenset[str]
    misfit: frozenset[str]
    missing: frozenset[str]

    @property
    def name(self) -> str:
        return self.command.name

    @property
    def lost(self) -> frozenset[str]:
        """Outcomes that say that the worker's evidence does not hold (any more)."""
        return self.stale | self.unowned | self.missing

    @property
    def faster(self) -> frozenset[str]:
        """Outcomes of a claim that say that somebody else came first."""
        return self.stale | self.taken

    @property
    def releases(self) -> bool:
        """Whether the lease is over when the command succeeds."""
        kinds = {one.kind for one in self.command.bindings if one.name == self.binding}
        return self.op in ("release", "expire") or "delete" in kinds

    def place(self, field: str) -> Place | None:
        """Where the success outcome holds a field of the leased row, or None."""
        for assigned in self.command.success.fields:
            value = assigned.value
            if isinstance(value, c.BindingField) and (value.binding, value.field) == (self.binding, field):
                return Place(assigned.name)
            if isinstance(value, c.BindingRow) and value.binding == self.binding:
                return Place(assigned.name, field)
        return None


def command_of(contract: Contract, name: str) -> Command:
    """The declaration of a command; raises `ConfigError` that names the nearest."""
    for command in contract.commands:
        if command.name == name:
            return command
    known = [command.name for command in contract.commands]
    raise ConfigError(f"no command {name} in contract {contract.name}{nearest(name, known)}")


def leased_by(contract: Contract, claim: str) -> Leased:
    """What a claim command leases; raises `ConfigError` for a command that claims nothing."""
    command = command_of(contract, claim)
    claims = [effect for effect in lease_effects(command) if effect.op == "claim"]
    if not claims:
        raise ConfigError(f"command {claim} claims no lease; name one with a `lease claim` clause")
    if len({(effect.workflow, effect.lease) for effect in claims}) > 1:
        raise ConfigError(f"command {claim} claims several leases; a worker claims one row at a time")
    workflow = next(one for one in contract.workflows if one.name == claims[0].workflow)
    entity = next(one for one in contract.entities if one.name == workflow.entity)
    if workflow.lease is None:
        raise ConfigError(f"workflow {workflow.name} declares no lease")
    return Leased(entity, workflow, workflow.lease)


def lease_effects(command: Command) -> Iterator[LeaseEffect]:
    """Every lease clause of a command, at its top or in an arm of a decision."""
    for effect in command_effects(command):
        if isinstance(effect, LeaseEffect):
            yield effect


def command_effects(command: Command) -> Iterator[c.Effect]:
    """Every effect of a command outside of its loop."""
    yield from command.effects
    for decision in command.decisions:
        for arm in decision.arms:
            if isinstance(arm.action, c.Apply):
                yield from arm.action.effects


def step(contract: Contract, name: str, leased: Leased, ops: tuple[str, ...]) -> Step:
    """How a turn calls a command that has one of the lease operations `ops` on the leased row.

    Raises `ConfigError` with what is wrong with the command for a worker.
    """
    command = command_of(contract, name)
    if command.loop is not None:
        raise ConfigError(f"command {name} works on many rows; a turn works on one")
    if command.idempotency_key is None:
        raise ConfigError(f"command {name} has no idempotency key, so it cannot be repeated safely")
    effects = [one for one in lease_effects(command) if one.workflow == leased.workflow.name]
    fitting = [effect for effect in effects if effect.op in ops]
    if not fitting:
        wanted = " or ".join(ops)
        raise ConfigError(
            f"command {name} has no `lease {wanted}` clause of {leased.workflow.name}.{leased.lease.name}"
        )
    bindings = {effect.binding for effect in fitting}
    if len(bindings) > 1:
        raise ConfigError(f"command {name} leases several rows; a turn works on one")
    return _step(command, next(one for one in _bindings(command) if one.name in bindings), fitting, leased)


def _bindings(command: Command) -> Iterator[Binding]:
    yield from command.bindings
    for decision in command.decisions:
        if decision.observe is not None:
            yield decision.observe


def _step(command: Command, binding: Binding, effects: list[LeaseEffect], leased: Leased) -> Step:
    evidence: dict[str, Evidence] = {str(command.idempotency_key): "key"}
    transitions: list[c.TransitionEffect] = [
        one
        for one in command_effects(command)
        if isinstance(one, c.TransitionEffect) and one.binding == binding.name
    ]
    for effect in effects:
        _assign(evidence, command, effect.revision, "revision")
        _assign(evidence, command, effect.owner, "owner")
        _assign(evidence, command, effect.fencing_token, "token")
        _assign(evidence, command, effect.duration, "duration")
    for transition in transitions:
        _assign(evidence, command, transition.revision, "revision")
    key_fields = {
        part.name: field.name
        for part, field in zip(binding.key, leased.entity.key, strict=True)
        if isinstance(part, c.Input)
    }
    others = tuple(one for one in command.inputs if one.name not in evidence and one.name not in key_fields)
    return Step(
        command=command,
        binding=binding.name,
        op=effects[0].op,
        evidence=evidence,
        key_fields=key_fields,
        others=others,
        stale=_named([*(one.stale for one in effects), *(one.stale for one in transitions)]),
        unowned=_named(one for effect in effects for one in (effect.expired, _unless_claim(effect))),
        taken=_named(effect.unavailable for effect in effects),
        misfit=_named(effect.invalid for effect in effects if effect.op == "claim"),
        missing=_named([binding.failure]),
    )


def _unless_claim(effect: LeaseEffect) -> c.Outcome | None:
    """What `invalid` says about the holder; of a claim it is about the duration."""
    return None if effect.op == "claim" else effect.invalid


def _named(outcomes: Iterable[c.Outcome | None]) -> frozenset[str]:
    return frozenset(one.name for one in outcomes if one is not None)


def _assign(evidence: dict[str, Evidence], command: Command, name: str | None, role: Evidence) -> None:
    if name is not None and evidence.setdefault(name, role) != role:
        raise ConfigError(
            f"input {name} of command {command.name} would have to be both {evidence[name]} and {role}"
        )


def found_step(contract: Contract, leased: Leased, op: str, usable: Container[str]) -> str | None:
    """The one usable command of the contract that only does `op` on this lease; None where there is none.

    Raises `ConfigError` where there are several, so that the worker names one.
    """
    names = []
    for command in contract.commands:
        effects = list(lease_effects(command)) if command.name in usable else []
        mine = [one for one in effects if one.op == op and one.workflow == leased.workflow.name]
        if mine and len(effects) == 1 and command.loop is None and _only_lease(command):
            names.append(command.name)
    if len(names) > 1:
        raise ConfigError(f"commands {', '.join(names)} all {op} this lease; name one: {op}='{names[0]}'")
    return names[0] if names else None


def _only_lease(command: Command) -> bool:
    """Whether a command does nothing but its lease operation."""
    return len(list(command_effects(command))) == 1 and len(list(_bindings(command))) == 1


def unmet(step: Step, available: Mapping[str, Type]) -> list[c.Field]:
    """Required inputs that none of the available values fits by name and type."""
    return [one for one in step.others if not _met(one, available.get(one.name))]


def _met(needed: c.Field, given: Type | None) -> bool:
    if given is None:
        return isinstance(needed.type, Optional)
    return fits(given, needed.type)


def fits(given: Type, needed: Type) -> bool:
    """Whether a value of one type can be given for another; lengths are looked at when it is."""
    if isinstance(needed, Optional):
        needed = needed.item
        given = given.item if isinstance(given, Optional) else given
    if type(given) is not type(needed):
        return False
    if isinstance(given, String | Bytes | List):
        return True
    return given == needed
