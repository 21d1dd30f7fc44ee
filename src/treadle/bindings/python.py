"""A Python module for one contract: enums, entities, events, commands, queries, and two clients."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from treadle.bindings.names import Name
from treadle.bindings.python_clients import clients
from treadle.bindings.python_names import Names, PythonNames, QueryNames, shapes_of
from treadle.bindings.python_types import annotation, comment, read
from treadle.client.interface import Interface
from treadle.model import contract as c
from treadle.model import query as q
from treadle.model import types as t

WIDTH = 110
_DATACLASS = "@_dataclass(frozen=True, slots=True, kw_only=True)"
_HEAD = '''"""A typed client of contract {name}, version {version}.

Written by `treadle generate python`; do not edit, generate it again.

Commands are values: `{client}(…).run(…)` runs one and returns one of its outcomes, to be told apart
by `match`; `typing.assert_never` at its end shows a type checker that none was forgotten.
"""

from __future__ import annotations

{imports}

from treadle.client import typed as _t

CONTRACT = "{identity}"
"""The identity of the contract. Where another one is deployed, calls are refused as `contract_mismatch`."""
'''
_IMPORTS = (
    ("_dataclass", "from dataclasses import dataclass as _dataclass"),
    ("_field", "from dataclasses import field as _field"),
    ("_StrEnum", "from enum import StrEnum as _StrEnum"),
    ("_TypeAlias", "from typing import TypeAlias as _TypeAlias"),
)


def python_module(interface: Interface) -> str:
    """The text of a module for this interface; the same bytes for the same interface."""
    names = PythonNames(interface)
    contract = interface.contract
    blocks = [
        *(_enum(one, names) for one in contract.enums),
        *(_entity(one, names) for one in contract.entities),
        *_events(contract.events, names),
        *(_command(one, names) for one in contract.commands),
        *(_query(one, names) for one in interface.queries),
        *(_readers(one, names) for one in contract.entities),
        *clients(interface, names),
    ]
    body = "\n\n\n".join(blocks)
    head = _HEAD.format(
        name=contract.name,
        version=contract.version,
        client=names.client,
        imports="\n".join(line for name, line in _IMPORTS if re.search(rf"\b{name}\b", body)),
        identity=contract.identity,
    )
    return f"{head}\n\n{body}\n"


def _noted(line: str, *notes: str) -> str:
    found = "; ".join(note for note in notes if note)
    return f"{line}  # {found}" if found else line


# Enums, entities, events.


def _enum(enum: c.EnumDecl, names: PythonNames) -> str:
    lines = [_noted(f"class {names.enums[enum.name].shown}(_StrEnum):", names.enums[enum.name].note)]
    lines += [f'    """Enum {enum.name}."""', ""]
    lines += [
        _noted(f'    {name.shown} = "{name.declared}"', name.note)
        for name in names.variants[enum.name].values()
    ]
    return "\n".join(lines)


def _entity(entity: c.Entity, names: PythonNames) -> str:
    key = ", ".join(names.members[entity.name][field.name].shown for field in entity.key)
    says = f"A row of entity {entity.name}; its key is ({key})."
    fields = _fields(entity.members, names.members[entity.name], names)
    return _dataclass(names.entities[entity.name], says, fields)


def _dataclass(name: Name, says: str, inside: Iterable[str]) -> str:
    first = _noted(f"class {name.shown}:", name.note)
    return "\n".join([_DATACLASS, first, f'    """{says}"""', "", *(_indented(inside))])


def _indented(lines: Iterable[str], by: int = 4) -> Iterator[str]:
    for line in lines:
        yield " " * by + line if line else ""


def _fields(fields: Iterable[c.Field], shown: Names, names: PythonNames, *, out: bool = False) -> list[str]:
    """Fields of a dataclass. A renamed one tells the reader of inputs so; a secret one is not shown."""
    lines = []
    for field in fields:
        name = shown[field.name]
        line = f"{name.shown}: {annotation(field.type, names, out=out)}{_default(field, name)}"
        lines.append(_noted(line, comment(field.type), name.note))
    return lines


def _default(field: c.Field, name: Name) -> str:
    """What stands behind the annotation of a field."""
    absent = ["default=None"] if isinstance(field.type, t.Optional) else []
    options = ["repr=False"] if field.secret else []
    if name.declared != name.shown:
        options.append(f'metadata={{"name": "{name.declared}"}}')
    if options:
        return f" = _field({', '.join([*absent, *options])})"
    return " = None" if absent else ""


def _readers(entity: c.Entity, names: PythonNames) -> str:
    shown = names.entities[entity.name].shown
    lines = [f"def _read_{shown}(row: _t.Fields) -> {shown}:", f"    return {shown}("]
    lines += _indented(_arguments(entity.members, names.members[entity.name], names, "row"), 8)
    return "\n".join([*lines, "    )"])


def _arguments(fields: Iterable[c.Field], shown: Names, names: PythonNames, owner: str) -> list[str]:
    return [f"{shown[one.name].shown}={read(one.type, names, owner, one.name)}," for one in fields]


def _events(events: Sequence[c.Event], names: PythonNames) -> Iterator[str]:
    for event in events:
        says = f"Event {event.name}, in partitions by ({', '.join(event.partition_by)})."
        fields = _fields(event.fields, names.event_fields[event.name], names, out=True)
        yield _dataclass(names.events[event.name], says, fields)
    if not events:
        return
    union = [names.events[event.name].shown for event in events]
    lines = [_alias("AnyEvent", union), "", ""]
    lines += ["def read_event(name: str, fields: _t.Fields) -> AnyEvent:"]
    lines += [
        '    """An event of a stream as its class; raises `ValueError` for a name that is none of them."""'
    ]
    lines += ["    match name:"]
    for event in events:
        lines += [f'        case "{event.name}":', f"            return {names.events[event.name].shown}("]
        lines += _indented(_arguments(event.fields, names.event_fields[event.name], names, "fields"), 16)
        lines += ["            )"]
    lines += ["        case _:", '            raise ValueError(f"the contract declares no event {name}")']
    yield "\n".join(lines)


def _alias(name: str, members: Sequence[str]) -> str:
    """A union as a formatter would lay it out."""
    whole = " | ".join(members)
    line = f"{name}: _TypeAlias = {whole}"
    if len(line) <= WIDTH:
        return line
    inside = [f"    {whole}"]
    if len(inside[0]) > WIDTH:
        first, *rest = members
        inside = [f"    {first}", *(f"    | {one}" for one in rest)]
    return "\n".join([f"{name}: _TypeAlias = (", *inside, ")"])


# Commands.


def _command(command: c.Command, names: PythonNames) -> str:
    mine = names.commands[command.name]
    inside = _fields(command.inputs, mine.inputs, names)
    for outcome in command.outcomes:
        kind = "The success" if outcome.success else "A failure: nothing was written"
        fields = _fields(outcome.fields, mine.fields[outcome.name], names, out=True)
        made = _dataclass(mine.outcomes[outcome.name], f"{kind}.", [*fields, "receipt: _t.Receipt"])
        inside += ["", *made.split("\n")]
    inside += ["", *_command_call(command, mine.inputs), "", *_command_read(command, names)]
    made = _dataclass(mine.type, _command_says(command, names), inside)
    union = [f"{mine.type.shown}.{mine.outcomes[one.name].shown}" for one in command.outcomes]
    return f"{made}\n\n\n{_alias(mine.outcome.shown, union)}"


def _command_says(command: c.Command, names: PythonNames) -> str:
    says = f"Command {command.name}."
    if command.idempotency_key is not None:
        key = names.commands[command.name].inputs[command.idempotency_key].shown
        says += f" The same `{key}` again gives the same answer and runs nothing."
    return says


def _command_call(command: c.Command, shown: Names) -> list[str]:
    lines = ["def __treadle_call__(self) -> _t.Call:"]
    return lines + _call("Call", [f'"{command.name}"'], _input(command.inputs, shown))


def _call(kind: str, before: Sequence[str], entries: Sequence[str]) -> list[str]:
    lines = [f"    return _t.{kind}(", *(f"        {one}," for one in before)]
    if not entries:
        return [*lines, "        {},", "    )"]
    return [*lines, "        {", *(f"            {entry}," for entry in entries), "        },", "    )"]


def _input(fields: Iterable[c.Field], shown: Names) -> list[str]:
    return [f'"{field.name}": self.{shown[field.name].shown}' for field in fields]


def _command_read(command: c.Command, names: PythonNames) -> list[str]:
    mine = names.commands[command.name]
    lines = [f"def __treadle_read__(self, receipt: _t.Receipt) -> {mine.outcome.shown}:"]
    if any(outcome.fields for outcome in command.outcomes):
        lines += ["    fields = receipt.fields"]
    lines += ["    match receipt.outcome:"]
    for outcome in command.outcomes:
        lines += [f'        case "{outcome.name}":']
        arguments = _arguments(outcome.fields, mine.fields[outcome.name], names, "fields")
        lines += _made(f"{mine.type.shown}.{mine.outcomes[outcome.name].shown}", arguments, "receipt=receipt")
    return [*lines, "        case _:", "            raise _t.unknown(receipt)"]


def _made(shown: str, arguments: Sequence[str], last: str) -> list[str]:
    if not arguments:
        return [f"            return {shown}({last})"]
    inside = [*arguments, f"{last},"]
    return [f"            return {shown}(", *_indented(inside, 16), "            )"]


# Queries.


def _query(query: q.Query, names: PythonNames) -> str:
    mine = names.queries[query.name]
    inside = _fields(query.parameters, mine.parameters, names)
    for path, members in shapes_of(query.members):
        made = _dataclass(mine.shapes[path], _shape_says(path), _members(members, path, mine, names))
        inside += ["", *made.split("\n")]
    for outcome in query.outcomes:
        success = outcome == query.outcome
        fields = _members(query.members, (), mine, names) if success else []
        says = "The answer." if success else "There is no such row."
        inside += ["", *_dataclass(mine.outcomes[outcome], says, [*fields, "page: _t.Page"]).split("\n")]
    inside += ["", "def __treadle_call__(self) -> _t.Asked:"]
    inside += _call(
        "Asked", [f'"{query.name}"', f'"{query.identity}"'], _input(query.parameters, mine.parameters)
    )
    inside += ["", *_query_read(query, names)]
    made = _dataclass(mine.type, f"Query {query.name}.", inside)
    union = [f"{mine.type.shown}.{mine.outcomes[one].shown}" for one in query.outcomes]
    return "\n\n\n".join(
        [
            made,
            _alias(mine.outcome.shown, union),
            *(_shape_reader(*one, mine, names) for one in shapes_of(query.members)),
        ]
    )


def _shape_says(path: tuple[str, ...]) -> str:
    return f"A record of `{'.'.join(path)}`."


def _members(
    members: Iterable[q.Member], path: tuple[str, ...], mine: QueryNames, names: PythonNames
) -> list[str]:
    lines = []
    for member in members:
        name = mine.members[path][member.name]
        if isinstance(member.value, q.ShapeResult):
            shape = f"{mine.type.shown}.{mine.shapes[*path, member.name].shown}"
            kinds = {"one": shape, "maybe": f"{shape} | None", "many": f"tuple[{shape}, ...]"}
            lines.append(_noted(f"{name.shown}: {kinds[member.value.kind]}", name.note))
        else:
            kind = member.value.type
            lines.append(
                _noted(f"{name.shown}: {annotation(kind, names, out=True)}", comment(kind), name.note)
            )
    return lines


def _shape_function(path: tuple[str, ...], mine: QueryNames) -> str:
    return f"_read_{mine.type.shown}_{mine.shapes[path].shown}"


def _member_arguments(
    members: Iterable[q.Member], path: tuple[str, ...], mine: QueryNames, names: PythonNames, owner: str
) -> list[str]:
    lines = []
    for member in members:
        name = mine.members[path][member.name]
        if isinstance(member.value, q.ShapeResult):
            function, value = _shape_function((*path, member.name), mine), f'{owner}["{name.declared}"]'
            forms = {"one": "{0}({1})", "maybe": "_t.maybe({0}, {1})", "many": "tuple(map({0}, {1}))"}
            text = forms[member.value.kind].format(function, value)
        else:
            text = read(member.value.type, names, owner, name.declared)
        lines.append(f"{name.shown}={text},")
    return lines


def _shape_reader(
    path: tuple[str, ...], members: Sequence[q.Member], mine: QueryNames, names: PythonNames
) -> str:
    shape = f"{mine.type.shown}.{mine.shapes[path].shown}"
    lines = [f"def {_shape_function(path, mine)}(row: _t.Fields) -> {shape}:", f"    return {shape}("]
    lines += _indented(_member_arguments(members, path, mine, names, "row"), 8)
    return "\n".join([*lines, "    )"])


def _query_read(query: q.Query, names: PythonNames) -> list[str]:
    mine = names.queries[query.name]
    lines = [f"def __treadle_read__(self, page: _t.Page) -> {mine.outcome.shown}:"]
    if query.members:
        lines += ["    fields = page.fields"]
    lines += ["    match page.outcome:"]
    for outcome in query.outcomes:
        members = query.members if outcome == query.outcome else ()
        lines += [f'        case "{outcome}":']
        arguments = _member_arguments(members, (), mine, names, "fields")
        lines += _made(f"{mine.type.shown}.{mine.outcomes[outcome].shown}", arguments, "page=page")
    return [*lines, "        case _:", "            raise _t.unknown(page)"]
