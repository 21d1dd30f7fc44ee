"""Every way to write to the graph, for one change: each gives the request that a caller would make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.support.guarded import block
from tests.support.workflows import Request
from treadle.access.caller import Caller
from treadle.database import Database
from treadle.engine.batch import Batch
from treadle.graph.delta import Delta
from treadle.graph.live.acts import GraphAct
from treadle.graph.live.changes import Changed
from treadle.graph.live.following import Live, Turn
from treadle.graph.live.stored import head_of
from treadle.graph.live.surface import Graph
from treadle.graph.terms import IRI, BlankNode, Quad


class Plant(GraphAct):
    """Put statements into a database behind the guard: what was there before it was enrolled."""

    __slots__ = ("quads",)

    def __init__(self, live: Live, quads: Iterable[Quad]) -> None:
        super().__init__(Caller("planter"), live)
        self.quads = quads

    def operate(self, batch: Batch, turn: Turn) -> Changed:
        new = [quad for quad in self.quads if not turn.index.exists(quad)]
        graphs = {quad.g for quad in new if quad.g is not None and not turn.index.has_graph(quad.g)}
        return self.change(batch, turn, Delta.of(added=new, graphs_created=graphs), "plant", {})


def plant(db: Database, quads: Iterable[Quad]) -> None:
    """Commit statements without asking the guard."""
    db.graph.core.run(Plant(db.graph.core.live, quads))


@dataclass(frozen=True)
class Change:
    """A change as a caller writes it: statements to take away and to bring, spelled as the case says."""

    removed: frozenset[Quad]
    added: frozenset[Quad]

    @classmethod
    def of(cls, request: Request) -> Change:
        gone, come = set(request.removed), set(request.added)
        for odd in request.respelled:
            target = come if odd.operation == "insert" else gone
            target.discard(odd.stored)
            target.add(odd.written)
        return cls(frozenset(gone), frozenset(come))

    @property
    def graph(self) -> IRI | bool | None:
        """The one graph that it is about; False where it is about several."""
        graphs = {quad.g for quad in (*self.removed, *self.added)}
        return graphs.pop() if len(graphs) == 1 else False

    @property
    def nodes(self) -> bool:
        """Whether a statement has a blank node."""
        return any(isinstance(t, BlankNode) for q in (*self.removed, *self.added) for t in (q.s, q.o))


def held(db: Database, graph: IRI | None) -> set[Quad]:
    """What a graph holds."""
    return set(db.graph.core.live.index().quads(graph=graph))


def changes(db: Database) -> int:
    """The last commit that changed the graph: where it stays, every statement did."""
    with db._engine.store.read() as tx:
        return head_of(tx).number


def plain(quads: Iterable[Quad]) -> str:
    """Statements of one graph without its name."""
    return block(quad._replace(g=None) for quad in quads)


def updates(change: Change) -> Iterator[tuple[str, str]]:
    """The change as SPARQL, in the kinds of operations that can say it."""
    gone, come = block(change.removed), block(change.added)
    if any(isinstance(term, BlankNode) for quad in change.removed for term in (quad.s, quad.o)):
        return
    yield "data", f"DELETE DATA {{ {gone} }} ; INSERT DATA {{ {come} }}"
    if not change.removed:
        yield "insert data", f"INSERT DATA {{ {come} }}"
    if not change.added:
        yield "delete data", f"DELETE DATA {{ {gone} }}"
        yield "delete where", f"DELETE WHERE {{ {gone} }}"
    yield "ground", f"DELETE {{ {gone} }} INSERT {{ {come} }} WHERE {{ }}"
    yield "pattern", f"DELETE {{ {gone} }} INSERT {{ {come} }} WHERE {{ OPTIONAL {{ ?no ?is ?here }} }}"
    first, last = "INSERT DATA { <urn:t:1> <urn:p> 1 }", "DELETE WHERE { <urn:t:1> ?p ?o }"
    yield (
        "several operations",
        f"{first} ; DELETE {{ {gone} }} INSERT {{ {come} }} WHERE {{ <urn:t:1> <urn:p> ?n }} ; {last}",
    )
    graph = change.graph
    if isinstance(graph, IRI):
        name, gone, come = graph.n3(), plain(change.removed), plain(change.added)
        values = f"VALUES ?g {{ {name} }}"
        yield (
            "graph variable",
            f"DELETE {{ GRAPH ?g {{ {gone} }} }} INSERT {{ GRAPH ?g {{ {come} }} }} WHERE {{ {values} }}",
        )
        yield "with", f"WITH {name} DELETE {{ {gone} }} INSERT {{ {come} }} WHERE {{ }}"
        yield (
            "with and using",
            f"WITH {name} DELETE {{ {gone} }} INSERT {{ {come} }} USING <urn:x-test:none> WHERE {{ }}",
        )


def document(quads: Iterable[Quad]) -> str:
    """Statements of one graph as N-Triples, spelled as they are."""
    return "\n".join(f"{quad.s.n3()} {quad.p.n3()} {quad.o.n3()} ." for quad in quads)


def documents(db: Database, change: Change) -> Iterator[tuple[str, str, str]]:
    """The change as documents: a way, `put` or `post`, and the text."""
    graph = change.graph
    if isinstance(graph, bool):
        return
    if not change.removed:
        yield "added", "post", document(change.added)
    there = held(db, graph) if graph is not None else set()
    if there and not any(isinstance(term, BlankNode) for quad in there for term in (quad.s, quad.o)):
        yield "in place", "put", document((there - change.removed) | change.added)


def loads(db: Database, graph: Graph, change: Change) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The change through `db.graph.load`."""
    where = change.graph
    if not change.removed:
        lines = "\n".join(quad.n3() for quad in change.added)
        yield "load nquads", partial(graph.load, lines, "nquads")
    if isinstance(where, bool):
        return
    for name, how, text in documents(db, change):
        yield f"load {name}", partial(graph.load, text, "turtle", where, replace=how == "put")
