"""The OpenAPI 3.1 document: of the deployed contract, and of as much of it as the caller may use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from treadle.errors import CODES, RETRY
from treadle.limits import KEY_BYTES
from treadle.model.contract import Command, Contract
from treadle.model.types import String
from treadle.server.described import Described as Described
from treadle.server.endpoint import OPEN, Endpoint
from treadle.server.problems import MEDIA as PROBLEM
from treadle.server.schemas import Schema, Schemas
from treadle.version import __version__

JSON: Final = "application/json"
COMMAND_PROBLEMS: Final = (400, 401, 403, 404, 406, 408, 409, 410, 413, 415, 422, 500, 503, 504)
EVERY: Final = (400, 401, 403, 406, 422, 500, 503)
PREFER: Final = "`integers=string` gives u64 and i64 as text; `wait=SECONDS` bounds the time for an answer."
ABOUT: Final = (
    "Every declared outcome of a command is a 200. Everything else is a problem document with a stable "
    "`code` and a `recovery`."
)
LINE_IN: Final = (
    'JSON Lines: each line {"command": NAME, "input": {…}}, and where wished "history" and "contract". '
    "Every line is for itself."
)
LINE_OUT: Final = "JSON Lines: for each line that is not empty, in order, a receipt or a problem document."

WORDS: Final[dict[int, str]] = {
    400: "The request cannot be read.",
    401: "No token, or one that is not valid.",
    403: "The caller may not do this, or may not call from where it does.",
    404: "Nothing of that name.",
    406: "Accept rules out what this address gives.",
    408: "The body did not come in time; nothing was done.",
    409: "A terminal failure, which is recorded; or the caller relies on another contract or history.",
    410: "The idempotency key was executed, and its receipt has been pruned.",
    412: "The graph is not at the version that If-Match or If-None-Match asks for; nothing was done.",
    413: "Larger than the server takes.",
    415: "The body is of another type.",
    422: "A value is not of the declared type (`path` says which), or the key was used for another input.",
    500: "An error of the server's.",
    503: "Nothing happened: too much at once, or the store cannot be used.",
    504: "The outcome is unknown: repeat the same key.",
}


def document(described: Described, endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The OpenAPI document of these endpoints."""
    contract = described.contract
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        if endpoint.describe is not None:
            for path, operation in endpoint.describe(described):
                secured = dict(operation) | ({"security": []} if endpoint.access == OPEN else {})
                paths.setdefault(path, {})[endpoint.method.lower()] = secured
    schemas = Schemas(contract).components() if contract is not None else {}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": contract.name if contract is not None else "Treadle",
            "version": str(contract.version) if contract is not None else "0",
            "summary": "A workflow database.",
            "description": ABOUT,
            "x-treadle-version": __version__,
            **({"x-treadle-identity": contract.identity} if contract is not None else {}),
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas | COMMON_SCHEMAS,
            "responses": {f"Problem{status}": _problem(status) for status in WORDS},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


COMMON_SCHEMAS: Final[dict[str, Schema]] = {
    "treadle.Problem": {
        "type": "object",
        "description": "RFC 9457, with a stable code and what to do.",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "code": {"type": "string", "enum": sorted(CODES)},
            "detail": {"type": "string"},
            "recovery": {"type": "string", "enum": sorted({code.recovery for code in CODES.values()})},
            "path": {"type": "string"},
            "trace_id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        },
        "required": ["type", "title", "status", "code", "detail", "recovery", "trace_id"],
    },
    "treadle.Revision": {
        "type": "object",
        "properties": {
            "binding": {"type": "string"},
            "revision": {"type": ["integer", "string"]},
            "element": {"type": "integer"},
        },
        "required": ["binding", "revision"],
    },
}


def _problem(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/treadle.Problem"}
    found: dict[str, Any] = {"description": WORDS[status], "content": {PROBLEM: {"schema": schema}}}
    if any(code.status == status and code.recovery == RETRY for code in CODES.values()):
        found["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    return found


def problems(*statuses: int) -> dict[str, Any]:
    """The responses of these statuses, which are problem documents."""
    return {str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in statuses}


def operation(
    name: str,
    summary: str,
    tag: str,
    answer: Mapping[str, Any],
    *,
    parameters: Sequence[Mapping[str, Any]] = (),
    also: Sequence[int] = (),
) -> dict[str, Any]:
    """An operation that reads: its one success, and the problems that every route may have, and `also`."""
    return {
        "operationId": name,
        "summary": summary,
        "tags": [tag],
        **({"parameters": list(parameters)} if parameters else {}),
        "responses": {"200": dict(answer), **problems(*sorted({*EVERY, *also}))},
    }


def parameter(name: str, place: str, schema: Schema, text: str, *, required: bool = False) -> dict[str, Any]:
    """A parameter of the query, the path or a header."""
    return {"name": name, "in": place, "required": required, "schema": schema, "description": text}


def json_body(schema: Schema) -> dict[str, Any]:
    """A JSON body that must be there."""
    return {"required": True, "content": {JSON: {"schema": schema}}}


def json_response(text: str, schema: Schema, media: str = JSON) -> dict[str, Any]:
    """A successful answer."""
    return {"description": text, "content": {media: {"schema": schema}}}


# Commands.


def command_parameters(command: Command) -> list[dict[str, Any]]:
    """What a command takes besides its body."""
    found = [parameter("Prefer", "header", {"type": "string"}, PREFER)]
    key = next((field for field in command.inputs if field.name == command.idempotency_key), None)
    if key is not None and isinstance(key.type, String):
        schema = {"type": "string", "minLength": 1, "maxLength": KEY_BYTES, "pattern": "^[ -~]+$"}
        text = f"Taken as the input {key.name} where the body has none."
        found.append(parameter("Idempotency-Key", "header", schema, text))
    return found


def request_schema(command: Command) -> Schema:
    """The body of a command. Its key may stand in the header instead, so it is not required."""
    given = _SCHEMAS.object(command.inputs, out=False)
    key = command.idempotency_key
    if key is not None:
        if given["properties"][key].get("type") == "string":
            given["properties"][key] |= {"minLength": 1}
            given["required"].remove(key)
        given["description"] = f"{key} is the idempotency key; it may stand in the header Idempotency-Key."
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "input": given,
            "history": {"type": ["string", "null"], "description": "The history incarnation relied on."},
            "contract": {"type": ["string", "null"], "description": "The contract's identity relied on."},
        },
        "required": ["input"],
    }


def receipt_schema(command: Command) -> Schema:
    """The receipt of a command: one form for each declared outcome."""
    common = {
        "workflow_revisions": {"type": "array", "items": {"$ref": "#/components/schemas/treadle.Revision"}},
        "commit": {"type": "integer", "minimum": 0},
        "time": {"type": "string", "format": "date-time"},
        "history": {"type": "string"},
        "replayed": {"type": "boolean"},
    }
    forms = []
    for outcome in command.outcomes:
        properties = {
            "outcome": {"const": outcome.name},
            "fields": _SCHEMAS.object(outcome.fields, out=True),
            **common,
        }
        forms.append(
            {
                "type": "object",
                "title": f"{command.name}{outcome.name}",
                "additionalProperties": False,
                "properties": properties,
                "required": list(properties),
            }
        )
    return {"oneOf": forms}


_SCHEMAS: Final = Schemas(Contract("", 0, ""))
"""Only references to components are made with it, and those need no contract."""
