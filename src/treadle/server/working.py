"""What workers ask for besides commands and queries: a contract's bones, and what keys were answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from treadle.client import skeleton as skeletons
from treadle.client.skeleton import Skeleton
from treadle.engine.recall import recall
from treadle.engine.receipt import Receipt
from treadle.engine.state import State
from treadle.errors import InvalidInput
from treadle.limits import KEY_BYTES
from treadle.server import openapi, problems
from treadle.server.answers import Answer
from treadle.server.call import Call
from treadle.server.endpoint import Endpoint, Operation
from treadle.text import nearest

KEYS: Final = 64


async def skeleton(call: Call) -> Answer:
    """Which commands of the caller's do what to a lease, and the named queries and events that it may use."""

    def read(state: State) -> bytes:
        contract, caller, roles = state.require().contract, call.caller, state.roles
        names = roles.allowed(caller, sorted(state.queries.stored), "queries")
        named = [state.queries.get(name) for name in names]
        bones, queries = skeletons.skeleton_of(
            contract,
            named,
            commands=roles.allowed(caller, [one.name for one in contract.commands], "commands"),
            events=roles.allowed(caller, [one.name for one in contract.events], "streams"),
        )
        engine = call.service.engine
        with engine.store.read() as tx:
            now = max(engine.clock.now(), tx.head().time)
        return skeletons.encode(Skeleton(bones, queries, state.history, now))

    return Answer(200, await call.read(read))


async def receipts(call: Call) -> Answer:
    """What the caller's keys were answered for a command; null for a key that is free. Runs nothing.

    A receipt has an `ok` besides: whether its outcome was the success of the command as it was then.
    """
    body = await call.json()
    for name in body:
        if name != "keys":
            raise InvalidInput(f"there is no member {name[:64]!r}{nearest(name, ['keys'])}", path="body")
    keys = body.get("keys")
    listed = isinstance(keys, list) and 0 < len(keys) <= KEYS
    if keys is None or not listed or not all(isinstance(one, str) for one in keys):
        raise InvalidInput(f"must be a list of 1 to {KEYS} idempotency keys", path="keys")

    def read() -> bytes:
        found = recall(call.service.engine, call.caller, call.params["command"], keys)
        return msgspec.json.encode({"receipts": list(map(_shown, found))})

    return Answer(200, await call.service.thread(read))


def _shown(answer: Any) -> Any:
    if isinstance(answer, Receipt):
        return answer.to_json() | {"ok": answer.ok}  # the contract that says so may be an old one
    return None if answer is None else problems.problem(answer)


def describe_skeleton(about: openapi.Described) -> Iterator[Operation]:
    """The bones; their inside is for the workers of the same release."""
    schema = {
        "type": "object",
        "properties": {
            "contract": {"type": "object", "required": ["name", "version", "identity"]},
            "queries": {"type": "array", "items": {"type": "object"}},
            "history": {"type": "string"},
            "time": {"type": "integer"},
        },
        "required": ["contract", "queries", "history", "time"],
    }
    answer = openapi.json_response("The bones of the contract.", schema)
    summary = "What workers have to know of the contract."
    yield "/v1/contract/skeleton", openapi.operation("skeleton", summary, "contract", answer, also=(404,))


def describe_receipts(about: openapi.Described) -> Iterator[Operation]:
    """Looking up keys."""
    key = {"type": "string", "minLength": 1, "maxLength": KEY_BYTES, "pattern": "^[ -~]+$"}
    keys = {"type": "array", "minItems": 1, "maxItems": KEYS, "items": key}
    body = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"keys": keys},
        "required": ["keys"],
    }
    found = {"type": "array", "items": {"type": ["object", "null"]}}
    schema = {"type": "object", "properties": {"receipts": found}, "required": ["receipts"]}
    named = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
    summary = "What idempotency keys were answered, without running anything."
    yield (
        "/v1/receipts/{command}",
        {
            "operationId": "receipts",
            "summary": summary,
            "tags": ["commands"],
            "parameters": [openapi.parameter("command", "path", named, "A command.", required=True)],
            "requestBody": openapi.json_body(body),
            "responses": {
                "200": openapi.json_response("One entry for each key, in order.", schema),
                **openapi.problems(400, 401, 403, 404, 406, 408, 413, 415, 422, 500, 503),
            },
        },
    )


ENDPOINTS = (
    Endpoint("GET", "/v1/contract/skeleton", skeleton, "What workers need.", describe=describe_skeleton),
    Endpoint("POST", "/v1/receipts/{command}", receipts, "Look up receipts.", describe=describe_receipts),
)
