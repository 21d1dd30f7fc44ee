"""What a worker has to know of a contract: which of its commands does what to the lease, and nothing else.

The interface that every client has, and with it, of the commands that the caller may run, their bindings by
key, their lease and transition clauses with the names of the outcomes, and where a success holds the row. No
expression of a rule or an effect is in it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from treadle.client.interface import EVERYTHING, interface_of
from treadle.model import contract as c
from treadle.model import query as q
from treadle.model import types as t


class Skeleton(msgspec.Struct, frozen=True):
    """The bones of a contract and its named queries; the history incarnation; the database's time, in
    microseconds since 1970."""

    contract: c.Contract
    queries: tuple[q.Query, ...]
    history: str
    time: int


def skeleton_of(
    contract: c.Contract,
    queries: Sequence[q.Query],
    *,
    commands: Container[str] = EVERYTHING,
    events: Container[str] = EVERYTHING,
) -> tuple[c.Contract, tuple[q.Query, ...]]:
    """The bones for a caller who may use these commands, queries and events."""
    shown = interface_of(contract, queries, commands=commands, events=events)
    mine = [one for one in contract.commands if one.name in commands]
    bound = {binding.entity for command in mine for binding in _bindings(command)}
    entities = [one for one in contract.entities if one.name in bound]
    return (
        msgspec.structs.replace(
            shown.contract,
            commands=tuple(map(_command, mine)),
            workflows=tuple(one for one in contract.workflows if one.entity in bound),
            entities=_joined(shown.contract.entities, map(_entity, entities)),
            enums=_joined(shown.contract.enums, _enums(contract, entities)),
        ),
        tuple(_query(one, bones) for one, bones in zip(queries, shown.queries, strict=True)),
    )


_Named = TypeVar("_Named", bound=Any)


def _joined(known: Sequence[_Named], more: Iterable[_Named]) -> tuple[_Named, ...]:
    """Declarations of both, each name once."""
    return tuple({one.name: one for one in (*known, *more)}.values())


def _entity(entity: c.Entity) -> c.Entity:
    return c.Entity(name=entity.name, key=entity.key, fields=entity.fields)


def _enums(contract: c.Contract, entities: Iterable[c.Entity]) -> Iterator[c.EnumDecl]:
    named = {
        kind.name
        for entity in entities
        for field in entity.members
        if isinstance(kind := t.required(field.type), t.Enum)
    }
    return (one for one in contract.enums if one.name in named)


def _bindings(command: c.Command) -> Iterator[c.Binding]:
    yield from command.bindings
    for decision in command.decisions:
        if decision.observe is not None:
            yield decision.observe


def _command(command: c.Command) -> c.Command:
    loop = command.loop
    return c.Command(
        name=command.name,
        bulk=command.bulk,
        inputs=command.inputs,
        services=(),
        idempotency_key=command.idempotency_key,
        bindings=tuple(map(_binding, command.bindings)),
        decisions=tuple(map(_decision, command.decisions)),
        loop=None if loop is None else c.Loop(loop.element, loop.input, (), (), (), ()),
        requires=(),
        effects=_effects(command.effects),
        success=c.Outcome(command.success.name, tuple(_rows(command.success.fields))),
        outcomes=command.outcomes,
        partition=None,
    )


def _rows(fields: Iterable[c.Assign]) -> Iterator[c.Assign]:
    """Where a success holds rows or fields of them."""
    return (one for one in fields if isinstance(one.value, c.BindingRow | c.BindingField))


def _binding(binding: c.Binding) -> c.Binding:
    return c.Binding(
        kind=binding.kind,
        entity=binding.entity,
        key=tuple(part if isinstance(part, c.Input) else _NOTHING for part in binding.key),
        name=binding.name,
        failure=_bare(binding.failure),
    )


_NOTHING = c.Literal(None, t.BOOL)
"""Stands for a part of a key that is no input."""


def _decision(decision: c.Decision) -> c.Decision:
    arms = [
        c.Arm(None, c.Apply((), _effects(arm.action.effects)))
        for arm in decision.arms
        if isinstance(arm.action, c.Apply)
    ]
    observe = None if decision.observe is None else _binding(decision.observe)
    return c.Decision(decision.binding, observe, tuple(arms))


def _effects(effects: Iterable[c.Effect]) -> tuple[c.Effect, ...]:
    """The lease and transition clauses, their outcomes by name alone."""
    return tuple(_effect(one) for one in effects if isinstance(one, c.LeaseEffect | c.TransitionEffect))


def _effect(effect: c.LeaseEffect | c.TransitionEffect) -> c.Effect:
    outcomes = {
        name: _bare(getattr(effect, name))
        for name in effect.__struct_fields__
        if isinstance(getattr(effect, name), c.Outcome)
    }
    found: c.Effect = msgspec.structs.replace(effect, **outcomes)
    return found


def _bare(outcome: c.Outcome | None) -> c.Outcome | None:
    return None if outcome is None else c.Outcome(outcome.name)


def _query(query: q.Query, bones: q.Query) -> q.Query:
    """The interface of a query, and of which entity its rows are."""
    statements = [
        q.Statement(one.kind, one.row, one.entity, q.Access("key", "", ())) for one in query.statements
    ]
    return msgspec.structs.replace(bones, statements=tuple(statements))


_ENCODER = msgspec.json.Encoder()


def encode(skeleton: Skeleton) -> bytes:
    """The form in which a server gives it."""
    return _ENCODER.encode(skeleton)
