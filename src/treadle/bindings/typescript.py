"""A TypeScript module for one contract: types, and a client over `fetch` that needs no package.

Its first part is the same for every contract (`runtime.ts`); the second names the types, and tells the first
how each value is read and written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from treadle.bindings.names import Name
from treadle.bindings.python_names import shapes_of
from treadle.bindings.typescript_names import QueryNames, TypescriptNames
from treadle.client.interface import Interface
from treadle.model import contract as c
from treadle.model import query as q
from treadle.model import types as t
from treadle.model.types import Type

_HEAD: Final = """\
// A typed client of contract {name}, version {version}.
// Written by `treadle generate typescript`; do not edit, generate it again.

/** The identity of the contract. Where another one is deployed, calls are refused as `contract_mismatch`. */
export const CONTRACT = "{identity}";
"""
_SCALARS: Final[dict[type, tuple[str, str, str]]] = {
    t.Bool: ("boolean", "boolean", "plain"),
    t.I64: ("bigint", "bigint | number", "integer"),
    t.U64: ("bigint", "bigint | number", "integer"),
    t.Timestamp: ("Timestamp", "Timestamp | Date", "time"),
    t.Date: ("CalendarDate", "CalendarDate", "plain"),
    t.Uuid: ("Uuid", "Uuid", "plain"),
    t.Decimal: ("DecimalText", "DecimalText", "plain"),
    t.Money: ("DecimalText", "DecimalText", "plain"),
    t.String: ("string", "string", "plain"),
    t.Bytes: ("Uint8Array", "Uint8Array", "bytes"),
}
"""For each scalar its type going out and coming in, and how it is read and written."""


@cache
def runtime() -> str:
    """The fixed part of every module."""
    return files("treadle.bindings").joinpath("runtime.ts").read_text(encoding="utf-8")


def typescript_module(interface: Interface) -> str:
    """The text of a module for this interface; the same bytes for the same interface."""
    names = TypescriptNames(interface, runtime())
    contract = interface.contract
    head = _HEAD.format(name=contract.name, version=contract.version, identity=contract.identity)
    blocks = [
        head.rstrip("\n"),
        runtime().rstrip("\n"),
        f"// Contract {contract.name}.",
        *(_enum(one, names) for one in contract.enums),
        *_entities(contract, names),
        *_events(contract.events, names),
        *(block for one in contract.commands for block in _command(one, names)),
        *(block for one in interface.queries for block in _query(one, names)),
        _map("Commands", [(name, (two.input, two.outcome)) for name, two in names.commands.items()]),
        _map("Queries", [(name, (two.parameters, two.outcome)) for name, two in names.queries.items()]),
        *(_shape_constant(one, names) for one in contract.entities),
        _face(interface, names),
        _client(interface, names),
    ]
    return "\n\n".join(blocks) + "\n"


def _noted(name: Name, *lines: str) -> str:
    """Lines of a declaration, after a comment where its name had to give way."""
    return "\n".join([f"// {name.note}", *lines] if name.note else lines)


def _text(value: str) -> str:
    return json.dumps(value)


def _property(name: str) -> str:
    """A member's name; `__proto__` is no ordinary one."""
    return f'["{name}"]' if name == "__proto__" else name


# Types.


def _type(kind: Type, names: TypescriptNames, *, out: bool) -> str:
    match kind:
        case t.Optional():
            return f"{_type(kind.item, names, out=out)} | null"
        case t.List():
            item = _type(kind.item, names, out=out)
            return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
        case t.Enum():
            return names.enums[kind.name].shown
        case t.Record():
            return (names.entities if out else names.given)[kind.entity].shown
        case _:
            return _SCALARS[type(kind)][0 if out else 1]


def _kind(kind: Type, names: TypescriptNames) -> str:
    """How the fixed part reads and writes a value."""
    match kind:
        case t.Optional():
            return f"{{ optional: {_kind(kind.item, names)} }}"
        case t.List():
            return f"{{ list: {_kind(kind.item, names)} }}"
        case t.Enum():
            return '"plain"'
        case t.Record():
            return f"{{ record: () => {names.shapes[kind.entity].shown} }}"
        case _:
            return _text(_SCALARS[type(kind)][2])


def _inner(field: c.Field) -> Type:
    """A field's type without what stands around it: an optional's, a list's."""
    kind = field.type
    while isinstance(kind, t.Optional | t.List):
        kind = kind.item
    return kind


def _member(name: str, kind: Type, names: TypescriptNames, *, out: bool) -> str:
    absent = "?" if not out and isinstance(kind, t.Optional) else ""
    says = f" // {kind}" if not isinstance(kind, t.Enum | t.Record) else ""
    return f"  readonly {_property(name)}{absent}: {_type(kind, names, out=out)};{says}"


