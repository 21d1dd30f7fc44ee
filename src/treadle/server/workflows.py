"""`GET /v1/workflows` and `/v1/workflows/{name}`: states, transitions, the lease, and who performs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from treadle.access.caller import Caller
from treadle.engine.state import State
from treadle.errors import UnknownName
from treadle.model import contract as c
from treadle.server import openapi
from treadle.server.answers import Answer, text_answer
from treadle.server.call import Call, accepts
from treadle.server.endpoint import Endpoint, Operation
from treadle.server.performing import performers
from treadle.text import nearest

MERMAID: Final = "text/vnd.mermaid"


async def workflows(call: Call) -> Answer:
    """The names of the deployed workflows."""

    def read(state: State) -> bytes:
        contract = state.require().contract
        found = [{"name": one.name, "entity": one.entity} for one in contract.workflows]
        return msgspec.json.encode({"workflows": found})

    return Answer(200, await call.read(read))


async def workflow(call: Call) -> Answer:
    """One workflow as JSON, or as a Mermaid state diagram where that is what the caller accepts."""
    name = call.params["name"]

    def read(state: State) -> dict[str, Any]:
        contract = state.require().contract
        known = {one.name: one for one in contract.workflows}
        if name not in known:
            raise UnknownName(f"no such workflow in contract {contract.name}{nearest(name, known)}")
        return described(contract, known[name], state, call.caller)

    accept = call.headers.get(b"accept", b"*/*")
    if accepts(accept, MERMAID) and not accepts(accept, "application/json"):
        return text_answer(mermaid(await call.read(read)), MERMAID)
    call.check_accept("application/json")
    return Answer(200, msgspec.json.encode(await call.read(read)))


def described(contract: c.Contract, workflow: c.Workflow, state: State, caller: Caller) -> dict[str, Any]:
    """A workflow as JSON-ready values; of the commands those that the caller may run."""
    entity = next(one for one in contract.entities if one.name == workflow.entity)
    kind: Any = next(field.type for field in entity.members if field.name == workflow.state)
    variants = next(enum.variants for enum in contract.enums if enum.name == kind.name)
    allowed = set(state.roles.allowed(caller, [one.name for one in contract.commands], "commands"))
    done = performers(contract, workflow.name)
    body: dict[str, Any] = {
        "name": workflow.name,
        "entity": workflow.entity,
        "key": [field.name for field in entity.key],
        "field": workflow.state,
        "states": list(variants),
        "initial": workflow.initial,
        "transitions": [
            {
                "name": one.name,
                "from": list(one.sources),
                "to": one.destination,
                "commands": [name for name in done.get(one.name, ()) if name in allowed],
            }
            for one in workflow.transitions
        ],
        "lease": None,
    }
    lease = workflow.lease
    if lease is not None:
        operations = {
            op: [name for name in done.get(f"lease {op}", ()) if name in allowed]
            for op in ("claim", "renew", "release", "expire", "fence")
        }
        seconds = [lease.minimum, lease.maximum]
        body["lease"] = {"name": lease.name, "seconds": seconds, "commands": operations}
    return body


def mermaid(workflow: dict[str, Any]) -> str:
    """The state diagram as Mermaid text; names of the language need no escaping in it."""
    lines = ["stateDiagram-v2"]
    if workflow["initial"] is not None:
        lines.append(f"  [*] --> {workflow['initial']}")
    for one in workflow["transitions"]:
        lines += [f"  {source} --> {one['to']}: {one['name']}" for source in one["from"]]
    return "\n".join(lines) + "\n"


_NAME: Final = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}


def describe_all(about: openapi.Described) -> Iterator[Operation]:
    """The list."""
    item = {"type": "object", "properties": {"name": _NAME, "entity": _NAME}, "required": ["name", "entity"]}
    schema = {"type": "object", "properties": {"workflows": {"type": "array", "items": item}}}
    answer = openapi.json_response("The workflows.", schema)
    summary = "The names of the deployed workflows."
    yield "/v1/workflows", openapi.operation("workflows", summary, "contract", answer, also=(404,))


def describe_one(about: openapi.Described) -> Iterator[Operation]:
    """One of them."""
    schema = {
        "type": "object",
        "properties": {
            "name": _NAME,
            "entity": _NAME,
            "states": {"type": "array", "items": _NAME},
            "transitions": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["name", "entity", "states", "initial", "transitions", "lease"],
    }
    answer = openapi.json_response("The workflow.", schema)
    answer["content"][MERMAID] = {"schema": {"type": "string"}}
    parameters = [openapi.parameter("name", "path", _NAME, "The workflow's name.", required=True)]
    summary = "States, transitions and the lease of a workflow."
    operation = openapi.operation("workflow", summary, "contract", answer, parameters=parameters, also=(404,))
    yield "/v1/workflows/{name}", operation


ENDPOINTS = (
    Endpoint("GET", "/v1/workflows", workflows, "The deployed workflows.", describe=describe_all),
    Endpoint("GET", "/v1/workflows/{name}", workflow, "One workflow.", produces="", describe=describe_one),
)
