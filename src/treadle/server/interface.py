"""`GET /v1/contract/interface`: the types, commands and queries that a caller may use, for its client."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.client import interface as interfaces
from treadle.engine.state import State
from treadle.server import openapi
from treadle.server.answers import Answer
from treadle.server.call import Call
from treadle.server.endpoint import Endpoint, Operation


async def interface(call: Call) -> Answer:
    """The contract without its rules, of it what the caller may use, in the form that a database keeps."""

    def read(state: State) -> bytes:
        contract, caller, roles = state.require().contract, call.caller, state.roles
        queries = roles.allowed(caller, sorted(state.queries.stored), "queries")
        found = interfaces.interface_of(
            contract,
            [state.queries.get(name) for name in queries],
            commands=roles.allowed(caller, [one.name for one in contract.commands], "commands"),
            events=roles.allowed(caller, [one.name for one in contract.events], "streams"),
        )
        return interfaces.encode(found)

    return Answer(200, await call.read(read))


def describe(about: openapi.Described) -> Iterator[Operation]:
    """The interface; its inside is for the clients of the same release."""
    schema = {
        "type": "object",
        "properties": {
            "contract": {"type": "object", "required": ["name", "version", "identity"]},
            "queries": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["contract", "queries"],
    }
    answer = openapi.json_response("The interface.", schema)
    summary = "The types, commands and queries that the caller may use, as clients read them."
    yield (
        "/v1/contract/interface",
        openapi.operation("interface", summary, "contract", answer, also=(404,)),
    )


ENDPOINTS = (
    Endpoint("GET", "/v1/contract/interface", interface, "What a client has to know.", describe=describe),
)
