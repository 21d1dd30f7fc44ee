"""What OpenAPI says of `/v1/streams`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from treadle.server import openapi
from treadle.server.endpoint import Operation
from treadle.server.schemas import Schema
from treadle.streams.consumer import TOKENS

EVENTS: Final = "text/event-stream"
_EVENT: Final[Schema] = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
_CONSUMER: Final[Schema] = {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$"}
_PARTITION: Final[Schema] = {
    "description": "The values of the event's partition fields, by name or in order; null for all.",
    "type": ["object", "array", "null"],
}
_TOKENS: Final[Schema] = {
    "type": "array",
    "minItems": 1,
    "maxItems": TOKENS,
    "items": {"type": "string", "pattern": "^[0-9a-f]{1,64}\\.[0-9]{1,20}:[A-Za-z0-9_-]{38}$"},
}
_SETTLED: Final[Schema] = {
    "type": "object",
    "properties": {"answers": {"type": "array", "items": {"enum": ["done", "already", "stale"]}}},
    "required": ["answers"],
}
_ALSO: Final = (400, 401, 403, 404, 406, 408, 409, 413, 415, 422, 500, 503, 504)


def _about(*names: str) -> list[dict[str, Any]]:
    known = {"event": (_EVENT, "An event of the contract."), "consumer": (_CONSUMER, "The consumer's name.")}
    return [openapi.parameter(name, "path", *known[name], required=True) for name in names]


def _writes(path: str, name: str, summary: str, body: Schema, answer: Schema) -> Operation:
    return (
        path,
        {
            "operationId": name,
            "summary": summary,
            "tags": ["streams"],
            "parameters": _about("event", "consumer"),
            "requestBody": openapi.json_body(body),
            "responses": {"200": openapi.json_response(summary, answer), **openapi.problems(*_ALSO)},
        },
    )


def _object(properties: Mapping[str, Any], *required: str) -> Schema:
    known = dict(properties)
    return {"type": "object", "additionalProperties": False, "properties": known, "required": list(required)}


_NUMBER: Final[Schema] = {"type": "integer"}
_DELIVERY: Final[Schema] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": _EVENT,
        "partition": {"type": "object"},
        "fields": {"type": "object"},
        "commit": _NUMBER,
        "time": {"type": "string", "format": "date-time"},
        "cursor": {"type": "string"},
        "token": {"type": "string"},
        "attempt": _NUMBER,
        "fence": _NUMBER,
        "until": {"type": "string", "format": "date-time"},
    },
    "required": [
        "id",
        "event",
        "partition",
        "fields",
        "commit",
        "time",
        "cursor",
        "token",
        "attempt",
        "until",
    ],
}
PREFIX: Final = "/v1/streams/{event}/{consumer}"


def pull(about: openapi.Described) -> Iterator[Operation]:
    """Pulling."""
    body = _object(
        {
            "partition": _PARTITION,
            "limit": {"type": "integer", "minimum": 1, "maximum": 64, "default": 64},
            "lease": {"type": "integer", "minimum": 5, "maximum": 900, "default": 60},
            "wait": {"type": "number", "minimum": 0, "maximum": 30, "default": 0},
            "strict": {"type": "boolean", "default": False},
            "contracts": {"type": "boolean", "default": False},
            "start": {"anyOf": [{"enum": ["oldest", "newest"]}, {"type": "integer", "minimum": 0}]},
        }
    )
    answer = _object({"deliveries": {"type": "array", "items": _DELIVERY}, "history": {"type": "string"}})
    yield _writes(f"{PREFIX}:pull", "pullEvents", "The next events for a consumer.", body, answer)


def ack(about: openapi.Described) -> Iterator[Operation]:
    """Settling."""
    body = _object({"tokens": _TOKENS, "partition": _PARTITION}, "tokens")
    yield _writes(f"{PREFIX}:ack", "ackEvents", "Settle deliveries for good.", body, _SETTLED)


def nack(about: openapi.Described) -> Iterator[Operation]:
    """Giving back."""
    more = {
        "delay": {"type": "integer", "minimum": 0, "maximum": 3600, "default": 0},
        "reason": {"type": "string"},
        "failed": {"type": "boolean", "default": True},
    }
    body = _object({"tokens": _TOKENS, "partition": _PARTITION, **more}, "tokens")
    yield _writes(f"{PREFIX}:nack", "nackEvents", "Give deliveries back.", body, _SETTLED)


def extend(about: openapi.Described) -> Iterator[Operation]:
    """Holding on."""
    lease = {"type": "integer", "minimum": 5, "maximum": 900, "default": 60}
    body = _object({"tokens": _TOKENS, "partition": _PARTITION, "lease": lease}, "tokens")
    yield _writes(f"{PREFIX}:extend", "extendEvents", "Hold deliveries for longer.", body, _SETTLED)


_LETTERS: Final[Schema] = {
    "type": "object",
    "properties": {"events": {"type": "array", "items": {"type": "string"}}, "dry_run": {"type": "boolean"}},
    "required": ["events", "dry_run"],
}
_ABOUT_LETTERS: Final = {
    "partition": _PARTITION,
    "ids": {"type": ["array", "null"], "items": {"type": "string", "pattern": "^[0-9]{1,20}:[0-9]{1,10}$"}},
    "dry_run": {"type": "boolean", "default": False},
}


def replay(about: openapi.Described) -> Iterator[Operation]:
    """Dead letters once more."""
    summary = "Give dead letters to their consumer again."
    yield _writes(f"{PREFIX}:replay", "replayEvents", summary, _object(_ABOUT_LETTERS), _LETTERS)


def drop(about: openapi.Described) -> Iterator[Operation]:
    """Dead letters never more."""
    summary = "Give dead letters up for good."
    yield _writes(f"{PREFIX}:drop", "dropEvents", summary, _object(_ABOUT_LETTERS), _LETTERS)


def consumers(about: openapi.Described) -> Iterator[Operation]:
    """The list."""
    schema = {"type": "object", "properties": {"consumers": {"type": "array", "items": {"type": "object"}}}}
    answer = openapi.json_response("The consumers.", schema)
    summary = "The consumers of the streams that the caller may consume."
    yield "/v1/streams", openapi.operation("consumers", summary, "streams", answer, also=(404,))


_IN_ADDRESS: Final[Schema] = {"type": "string"}


def dead_letters(about: openapi.Described) -> Iterator[Operation]:
    """The list."""
    schema = {
        "type": "object",
        "properties": {"dead_letters": {"type": "array", "items": {"type": "object"}}},
    }
    answer = openapi.json_response("The dead letters.", schema)
    parameters = [
        *_about("event", "consumer"),
        openapi.parameter("partition", "query", _IN_ADDRESS, "The partition as JSON."),
        openapi.parameter("after", "query", _IN_ADDRESS, "The id of the last one of the page before."),
        openapi.parameter("limit", "query", {"type": "integer", "minimum": 1, "maximum": 1000}, "At most."),
    ]
    summary = "Events that a consumer gave up."
    operation = openapi.operation(
        "deadLetters", summary, "streams", answer, parameters=parameters, also=(400, 404, 409, 422)
    )
    yield f"{PREFIX}/dead-letters", operation


def tail(about: openapi.Described) -> Iterator[Operation]:
    """Following."""
    answer = openapi.json_response("Server-Sent Events.", {"type": "string"}, EVENTS)
    parameters = [
        *_about("event"),
        openapi.parameter("partition", "query", _IN_ADDRESS, "The partition as JSON."),
        openapi.parameter("after", "query", _IN_ADDRESS, "A cursor: the id of the last event that was seen."),
        openapi.parameter("start", "query", _IN_ADDRESS, "oldest, newest, or a commit's number."),
        openapi.parameter("Last-Event-ID", "header", _IN_ADDRESS, "A cursor, as browsers send it."),
    ]
    also = (400, 404, 409, 410, 422)
    operation = openapi.operation(
        "tailEvents", "Events as they come.", "streams", answer, parameters=parameters, also=also
    )
    yield "/v1/streams/{event}/tail", operation
