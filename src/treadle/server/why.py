"""`GET /v1/why/{entity}/{key…}`, `GET /v1/why?run=…`: what stands in a row's way, or in a signed run's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from treadle.engine.state import State
from treadle.errors import InvalidInput, UnknownName
from treadle.model.values import parse_word
from treadle.registry import load
from treadle.server import openapi
from treadle.server.answers import Answer
from treadle.server.call import Call
from treadle.server.endpoint import Endpoint, Operation
from treadle.text import nearest, were_given

PREFIX: Final = "/v1/why/"


async def why(call: Call) -> Answer:
    """What stands in the way of the row that the path names: entity, then the key's values, in order.

    The values may stand in the query instead, as `key=…` each: in a path `.` and `..` mean something else.
    """
    asked = call.query(("unmasked", "key"))
    given = asked.get("unmasked", ["true"])
    if given not in (["true"], ["false"]):
        raise InvalidInput("write true or false", path="unmasked")
    entity, *words = _segments(call)
    if "key" in asked:
        words = [*words, *asked["key"]]

    def read(state: State) -> bytes:
        key = _key(state, entity, words)
        unmasked = given == ["true"] and state.roles.permits(call.caller, "admin")
        found = load("why").why(call.service.engine, call.caller, entity, key, unmasked=unmasked)
        return msgspec.json.encode(found.to_json())

    return Answer(200, await call.read(read))


def _segments(call: Call) -> list[str]:
    """The parts of the path as they were sent, so that a value may hold a slash (%2F)."""
    raw = call.scope.get("raw_path") or call.scope["path"].encode()
    text = raw.decode("ascii", "replace").partition("?")[0]
    at = text.find(PREFIX)
    return [unquote(part) for part in text[at + len(PREFIX) :].split("/")]


def _key(state: State, entity: str, words: list[str]) -> tuple[Any, ...]:
    contract = state.require().contract
    found = {one.name: one for one in contract.entities}
    if entity not in found:
        raise UnknownName(f"no such entity in contract {contract.name}{nearest(entity, found)}")
    fields = found[entity].key
    if len(words) != len(fields):
        names = "/".join(f"{{{field.name}}}" for field in fields)
        raise InvalidInput(f"write {PREFIX}{entity}/{names}; {were_given(len(words))}", path="key")
    return tuple(parse_word(field.type, word) for field, word in zip(fields, words, strict=True))


_TIME: Final = {"type": ["string", "null"], "format": "date-time"}
_TEXT: Final = {"type": "string"}
_MAYBE: Final = {"type": ["string", "null"]}
_FLAG: Final = {"type": "boolean"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


ANSWER: Final = _object(
    entity=_TEXT,
    key={"type": "array"},
    now={"type": "string", "format": "date-time"},
    commit={"type": "integer", "minimum": 0},
    exists=_FLAG,
    revision={"type": "integer", "minimum": 0},
    state=_MAYBE,
    lease={
        "anyOf": [
            _object(
                name=_TEXT,
                holder={"enum": ["nobody", "you", "another"]},
                expired=_FLAG,
                expires_at=_TIME,
                seconds={"type": "number", "minimum": 0},
                owner={},
                token={},
                attempts={"type": ["integer", "null"]},
                principal=_MAYBE,
                instance=_MAYBE,
                since=_TIME,
            ),
            {"type": "null"},
        ]
    },
    commands={
        "type": "array",
        "items": _object(
            command=_TEXT,
            binding=_TEXT,
            outcome=_TEXT,
            success=_FLAG,
            certain=_FLAG,
            until=_TIME,
            needs={"type": "array", "items": _TEXT},
            reason=_TEXT,
            remedy=_TEXT,
        ),
    },
    reasons={"type": "array", "items": _object(code=_TEXT, text=_TEXT, until=_TIME)},
    recent={
        "type": "array",
        "items": _object(
            commit={"type": "integer", "minimum": 1},
            time={"type": "string", "format": "date-time"},
            command=_TEXT,
            outcome=_TEXT,
            success=_FLAG,
            revision={"type": ["integer", "null"]},
            you=_FLAG,
            principal=_TEXT,
            instance=_MAYBE,
        ),
    },
)


def describe(about: openapi.Described) -> Iterator[Operation]:
    """One operation for each entity."""
    contract = about.contract
    if contract is None:
        return
    answer = openapi.json_response("What stands in its way.", ANSWER)
    for entity in contract.entities:
        parameters = [
            openapi.parameter(field.name, "path", _TEXT, f"Of the key: {field.type}.", required=True)
            for field in entity.key
        ]
        shown = {"type": "boolean", "default": True}
        text = "Owner and token of the lease as they are, for an admin."
        parameters.append(openapi.parameter("unmasked", "query", shown, text))
        path = f"{PREFIX}{entity.name}/" + "/".join(f"{{{field.name}}}" for field in entity.key)
        summary = f"What stands in the way of a row of {entity.name}."
        yield (
            path,
            openapi.operation(
                f"why{entity.name}", summary, "log", answer, parameters=parameters, also=(404,)
            ),
        )


PARAMETERS: Final = {"run": "The IRI of a signed run.", "graph": "The IRI of the graph that it is in."}


async def why_run(call: Call) -> Answer:
    """Where the signed run stands that the address names, who may sign its next steps, what was refused."""
    given = call.query(PARAMETERS)
    run, graph = given.get("run", []), given.get("graph", [])
    if len(run) != 1 or len(graph) > 1:
        raise InvalidInput("name one run, and at most one graph: /v1/why?run=IRI&graph=IRI", path="query")
    core = call.service.database.graph_core()

    def read(state: State) -> bytes:
        found = load("why.runs").why_run(core, call.caller, run[0], graph[0] if graph else None)
        return msgspec.json.encode(found.to_json())

    return Answer(200, await call.read(read, "read"))


def _list(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(**properties)}


RUN_ANSWER: Final = _object(
    run=_TEXT,
    graph=_MAYBE,
    enforced=_FLAG,
    plan=_TEXT,
    state=_MAYBE,
    revision=_MAYBE,
    finished=_FLAG,
    legal=_list(step=_TEXT, name=_TEXT, from_state=_TEXT, to_state=_TEXT),
    signers=_list(agent=_TEXT, iri=_MAYBE, public_key=_TEXT, registration=_TEXT),
    events=_list(
        event=_TEXT, step=_TEXT, from_state=_TEXT, to_state=_TEXT, revision=_MAYBE, at=_TEXT, agent=_TEXT
    ),
    refusals=_list(
        commit={"type": "integer", "minimum": 1},
        time={"type": "string", "format": "date-time"},
        reason=_TEXT,
        entity=_TEXT,
        field=_MAYBE,
        about_run=_FLAG,
        principal=_TEXT,
    ),
)


def describe_run(about: openapi.Described) -> Iterator[Operation]:
    """The question about a signed run."""
    parameters = [
        openapi.parameter(name, "query", {"type": "string"}, text, required=name == "run")
        for name, text in PARAMETERS.items()
    ]
    answer = openapi.json_response("Where it stands.", RUN_ANSWER)
    summary = "Where a signed run stands, and who may sign its next steps."
    operation = openapi.operation("whyRun", summary, "log", answer, parameters=parameters, also=(404,))
    yield "/v1/why", operation


ENDPOINTS = (
    Endpoint("GET", PREFIX + "{row:path}", why, "What stands in a row's way.", describe=describe),
    Endpoint("GET", "/v1/why", why_run, "Where a signed run stands.", "read", describe=describe_run),
)
