"""The routes of the graph."""

from __future__ import annotations

from typing import Final

from treadle.errors import Malformed
from treadle.server.answers import Answer
from treadle.server.call import Call
from treadle.server.endpoint import CALLER, Endpoint
from treadle.server.graph import about, graph_store, knots, parameters, queries, updates
from treadle.server.graph.parameters import FORM

BOTH: Final = (queries.MEDIA, updates.MEDIA, FORM)


async def post(call: Call) -> Answer:
    """A query or an update, whichever the body says it is."""
    roles, media = call.service.roles, parameters.media_of(call, BOTH)
    if media == queries.MEDIA:
        roles.check_permission(call.caller, "read")
        return await queries.direct(call)
    if media == updates.MEDIA:
        roles.check_permission(call.caller, "update")
        return await updates.direct(call)
    values = await parameters.of_form(call)
    if ("query" in values) == ("update" in values):
        raise Malformed("send either query=… or update=…")
    if "query" in values:
        roles.check_permission(call.caller, "read")
        return await queries.form(call, values)
    roles.check_permission(call.caller, "update")
    return await updates.form(call, values)


_QUERY = about.described(
    "/query",
    "query",
    "Ask a SPARQL query; without one, what the service says of itself.",
    answers=about.forms("The answer, in the form that is accepted."),
    problems=about.READ,
    parameters=[*about.in_query({"query": "The query."}, about.TEXT), *about.in_query(about.DATASET)],
)
_POST_QUERY = about.described(
    "/query",
    "postQuery",
    "Ask a SPARQL query.",
    answers=about.forms("The answer, in the form that is accepted."),
    problems=about.READ,
    parameters=about.in_query(about.DATASET),
    body=about.in_form("query", queries.MEDIA),
)
_UPDATE = about.described(
    "/update",
    "update",
    "Run a SPARQL update.",
    answers=about.json_answer("What it changed.", about.COUNTS),
    problems=about.WRITE,
    parameters=about.in_query(about.USING),
    body=about.in_form("update", updates.MEDIA),
)
_READ_GRAPH = about.described(
    "/rdf-graph-store",
    "graph",
    "A graph's statements.",
    answers=about.forms("The statements, with the graph's version as ETag."),
    problems=(*about.READ, 404),
    parameters=about.in_query(about.GRAPH, about.TEXT),
)
_KNOT = about.described(
    "/knot",
    "knot",
    "Add Turtle to a graph.",
    answers=about.json_answer("It was taken.", about.CONFORMS),
    problems=about.WRITE,
    body={"application/json": {"schema": about.KNOT}},
)
_GRAPHS = about.described(
    "/graphs",
    "graphs",
    "The graphs that there are.",
    answers=about.json_answer("Names and sizes.", about.LISTED),
    problems=about.READ,
)
_CAPABILITIES = about.described(
    "/workflow/capabilities",
    "capabilities",
    "Whether signed workflow processing is enforced.",
    answers=about.json_answer("What is offered.", about.CAPABILITIES),
    problems=(401, 403, 406, 500, 503),
)


def _document(method: str, id: str, summary: str) -> about.Describe:
    """The description of a way to write a graph."""
    return about.described(
        "/rdf-graph-store",
        id,
        summary,
        answers={"201": {"description": "The graph is new."}, "204": {"description": "It was changed."}},
        problems=(*about.WRITE, 404, 412),
        parameters=about.in_query(about.GRAPH, about.TEXT),
        body=None if method == "DELETE" else {name: {"schema": about.TEXT} for name in graph_store.DOCUMENTS},
    )


ENDPOINTS = (
    Endpoint("POST", "/update", updates.post, "Run a SPARQL update.", "update", True, "", _UPDATE, True),
    Endpoint("POST", "/query", queries.post, "Ask a SPARQL query.", "read", False, "", _POST_QUERY, True),
    Endpoint("GET", "/query", queries.get, "Ask a SPARQL query.", "read", False, "", _QUERY, True),
    Endpoint("GET", "/sparql", queries.get, "Ask a SPARQL query.", "read", False, "", None, True),
    Endpoint("POST", "/sparql", post, "Ask a SPARQL query or run an update.", CALLER, True, "", None, True),
    Endpoint(
        "GET",
        "/rdf-graph-store",
        graph_store.get,
        "A graph's statements.",
        "read",
        False,
        "",
        _READ_GRAPH,
        True,
    ),
    Endpoint(
        "PUT",
        "/rdf-graph-store",
        graph_store.put,
        "Put a document in the place of a graph.",
        "update",
        True,
        "",
        _document("PUT", "putGraph", "Put a document in the place of a graph."),
        True,
    ),
    Endpoint(
        "POST",
        "/rdf-graph-store",
        graph_store.post,
        "Add a document to a graph.",
        "update",
        True,
        "",
        _document("POST", "postGraph", "Add a document to a graph."),
        True,
    ),
    Endpoint(
        "DELETE",
        "/rdf-graph-store",
        graph_store.delete,
        "Drop a graph.",
        "update",
        True,
        "",
        _document("DELETE", "deleteGraph", "Drop a graph."),
        True,
    ),
    Endpoint(
        "POST", "/knot", knots.knot, "Add Turtle to a graph.", "update", True, describe=_KNOT, basic=True
    ),
    Endpoint(
        "GET", "/graphs", knots.graphs, "The graphs that there are.", "read", describe=_GRAPHS, basic=True
    ),
    Endpoint(
        "GET",
        "/workflow/capabilities",
        knots.capabilities,
        "Whether signed workflow processing is enforced.",
        CALLER,
        describe=_CAPABILITIES,
        basic=True,
    ),
)
