"""`GET` and `PUT /v1/contract`: what is deployed, and deploying."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from treadle.access import roles as access_roles
from treadle.engine import state as states
from treadle.engine.deployment import DeployJob, Proposal
from treadle.engine.evolving import looked_at
from treadle.engine.state import State
from treadle.errors import ConfigError, InvalidInput
from treadle.server import openapi
from treadle.server.answers import Answer, json_answer
from treadle.server.call import Call
from treadle.server.endpoint import Endpoint, Operation
from treadle.text import nearest

MEMBERS: Final = ("source", "expected_version", "queries", "roles")


async def contract(call: Call) -> Answer:
    """Name, version and identity of the deployed contract, and the commands and queries that the caller may
    use. The source text is added for callers with the `audit` permission."""

    def read(state: State) -> bytes:
        return msgspec.json.encode(_shown(call, state))

    return Answer(200, await call.read(read))


def _shown(call: Call, state: State) -> dict[str, Any]:
    deployed, roles, caller = state.require(), state.roles, call.caller
    found = deployed.contract
    body: dict[str, Any] = {
        "name": found.name,
        "version": found.version,
        "identity": found.identity,
        "history": state.history,
        "commands": roles.allowed(caller, [one.name for one in found.commands], "commands"),
        "queries": roles.allowed(caller, sorted(state.queries.stored), "queries"),
    }
    if roles.permits(caller, "audit"):
        with call.service.engine.store.read() as tx:
            source = tx.setting(states.SOURCE + found.identity)
        body["source"] = source.decode() if source is not None else None
    return body


async def deploy(call: Call) -> Answer:
    """Deploy a contract, and where given the named queries and the roles that replace the deployed ones.

    `expected_version` must be the active version, 0 for none. What is wrong with a text comes back as
    `diagnostics` in the problem document.
    """
    body = await call.json()
    for name in body:
        if name not in MEMBERS:
            raise InvalidInput(f"there is no member {name[:64]!r}{nearest(name, MEMBERS)}", path="body")
    source, expected = body.get("source"), body.get("expected_version")
    if not isinstance(source, str):
        raise InvalidInput("must be the contract's text", path="source")
    if not isinstance(expected, int) or isinstance(expected, bool) or expected < 0:
        raise InvalidInput("must be the version that is active now, 0 for none", path="expected_version")
    queries, roles = _queries(body.get("queries")), _roles(body.get("roles"))

    def propose(state: State) -> tuple[int, Proposal]:
        before = state.deployed.version if state.deployed is not None else 0
        proposal = call.service.database._proposal(source, expected, queries, roles, call.caller)
        return before, looked_at(call.service.engine, proposal._replace(request_id=call.trace))

    before, proposal = await call.read(propose, "admin")
    version = (await call.service.submit([DeployJob(proposal)]))[0]
    if isinstance(version, BaseException):
        raise version
    wanted = proposal.contract
    return json_answer(
        {
            "name": wanted.name if wanted is not None else "",
            "version": version,
            "before": before,
            "identity": wanted.identity if wanted is not None else "",
        }
    )


def _queries(given: Any) -> list[str] | None:
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise InvalidInput("must be a list of texts with named queries", path="queries")
    return given


def _roles(given: Any) -> tuple[access_roles.Role, ...] | None:
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(table, dict) for table in given):
        raise InvalidInput("must be a list of objects, as the [[roles]] tables of treadle.toml", path="roles")
    try:
        return tuple(access_roles.read(given))
    except ConfigError as error:
        raise InvalidInput(error.message, path="roles") from error


_HEX: Final = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_NAMES: Final = {"type": "array", "items": {"type": "string"}}


def describe_get(about: openapi.Described) -> Iterator[Operation]:
    """What is deployed."""
    properties: dict[str, Any] = {
        "name": {"type": "string"},
        "version": {"type": "integer"},
        "identity": _HEX,
        "history": {"type": "string"},
        "commands": _NAMES,
        "queries": _NAMES,
        "source": {"type": ["string", "null"]},
    }
    schema = {"type": "object", "properties": properties, "required": [*properties][:-1]}
    answer = openapi.json_response("The deployed contract.", schema)
    summary = "The deployed contract, and what of it the caller may use."
    yield "/v1/contract", openapi.operation("contract", summary, "contract", answer, also=(404,))


def describe_put(about: openapi.Described) -> Iterator[Operation]:
    """Deploying, for those who may."""
    if not about.state.roles.permits(about.caller, "admin"):
        return
    wanted = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "source": {"type": "string"},
            "expected_version": {"type": "integer", "minimum": 0},
            "queries": {"anyOf": [_NAMES, {"type": "null"}]},
            "roles": {"anyOf": [{"type": "array", "items": {"type": "object"}}, {"type": "null"}]},
        },
        "required": ["source", "expected_version"],
    }
    number = {"type": "integer", "minimum": 0}
    made = {"name": {"type": "string"}, "version": number, "before": number, "identity": _HEX}
    schema = {"type": "object", "properties": made, "required": list(made)}
    answer = openapi.json_response("What is active now.", schema)
    operation = openapi.operation(
        "deploy", "Deploy a contract.", "contract", answer, also=(408, 409, 413, 415)
    )
    operation["requestBody"] = openapi.json_body(wanted)
    yield "/v1/contract", operation


ENDPOINTS = (
    Endpoint("GET", "/v1/contract", contract, "The deployed contract.", describe=describe_get),
    Endpoint(
        "PUT", "/v1/contract", deploy, "Deploy a contract.", "admin", writes=True, describe=describe_put
    ),
)
