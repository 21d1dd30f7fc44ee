"""`POST /v1/commands/{name}`: one command, one answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from treadle.engine.receipt import Receipt
from treadle.errors import Malformed
from treadle.server import openapi
from treadle.server.answers import JSON, Answer, Headers
from treadle.server.call import LARGE, Call, preferences
from treadle.server.endpoint import Endpoint, Operation
from treadle.server.requests import header_key, key_input, request_of

APPLIED: Headers = ((b"preference-applied", b"integers=string"),)


async def run_command(call: Call) -> Answer:
    """Run the command that the path names; every declared outcome is a 200."""
    name = call.params["name"]
    preferred = preferences(call.headers.get(b"prefer", b""))
    timeout = wait_of(preferred, call.service.options.request_seconds)
    key = _key(call, name)
    body = await call.json()
    request = request_of(body, call.caller, call.trace, name, key)
    receipt = await call.service.run(request, timeout, large=call.held >= LARGE)
    return receipt_answer(receipt, preferred)


def _key(call: Call, command: str) -> tuple[str, str] | None:
    value = call.header(b"idempotency-key")
    if value is None:
        return None
    state = call.service.engine.state
    state.roles.check_command(call.caller, command)
    return key_input(state.require(), command), header_key(value)


def wait_of(preferred: dict[str, str], most: float) -> float:
    """How long to wait, in seconds: `Prefer: wait=N`, at most what the server allows."""
    wait = preferred.get("wait")
    if wait is None:
        return most
    if not wait.isdecimal() or len(wait) > 9:
        raise Malformed("Prefer: wait=N needs a whole number of seconds")
    return min(float(wait), most)


def receipt_answer(receipt: Receipt, preferred: dict[str, str]) -> Answer:
    """A receipt as the answer of a command."""
    strings = preferred.get("integers") == "string"
    body = msgspec.json.encode(receipt.to_json(integers_as_strings=strings))
    return Answer(200, body, JSON, APPLIED if strings else ())


def describe(described: openapi.Described) -> Iterator[Operation]:
    """One operation for each command that the caller may run."""
    for command in described.commands:
        operation: dict[str, Any] = {
            "operationId": f"run{command.name}",
            "summary": f"Run {command.name}",
            "tags": ["commands"],
            "parameters": openapi.command_parameters(command),
            "requestBody": openapi.json_body(openapi.request_schema(command)),
            "responses": {
                "200": openapi.json_response(
                    "A declared outcome: " + ", ".join(each.name for each in command.outcomes) + ".",
                    openapi.receipt_schema(command),
                ),
                **openapi.problems(*openapi.COMMAND_PROBLEMS),
            },
        }
        yield f"/v1/commands/{command.name}", operation


ENDPOINTS = (
    Endpoint("POST", "/v1/commands/{name}", run_command, "Run one command.", writes=True, describe=describe),
)
