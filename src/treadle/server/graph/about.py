"""The graph's routes in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from treadle.server import openapi
from treadle.server.endpoint import Operation
from treadle.server.graph.negotiation import GRAPHS, RESULTS
from treadle.server.graph.parameters import FORM

TEXT: Final = {"type": "string"}
IRIS: Final = {"type": "array", "items": {"type": "string", "format": "iri"}}
DATASET: Final = {
    "default-graph-uri": "A graph of the query's default graph; urn:x-treadle:union for all graphs.",
    "named-graph-uri": "A named graph of the query's dataset.",
}
USING: Final = {
    "using-graph-uri": "A graph of the patterns' default graph.",
    "using-named-graph-uri": "A named graph of the patterns' dataset.",
}
GRAPH: Final = {
    "graph": "The graph, an absolute IRI; or `default`.",
    "default": "The default graph.",
}
COUNTS: Final = {
    "type": "object",
    "properties": {
        "tx": {"type": ["integer", "null"]},
        "asserted": {"type": "integer"},
        "retracted": {"type": "integer"},
        "graphs": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["tx", "asserted", "retracted", "graphs"],
}
CAPABILITIES: Final = {
    "type": "object",
    "properties": {
        "processing": {"enum": ["enabled", "disabled"]},
        "signatureVersions": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["processing", "signatureVersions"],
    "additionalProperties": False,
}
KNOT: Final = {
    "type": "object",
    "properties": {
        "turtle": TEXT,
        "graph": {"type": ["string", "null"]},
        "actor": {"type": ["string", "null"]},
    },
    "required": ["turtle"],
    "additionalProperties": False,
}
CONFORMS: Final = {
    "type": "object",
    "properties": {
        "conforms": {"const": True},
        "tx_id": {"type": ["integer", "null"]},
        "count": {"type": "integer"},
    },
    "required": ["conforms", "tx_id", "count"],
}
LISTED: Final = {
    "type": "object",
    "properties": {
        "graphs": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"graph": {"type": ["string", "null"]}, "statements": {"type": "integer"}},
                "required": ["graph", "statements"],
            },
        }
    },
    "required": ["graphs"],
}
READ: Final = (400, 401, 403, 406, 408, 413, 415, 500, 503)
WRITE: Final = (400, 401, 403, 408, 413, 415, 422, 500, 503, 504)

Describe = Callable[[openapi.Described], Iterable[Operation]]


def described(
    path: str,
    id: str,
    summary: str,
    *,
    answers: dict[str, Any],
    problems: Iterable[int],
    parameters: Iterable[dict[str, Any]] = (),
    body: dict[str, Any] | None = None,
) -> Describe:
    """What gives the description of one route."""
    operation: dict[str, Any] = {
        "operationId": id,
        "summary": summary,
        "tags": ["graph"],
        "parameters": list(parameters),
        "responses": {**answers, **openapi.problems(*problems)},
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": body}

    def describe(about: openapi.Described) -> Iterator[Operation]:
        yield path, operation

    return describe


def in_query(names: dict[str, str], schema: Any = IRIS) -> list[dict[str, Any]]:
    """Parameters of the address."""
    return [openapi.parameter(name, "query", schema, text) for name, text in names.items()]


def json_answer(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    """An answer of 200 in JSON."""
    return {"200": openapi.json_response(text, schema)}


def forms(text: str) -> dict[str, Any]:
    """An answer of 200 in any of the forms of results and graphs."""
    media = dict.fromkeys(offer.type for offer in (*RESULTS, *GRAPHS))
    return {"200": {"description": text, "content": {name: {"schema": TEXT} for name in media}}}


def in_form(name: str, media: str) -> dict[str, Any]:
    """A body that is a text of its own media type, or a field of a form."""
    schema = {"type": "object", "properties": {name: TEXT}, "required": [name]}
    return {media: {"schema": TEXT}, FORM: {"schema": schema}}
