"""`/rdf-graph-store`: the SPARQL 1.1 Graph Store HTTP Protocol, with versions.

A graph's version is the commit that changed it last, as its ETag says, so that a client can read, change and
put back without overwriting what came between (`If-Match`).
"""

from __future__ import annotations

from typing import Final

from treadle.engine.batch import Batch
from treadle.errors import Malformed, RequestError, UnknownName
from treadle.graph.live import exporting, stored
from treadle.graph.live.attempts import Load, Text
from treadle.graph.live.core import Core
from treadle.graph.live.following import Turn
from treadle.graph.load import Loaded
from treadle.graph.terms import IRI
from treadle.graph.view import Graph
from treadle.ports.store import ReadTx
from treadle.server.answers import Answer, Headers
from treadle.server.call import Call
from treadle.server.graph import carrying, parameters
from treadle.server.graph.carrying import core_of
from treadle.server.graph.negotiation import GRAPHS, VARY, chosen

DOCUMENTS: Final = {
    "text/turtle": "turtle",
    "application/x-turtle": "turtle",
    "application/n-triples": "ntriples",
}
"""The media types of documents that are taken; those that can name graphs are not."""


def graph_of(call: Call) -> Graph:
    """The graph that the address names: `?graph=<absolute IRI>` or `?default`, exactly one of them."""
    values = parameters.of_address(call)
    name = parameters.one(values, "graph")
    if (name is not None) == ("default" in values):
        raise Malformed("name one graph: ?graph=ABSOLUTE-IRI, or ?default for the default graph")
    if name is None:
        return None
    try:
        return IRI(name)
    except ValueError as error:
        raise Malformed(str(error)) from None


async def get(call: Call) -> Answer:
    """A graph's statements."""
    graph, offer = graph_of(call), chosen(call, GRAPHS)
    core = await core_of(call)
    write = exporting.writer(offer.format, graph)

    def read() -> tuple[str, bytes | None]:
        while True:
            tag = _tag_now(core, graph)
            body = core.read(
                call.caller,
                lambda index, stopped: write(index) if graph is None or index.has_graph(graph) else None,
                call.service.options.request_seconds,
            )
            if _tag_now(core, graph) == tag:
                return tag, body

    tag, body = await call.service.query_thread(read)
    if body is None:
        raise _missing()
    headers: Headers = (*VARY, (b"etag", tag.encode()))
    if _named(call.header(b"if-none-match"), tag):
        return Answer(304, b"", offer.type, headers)
    return Answer(200, body, offer.header, headers)


async def put(call: Call) -> Answer:
    """Put a document in the place of what a graph holds."""
    return await _load(call, replace=True)


async def post(call: Call) -> Answer:
    """Add a document's statements to a graph."""
    return await _load(call, replace=False)


async def _load(call: Call, *, replace: bool) -> Answer:
    graph, base = graph_of(call), parameters.base_of(call)
    format = DOCUMENTS[parameters.media_of(call, tuple(DOCUMENTS))]
    body = await parameters.body_of(call, parameters.media_of(call, tuple(DOCUMENTS)))
    core = await core_of(call)
    condition = Condition(call, graph)

    def read() -> Loaded:
        labels = core.labels()
        return Loaded.read(body, format, labels=labels, graph=graph, base=base, replace=replace)

    loaded = await call.service.query_thread(read)
    load = Load(
        core.site,
        call.caller,
        loaded,
        via="graph-store",
        request_id=call.trace,
        condition=condition.check,
    )
    done = await carrying.settle(call, load)
    tag = condition.tag if done.tx is None else condition.tag_of(done.tx)
    created = graph is not None and not condition.existed
    return Answer(201 if created else 204, b"", headers=((b"etag", tag.encode()),))


async def delete(call: Call) -> Answer:
    """Drop a graph; the default graph is emptied."""
    graph = graph_of(call)
    condition = Condition(call, graph, must_exist=True)
    wanted = Text(
        "CLEAR DEFAULT" if graph is None else f"DROP SILENT GRAPH {graph.n3()}",
        via="graph-store",
        request_id=call.trace,
        condition=condition.check,
    )
    await carrying.update(call, wanted)
    return Answer(204, b"")


class Condition:
    """What the request's headers ask of the graph before it is changed, looked at in the batch.

    `existed` and `tag` tell, afterwards, how the graph was before.
    """

    def __init__(self, call: Call, graph: Graph, *, must_exist: bool = False) -> None:
        self._graph = graph
        self._match = call.header(b"if-match")
        self._none_match = call.header(b"if-none-match")
        self._must_exist = must_exist
        self._incarnation = 0
        self.existed = True
        self.tag = ""

    def check(self, batch: Batch, turn: Turn) -> None:
        """Raise `UnknownName` or `RequestError` (`precondition_failed`) where the graph is not as asked."""
        graph = self._graph
        self._incarnation = batch.state.incarnation
        self.existed = graph is None or turn.index.has_graph(graph)
        self.tag = self.tag_of(turn.version(graph))
        if self._match is not None and not (self.existed and _named(self._match, self.tag)):
            raise _failed("it is at another version than If-Match says; read it again")
        if self._none_match is not None and self.existed and _named(self._none_match, self.tag):
            raise _failed("it exists already, and If-None-Match says that it must not")
        if self._must_exist and not self.existed:
            raise _missing()

    def tag_of(self, version: int) -> str:
        """The ETag of a version."""
        return etag(self._incarnation, version)


def etag(incarnation: int, version: int) -> str:
    """The ETag of a graph's version: numbers start anew with every restore, so the incarnation goes along."""
    return f'"{incarnation}.{version}"'


def _tag_now(core: Core, graph: Graph) -> str:
    state = core.engine.refresh()
    with core.engine.store.read() as tx:
        return etag(state.incarnation, _version(tx, graph))


def _version(tx: ReadTx, graph: Graph) -> int:
    return stored.version_of(tx, graph)


def _named(header: str | None, tag: str) -> bool:
    """Whether If-Match or If-None-Match names a tag; weak tags are compared by what they hold."""
    if header is None:
        return False
    names = [name.strip().removeprefix("W/") for name in header.split(",")]
    return "*" in names or tag in names


def _missing() -> UnknownName:
    return UnknownName("there is no graph of this name; GET /graphs lists those that there are")


def _failed(what: str) -> RequestError:
    return RequestError(f"the graph was not changed: {what}", code="precondition_failed")