def _interface(shown: str, members: Iterable[str]) -> list[str]:
    inside = list(members)
    return (
        [f"export interface {shown} {{", *inside, "}"]
        if inside
        else [f"export type {shown} = Readonly<Record<string, never>>;"]
    )


def _enum(enum: c.EnumDecl, names: TypescriptNames) -> str:
    name = names.enums[enum.name]
    values = " | ".join(map(_text, enum.variants))
    entries = [f"  {_property(variant)}: {_text(variant)}," for variant in enum.variants]
    constant = [f"export const {name.shown} = {{", *entries, "} as const;"]
    return _noted(name, f"export type {name.shown} = {values};", *constant)


def _entities(contract: c.Contract, names: TypescriptNames) -> Iterator[str]:
    inner = [_inner(field) for command in contract.commands for field in command.inputs]
    taken = {kind.entity for kind in inner if isinstance(kind, t.Record)}
    for entity in contract.entities:
        name = names.entities[entity.name]
        key = ", ".join(field.name for field in entity.key)
        members = [_member(field.name, field.type, names, out=True) for field in entity.members]
        says = f"/** A row of entity {entity.name}; its key is ({key}). */"
        yield _noted(name, says, *_interface(name.shown, members))
        if entity.name in taken:
            given = [_member(field.name, field.type, names, out=False) for field in entity.members]
            says = f"/** A row of entity {entity.name} that is given to a command. */"
            name = names.given[entity.name]
            yield _noted(name, says, *_interface(name.shown, given))


def _shape(fields: Iterable[tuple[str, Type]], names: TypescriptNames) -> str:
    inside = ", ".join(f"{_property(name)}: {_kind(kind, names)}" for name, kind in fields)
    return f"{{ {inside} }}" if inside else "{}"


def _fields(fields: Iterable[c.Field]) -> list[tuple[str, Type]]:
    return [(field.name, field.type) for field in fields]


def _shape_constant(entity: c.Entity, names: TypescriptNames) -> str:
    shown = names.shapes[entity.name].shown
    return f"const {shown}: Shape = {_shape(_fields(entity.members), names)};"


def _events(events: Sequence[c.Event], names: TypescriptNames) -> Iterator[str]:
    for event in events:
        name = names.events[event.name]
        members = [_member(field.name, field.type, names, out=True) for field in event.fields]
        says = f"/** Event {event.name}, in partitions by ({', '.join(event.partition_by)}). */"
        yield _noted(name, says, *_interface(name.shown, members))
    if events:
        union = [
            f"  | {{ readonly event: {_text(one.name)}; readonly fields: {names.events[one.name].shown} }}"
            for one in events
        ]
        yield "\n".join(["export type AnyEvent =", *union]) + ";"


# Commands and queries.


def _command(command: c.Command, names: TypescriptNames) -> Iterator[str]:
    mine = names.commands[command.name]
    key = (
        f" The same `{command.idempotency_key}` again gives the same answer and runs nothing."
        if command.idempotency_key
        else ""
    )
    members = [_member(field.name, field.type, names, out=False) for field in command.inputs]
    yield _noted(mine.input, f"/** Command {command.name}.{key} */", *_interface(mine.input.shown, members))
    union = [
        f"  | Answer<{_text(one.name)}, {_record(((field.name, field.type) for field in one.fields), names)}>"
        for one in command.outcomes
    ]
    yield _noted(mine.outcome, f"export type {mine.outcome.shown} =", *union) + ";"


def _record(fields: Iterable[tuple[str, Type]], names: TypescriptNames) -> str:
    inside = "; ".join(f"readonly {_property(name)}: {_type(kind, names, out=True)}" for name, kind in fields)
    return f"{{ {inside} }}" if inside else "Nothing"


def _query(query: q.Query, names: TypescriptNames) -> Iterator[str]:
    mine = names.queries[query.name]
    members = [_member(field.name, field.type, names, out=False) for field in query.parameters]
    yield _noted(mine.parameters, f"/** Query {query.name}. */", *_interface(mine.parameters.shown, members))
    for path, inside in shapes_of(query.members):
        name = mine.shapes[path]
        says = f"/** A record of `{'.'.join(path)}`. */"
        yield _noted(name, says, *_interface(name.shown, _query_members(inside, path, mine, names)))
    union = []
    for outcome in query.outcomes:
        fields = _query_members(query.members, (), mine, names) if outcome == query.outcome else []
        bare = "; ".join(line.split(";")[0].strip() for line in fields)
        union.append(f"  | Page<{_text(outcome)}, {f'{{ {bare} }}' if bare else 'Nothing'}>")
    yield _noted(mine.outcome, f"export type {mine.outcome.shown} =", *union) + ";"


