"""What a client has to know of a contract: types, commands and queries, and nothing of how they work.

The server gives it to a caller for what its role allows (`GET /v1/contract/interface`); `treadle.bindings`
writes typed clients from it. It is an ordinary contract without rules, effects and ways to rows, so that the
one codec reads and shows values here as it does in the database.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

import msgspec

from treadle.model import contract as c
from treadle.model import query as q
from treadle.model import types as t
from treadle.model.types import Type


class Interface(msgspec.Struct, frozen=True):
    """`contract` without its rules, and the named queries without their ways to the rows."""

    contract: c.Contract
    queries: tuple[q.Query, ...] = ()

    @property
    def identity(self) -> str:
        """The identity of the whole contract, which a request can name."""
        return self.contract.identity


class _Everything(Container[str]):
    def __contains__(self, name: object) -> bool:
        return True


EVERYTHING: Container[str] = _Everything()


def interface_of(
    contract: c.Contract,
    queries: Iterable[q.Query] = (),
    *,
    commands: Container[str] = EVERYTHING,
    named: Container[str] = EVERYTHING,
    events: Container[str] = EVERYTHING,
) -> Interface:
    """The interface of a contract for a caller who may use these commands, queries (`named`) and events.

    Types come along where something that may be used leads to them.
    """
    shown = tuple(_command(each) for each in contract.commands if each.name in commands)
    asked = tuple(_query(each) for each in queries if each.name in named)
    told = tuple(each for each in contract.events if each.name in events)
    entities, enums = _reached(contract, [*_command_types(shown), *_query_types(asked), *_event_types(told)])
    return Interface(
        c.Contract(
            name=contract.name,
            version=contract.version,
            identity=contract.identity,
            enums=tuple(each for each in contract.enums if each.name in enums),
            entities=tuple(_entity(each) for each in contract.entities if each.name in entities),
            events=told,
            commands=shown,
        ),
        asked,
    )


def _command(command: c.Command) -> c.Command:
    return c.Command(
        name=command.name,
        bulk=command.bulk,
        inputs=command.inputs,
        services=(),
        idempotency_key=command.idempotency_key,
        bindings=(),
        decisions=(),
        loop=None,
        requires=(),
        effects=(),
        success=c.Outcome(command.success.name),
        outcomes=command.outcomes,
        partition=None,
    )


def _query(query: q.Query) -> q.Query:
    return q.Query(
        name=query.name,
        identity=query.identity,
        text="",
        parameters=query.parameters,
        statements=(),
        outcome=query.outcome,
        members=query.members,
        failures=query.failures,
        cursor=query.cursor,
    )


def _entity(entity: c.Entity) -> c.Entity:
    return c.Entity(name=entity.name, key=entity.key, fields=entity.fields)


# What leads to a type.


def _command_types(commands: Sequence[c.Command]) -> Iterator[Type]:
    for command in commands:
        for field in command.inputs:
            yield field.type
        for outcome in command.outcomes:
            for field in outcome.fields:
                yield field.type


def _query_types(queries: Sequence[q.Query]) -> Iterator[Type]:
    for query in queries:
        for field in query.parameters:
            yield field.type
        yield from _member_types(query.members)


def _member_types(members: Sequence[q.Member]) -> Iterator[Type]:
    for member in members:
        if isinstance(member.value, q.ShapeResult):
            yield from _member_types(member.value.members)
        else:
            yield member.value.type


def _event_types(events: Sequence[c.Event]) -> Iterator[Type]:
    for event in events:
        for field in event.fields:
            yield field.type


def _reached(contract: c.Contract, kinds: Iterable[Type]) -> tuple[set[str], set[str]]:
    """The names of the entities and enums that these types lead to."""
    known = {entity.name: entity for entity in contract.entities}
    entities: set[str] = set()
    enums: set[str] = set()
    waiting = list(kinds)
    while waiting:
        match waiting.pop():
            case t.Optional(item) | t.List(item):
                waiting.append(item)
            case t.Enum(name):
                enums.add(name)
            case t.Record(name) if name not in entities:
                entities.add(name)
                waiting += [field.type for field in known[name].members]
    return entities, enums


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Interface)


def encode(interface: Interface) -> bytes:
    """The form in which a server gives it, the same bytes for the same interface."""
    return _ENCODER.encode(interface)


def decode(data: bytes) -> Interface:
    """The interface that `encode` wrote; raises `msgspec.MsgspecError` for anything else."""
    return _DECODER.decode(data)
