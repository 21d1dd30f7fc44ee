"""Commands and queries as tools of the Model Context Protocol: what they are called, take, answer, hint at.

Plain values: the protocol itself is in `mcp_protocol`, who may use which tool is the roles' affair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from treadle.access.caller import Caller
from treadle.engine.state import State
from treadle.errors import UnknownName
from treadle.model import contract as c
from treadle.model import query as q
from treadle.plan import CommandPlan
from treadle.plan.json_schema import Schema, Schemas
from treadle.text import nearest

RESULT_BYTES: Final = 256 * 1024
"""What one result may hold: it goes into the context of whoever called."""
NAME: Final = 64
"""Characters of a tool's name; some callers take no more."""


class Tool(NamedTuple):
    """A command or a named query (`target`) as a tool. The hints are those of the protocol."""

    name: str
    kind: str
    target: str
    description: str
    input: Schema
    output: Schema
    read_only: bool
    destructive: bool
    idempotent: bool


def tools_of(state: State, commands: Iterable[str], queries: Iterable[str]) -> list[Tool]:
    """The tools for these commands and queries, in this order, under the deployed contract."""
    deployed = state.require()
    schemas = Schemas(deployed.contract)
    declared = {one.name: one for one in deployed.contract.commands}
    found = [_command(schemas, declared[name], deployed.command(name)) for name in commands]
    taken = {tool.name for tool in found}
    return found + [_query(schemas, state.queries.get(name), taken) for name in queries]


def tool_name(name: str, taken: Iterable[str] = ()) -> str:
    """What a command or query is called as a tool; a long name ends in a piece of its hash."""
    shown = name
    if len(name) > NAME:
        shown = f"{name[: NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"query_{shown}"[:NAME] if shown in taken else shown


def _command(schemas: Schemas, command: c.Command, plan: CommandPlan) -> Tool:
    success = command.success.name
    failures = [one.name for one in command.outcomes if not one.success]
    says = [f"Run the command {command.name}. It answers {success}."]
    if failures:
        says.append(f"Where it cannot, it writes nothing and answers {' or '.join(failures)}.")
    key = command.idempotency_key
    if key is not None:
        says.append(
            f"Give each new command a {key} of its own; the same again runs nothing and gets the same answer."
        )
    return Tool(
        name=tool_name(command.name),
        kind="command",
        target=command.name,
        description=" ".join(says),
        input=schemas.alone(f"{command.name} input", schemas.input(command)),
        output=_output(schemas, f"{command.name} receipt", schemas.receipt(command)),
        read_only=not plan.writes,
        destructive=any(one.kind == "delete" for one in _bindings(command)),
        idempotent=key is not None or not plan.writes,
    )


def _bindings(command: c.Command) -> Iterable[c.Binding]:
    yield from command.bindings
    if command.loop is not None:
        yield from command.loop.bindings


def _query(schemas: Schemas, query: q.Query, taken: set[str]) -> Tool:
    given = schemas.parameters(query)
    says = [
        f"Ask the named query {query.name}. It reads one snapshot, changes nothing, answers {query.outcome}."
    ]
    if query.failures:
        says.append(f"Without such a row it answers {' or '.join(query.failures)}.")
    if query.cursor is not None:
        given["properties"][query.cursor] = {
            "type": ["string", "null"],
            "description": "`next` of the page before, for the page after it.",
        }
        says.append(f"It answers a page; give its `next` as {query.cursor} for the one after it.")
    return Tool(
        name=tool_name(query.name, taken),
        kind="query",
        target=query.name,
        description=" ".join(says),
        input=schemas.alone(f"{query.name} parameters", given),
        output=_output(schemas, f"{query.name} page", schemas.page(query)),
        read_only=True,
        destructive=False,
        idempotent=True,
    )


_CUT: Final[Schema] = {
    "title": "too large to show",
    "type": "object",
    "properties": {"outcome": {"type": "string"}, "commit": {}, "too_large": {"const": True}},
    "required": ["outcome", "commit", "too_large"],
    "additionalProperties": False,
}


def _output(schemas: Schemas, title: str, schema: Schema) -> Schema:
    """An answer, or what is left of one that is too large; the protocol wants an object at the root."""
    return {"type": "object"} | schemas.alone(title, {"anyOf": [*schema["oneOf"], _CUT]})


def chosen(state: State, caller: Caller, tools: Iterable[Tool], name: str) -> Tool:
    """The tool of a name; raises `Denied` or `UnknownName` as running a command of that name would."""
    known = {tool.name: tool for tool in tools}
    if name not in known:
        state.roles.check_command(caller, name)
        raise UnknownName(f"there is no tool {name[:NAME]!r}{nearest(name, known)}")
    return known[name]


def allowed_tools(state: State, caller: Caller) -> list[Tool]:
    """The tools for what a caller may use."""
    commands = [one.name for one in state.require().contract.commands]
    return tools_of(
        state,
        state.roles.allowed(caller, commands, "commands"),
        state.roles.allowed(caller, sorted(state.queries.stored), "queries"),
    )


class Result(NamedTuple):
    """What a tool answered: the JSON text, and the same as values."""

    text: str
    value: dict[str, Any]


def result(shown: dict[str, Any]) -> Result:
    """A receipt or page, cut down where it is too large: a command was carried out all the same."""
    data = msgspec.json.encode(shown)
    if len(data) > RESULT_BYTES:
        shown = {"outcome": shown["outcome"], "commit": shown["commit"], "too_large": True}
        data = msgspec.json.encode(shown)
    return Result(data.decode(), shown)