def _query_members(
    members: Iterable[q.Member], path: tuple[str, ...], mine: QueryNames, names: TypescriptNames
) -> list[str]:
    lines = []
    for member in members:
        if isinstance(member.value, q.ShapeResult):
            shape = mine.shapes[*path, member.name].shown
            kinds = {"one": shape, "maybe": f"{shape} | null", "many": f"readonly {shape}[]"}
            lines.append(f"  readonly {_property(member.name)}: {kinds[member.value.kind]};")
        else:
            lines.append(_member(member.name, member.value.type, names, out=True))
    return lines


def _query_shape(members: Iterable[q.Member], names: TypescriptNames) -> str:
    inside = ", ".join(f"{_property(one.name)}: {_query_kind(one.value, names)}" for one in members)
    return f"{{ {inside} }}" if inside else "{}"


def _query_kind(value: q.Result, names: TypescriptNames) -> str:
    if not isinstance(value, q.ShapeResult):
        return _kind(value.type, names)
    record = f"{{ record: () => ({_query_shape(value.members, names)}) }}"
    return {"one": record, "maybe": f"{{ optional: {record} }}", "many": f"{{ list: {record} }}"}[value.kind]


# The client.


def _map(shown: str, entries: Iterable[tuple[str, tuple[Name, Name]]]) -> str:
    lines = []
    for name, (given, outcome) in entries:
        types = f"readonly input: {given.shown}; readonly outcome: {outcome.shown}"
        lines.append(f"  readonly {_property(name)}: {{ {types} }};")
    return "\n".join([f"export interface {shown} {{", *lines, "}"])


def _face(interface: Interface, names: TypescriptNames) -> str:
    lines = ["const face: Face = {", "  contract: CONTRACT,", "  commands: {"]
    for command in interface.contract.commands:
        lines += [
            f"    {_property(command.name)}: {{",
            f"      key: {_text(command.idempotency_key) if command.idempotency_key else 'null'},",
            f"      input: {_shape(_fields(command.inputs), names)},",
            "      outcomes: {",
            *(
                f"        {_property(one.name)}: {_shape(_fields(one.fields), names)},"
                for one in command.outcomes
            ),
            "      },",
            "    },",
        ]
    lines += ["  },", "  queries: {"]
    for query in interface.queries:
        members = {one: query.members if one == query.outcome else () for one in query.outcomes}
        lines += [
            f"    {_property(query.name)}: {{",
            f"      identity: {_text(query.identity)},",
            f"      parameters: {_shape(_fields(query.parameters), names)},",
            "      outcomes: {",
            *(f"        {_property(one)}: {_query_shape(inside, names)}," for one, inside in members.items()),
            "      },",
            "    },",
        ]
    return "\n".join([*lines, "  },", "};"])


def _client(interface: Interface, names: TypescriptNames) -> str:
    lines = [
        f"/** Contract {interface.contract.name} over HTTP. */",
        f"export class {names.client} extends Client<Commands, Queries> {{",
        "  constructor(url: string, options: ClientOptions = {}) {",
        "    super(url, options, face);",
        "  }",
    ]
    for command in interface.contract.commands:
        mine = names.commands[command.name]
        outcomes = ", ".join(one.name for one in reversed(command.outcomes))
        lines += ["", f"  /** Run {command.name}; resolves to {outcomes}. */"]
        given = f"input: {mine.input.shown}, options: CallOptions = {{}}"
        lines += _method(
            mine.method,
            given,
            f"Promise<{mine.outcome.shown}>",
            f"run({_text(command.name)}, input, options)",
        )
    for query in interface.queries:
        asked = names.queries[query.name]
        given = f"parameters: {asked.parameters.shown}, options: QueryOptions = {{}}"
        outcomes = ", ".join(query.outcomes)
        lines += ["", f"  /** Ask {query.name}; resolves to {outcomes}. */"]
        call = f"query({_text(query.name)}, parameters, options)"
        lines += _method(asked.method, given, f"Promise<{asked.outcome.shown}>", call)
        if query.cursor is not None:
            lines += ["", f"  /** The pages of {query.name}, one after another. */"]
            call = f"pages({_text(query.name)}, parameters, options)"
            lines += _method(asked.pages, given, f"AsyncGenerator<{asked.outcome.shown}, void>", call)
    return "\n".join([*lines, "}"])


def _method(name: Name, given: str, result: str, call: str) -> list[str]:
    note = [f"  // {name.note}"] if name.note else []
    return [*note, f"  {name.shown}({given}): {result} {{", f"    return this.{call};", "  }"]
