"""`POST /v1/queries/{name}`: a page of a named query, from one snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from treadle import queries
from treadle.errors import InvalidInput
from treadle.model import query as q
from treadle.model import types as t
from treadle.server import openapi
from treadle.server.answers import JSON, Answer
from treadle.server.call import Call, preferences
from treadle.server.commands import APPLIED, wait_of
from treadle.server.endpoint import Endpoint, Operation
from treadle.server.requests import text
from treadle.server.schemas import Schema, Schemas
from treadle.text import nearest

PAUSE: Final = 0.005
LONGEST_PAUSE: Final = 0.2
"""Seconds between two looks for a commit that a query waits for."""
MEMBERS: Final = ("parameters", "after", "at_least", "history", "contract", "query")


async def run_query(call: Call) -> Answer:
    """A page of the query that the path names."""
    preferred = preferences(call.headers.get(b"prefer", b""))
    timeout = wait_of(preferred, call.service.options.request_seconds)
    body = await call.json()
    for name in body:
        if name not in MEMBERS:
            raise InvalidInput(f"there is no member {name[:64]!r}{nearest(name, MEMBERS)}", path="body")
    parameters = body.get("parameters")
    if parameters is not None and not isinstance(parameters, dict):
        raise InvalidInput("must be an object with the query's parameters", path="parameters")
    asked = queries.Call(
        call.params["name"],
        parameters or {},
        call.caller,
        text(body, "after"),
        body.get("at_least"),
        text(body, "history"),
        timeout,
        text(body, "contract"),
        text(body, "query"),
    )
    strings = preferred.get("integers") == "string"
    asked = asked._replace(timeout=await _waited(call, asked, timeout))

    def run() -> bytes:
        page = queries.run(call.service.engine, asked)
        return msgspec.json.encode(page.to_json(integers_as_strings=strings))

    return Answer(200, await call.service.query_thread(run), JSON, APPLIED if strings else ())


async def _waited(call: Call, asked: queries.Call, timeout: float) -> float:
    """Wait for the commit that a query must see, without holding a thread; returns the time that is left."""
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout
    pause = PAUSE
    while asked.at_least is not None and loop.time() < until:
        if await call.service.query_thread(lambda: queries.ready(call.service.engine, asked.at_least)):
            break
        await asyncio.sleep(min(pause, max(0.0, until - loop.time())))
        pause = min(2 * pause, LONGEST_PAUSE)
    return max(0.0, until - loop.time())


def describe(about: openapi.Described) -> Iterator[Operation]:
    """One operation for each query that the caller may run."""
    contract = about.contract
    if contract is None:
        return
    schemas = Schemas(contract)
    for name in about.state.roles.allowed(about.caller, sorted(about.state.queries.stored), "queries"):
        query = about.state.queries.get(name)
        yield (
            f"/v1/queries/{name}",
            {
                "operationId": f"query{name}",
                "summary": f"Run the query {name}",
                "tags": ["queries"],
                "parameters": [openapi.parameter("Prefer", "header", {"type": "string"}, openapi.PREFER)],
                "requestBody": openapi.json_body(_request(schemas, query)),
                "responses": {
                    "200": openapi.json_response("A page.", _page(schemas, query)),
                    **openapi.problems(400, 401, 403, 404, 406, 408, 409, 413, 415, 422, 500, 503),
                },
            },
        )


def _request(schemas: Schemas, query: q.Query) -> Schema:
    properties: dict[str, Any] = {
        "parameters": schemas.object(query.parameters, out=False),
        "at_least": {"type": ["integer", "null"], "minimum": 0, "description": "A commit to be seen."},
        "history": {"type": ["string", "null"], "description": "The history incarnation relied on."},
        "contract": {"type": ["string", "null"], "description": "The identity of the contract relied on."},
        "query": {"type": ["string", "null"], "description": "The identity of the query relied on."},
    }
    if query.cursor is not None:
        properties["after"] = {"type": ["string", "null"], "description": "`next` of the page before."}
    required = ["parameters"] if properties["parameters"]["required"] else []
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": required}


def _page(schemas: Schemas, query: q.Query) -> Schema:
    number = schemas.schema(t.U64_, out=True)
    common: dict[str, Any] = {
        "next": {"type": ["string", "null"]},
        "commit": number,
        "after_commit": {"anyOf": [number, {"type": "null"}]},
        "history": {"type": "string"},
    }
    forms = []
    for outcome in query.outcomes:
        fields = _record(schemas, query.members) if outcome == query.outcome else _record(schemas, ())
        properties = {"outcome": {"const": outcome}, "fields": fields, **common}
        forms.append({"type": "object", "properties": properties, "required": list(properties)})
    return {"oneOf": forms}


def _record(schemas: Schemas, members: tuple[q.Member, ...]) -> Schema:
    properties = {member.name: _value(schemas, member.value) for member in members}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": list(properties),
    }


def _value(schemas: Schemas, result: q.Result) -> Schema:
    if not isinstance(result, q.ShapeResult):
        return {"anyOf": [schemas.schema(t.required(result.type), out=True), {"type": "null"}]}
    record = _record(schemas, result.members)
    if result.kind == "many":
        return {"type": "array", "items": record}
    return {"anyOf": [record, {"type": "null"}]}


ENDPOINTS = (Endpoint("POST", "/v1/queries/{name}", run_query, "Run a named query.", describe=describe),)
