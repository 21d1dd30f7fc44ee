"""The graph index: the dataset in memory, a copy of the statement table that answers SPARQL.

The table in the database is the authority; the index is derived, carries the commit number that it reflects,
and can be built again at any time.  Readers never see part of a delta: `Index.apply` is one transaction of
the store, and a query keeps the state it started from.  What is replaced is not freed, so an index counts it
and says when a new one should be built beside it (`Index.crowded`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, Final

import pyoxigraph as ox

from treadle.errors import check
from treadle.graph.convert import graph_of, iri_of, quad_of, term_of, to_ox, to_ox_graph, to_ox_quad
from treadle.graph.delta import Delta
from treadle.graph.evaluation import Stopped
from treadle.graph.replicas import Replica, Replicas
from treadle.graph.terms import IRI, Quad, Resource, Term, trusted_iri
from treadle.graph.view import ANY, AnyGraph, Graph
from treadle.graph.writing import write_delta

_BATCH: Final = 100_000
_FEW_DEAD: Final = 10_000
_HOT_SUBJECT: Final = 4_096
_FEW: Final = 2
_SMALL: Final = 256

Progress = Callable[[int], None]


class Index:
    """The statements of one commit, with look-ups that follow the answer's size.

    One writer calls `apply`; any number of threads read.  Statements given to it are canonical
    (`treadle.graph.literals`), and so are those it gives back.

    Attributes:
        store: the SPARQL store, for `treadle.graph.query` and `treadle.graph.sparql`.
        commit: the number of the last commit that is in it.
    """

    def __init__(self, commit: int = 0) -> None:
        self.store = ox.Store()
        self.commit = commit
        self._sizes: Counter[Graph] = Counter()
        self._live = 0
        self._dead = 0
        self._dead_of: Counter[Resource] = Counter()
        self._hottest = 0
        self._replicas = Replicas()

    @classmethod
    def build(
        cls,
        lines: Iterable[str],
        *,
        graphs: Iterable[IRI] = (),
        commit: int = 0,
        progress: Progress | None = None,
    ) -> Index:
        """An index of canonical statements; linear in them.

        Args:
            lines: each statement as one N-Quads line (`Quad.n3`), blank node labels kept.
            graphs: named graphs that exist, with or without statements.
            commit: the commit number that the statements belong to.
            progress: called with the number of lines read so far, after each hundred thousand.
        """
        index = cls(commit)
        source, done = iter(lines), 0
        while batch := list(islice(source, _BATCH)):
            text = "\n".join(batch)
            index.store.bulk_extend(ox.parse(text, ox.RdfFormat.N_QUADS))
            done += len(batch)
            if progress is not None:
                progress(done)
        for graph in graphs:
            index.store.add_graph(to_ox_graph(graph))
        index.recount()
        return index

    def recount(self) -> None:
        """Counts the statements of each graph anew, for an index whose store was filled otherwise."""
        self._sizes.clear()
        query = "SELECT ?g (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } } GROUP BY ?g"
        rows: Any = self.store.query(query)
        for row in rows:
            graph = graph_of(row[0]) if row[0] is not None else None
            self._sizes[graph] = int(row[1].value)
        self._live = sum(self._sizes.values())

    def __len__(self) -> int:
        """How many statements there are."""
        return self._live

    @property
    def dead(self) -> int:
        """How many replaced statements still take memory and time."""
        return self._dead

    @property
    def crowded(self) -> bool:
        """Whether a new index should be built: much is dead, or much of it lies on one subject's path."""
        if self._dead > max(_FEW_DEAD, self._live // 2):
            return True
        return self._hottest > _HOT_SUBJECT and self._dead > self._live // 20

    def replica(self, stopped: Stopped) -> AbstractContextManager[Replica]:
        """A copy of the store to try an update in, see `treadle.graph.replicas`.

        Args:
            stopped: asked while waiting for one whether to give up.

        Raises:
            SparqlError: code `deadline`, `stopped` said so.
        """
        return self._replicas.borrowed(self.store, self._live, stopped)

    def size(self, graph: Graph) -> int:
        """How many statements a graph holds."""
        return self._sizes[graph]

    def has_graph(self, graph: IRI) -> bool:
        """Whether a named graph exists; an emptied one does until it is dropped."""
        return self.store.contains_named_graph(to_ox_graph(graph))

    def named_graphs(self) -> list[IRI]:
        """The named graphs that exist, sorted."""
        return sorted(trusted_iri(graph.value) for graph in self.store.named_graphs())

    def exists(self, quad: Quad) -> bool:
        """Whether the statement is here."""
        return to_ox_quad(quad) in self.store

    def existing(self, quads: Collection[Quad]) -> set[Quad]:
        """Those of some statements that are here; of a few, several about a new subject cost one look-up."""
        if len(quads) > _SMALL:
            return {quad for quad in quads if self.exists(quad)}
        by_place: dict[tuple[Resource, Graph], list[Quad]] = {}
        for quad in quads:
            by_place.setdefault((quad[0], quad[3]), []).append(quad)
        found: set[Quad] = set()
        for (subject, graph), asked in by_place.items():
            if len(asked) <= _FEW or any(True for _ in self._match(subject, None, None, graph)):
                found.update(quad for quad in asked if self.exists(quad))
        return found

    def quads(
        self,
        subject: Resource | None = None,
        predicate: IRI | None = None,
        value: Term | None = None,
        graph: Graph | AnyGraph = ANY,
    ) -> Iterator[Quad]:
        """The statements of one moment that fit, in no order; None and `ANY` fit everything.

        Raises:
            ValueError: a term that the index does not accept.
        """
        for quad in self._match(subject, predicate, value, graph):
            yield quad_of(quad)

    def _match(
        self, subject: Resource | None, predicate: IRI | None, value: Term | None, graph: Graph | AnyGraph
    ) -> Iterator[Any]:
        place: Any = None if isinstance(graph, AnyGraph) else to_ox_graph(graph)
        terms: list[Any] = [None if term is None else to_ox(term) for term in (subject, predicate, value)]
        return iter(self.store.quads_for_pattern(terms[0], terms[1], terms[2], place))

    def facts(self, subject: Resource, graph: Graph) -> list[tuple[IRI, Term]]:
        """Predicate and object of every statement about the subject in the graph."""
        found = self._match(subject, None, None, graph)
        return [(trusted_iri(quad.predicate.value), term_of(quad.object)) for quad in found]

    def some_facts(self, subject: Resource, graph: Graph, most: int) -> list[tuple[IRI, Term]]:
        """The same, but no more than `most` of them."""
        found = islice(self._match(subject, None, None, graph), most)
        return [(iri_of(quad.predicate), term_of(quad.object)) for quad in found]

    def objects(self, subject: Resource, predicate: IRI, graph: Graph) -> list[Term]:
        """The objects of the subject's statements with the predicate in the graph."""
        return [term_of(quad.object) for quad in self._match(subject, predicate, None, graph)]

    def subjects(self, predicate: IRI, value: Term, graph: Graph | AnyGraph) -> list[tuple[Resource, Graph]]:
        """Subject and graph of every statement with the predicate and object, in one graph or `ANY`."""
        return [(quad.s, quad.g) for quad in self.quads(None, predicate, value, graph)]

    def graphs(self, subject: Resource) -> list[Graph]:
        """The graphs in which there are statements about the subject, each once."""
        return list(dict.fromkeys(quad.g for quad in self.quads(subject)))

    def scan(self, predicate: IRI) -> Iterator[Quad]:
        """Every statement with the predicate, in every graph."""
        return self.quads(None, predicate)

    def apply(self, delta: Delta, *, commit: int | None = None) -> None:
        """Makes a delta visible, whole and at once.

        Args:
            delta: computed from exactly the state that this index has.
            commit: the commit number that the index has afterwards; None leaves it.
        """
        self._replicas.follow(delta)
        write_delta(self.store, delta)
        self._record(delta)
        if commit is not None:
            check(commit >= self.commit, "an index goes forward")
            self.commit = commit

    def _record(self, delta: Delta) -> None:
        self._live += len(delta.added) - len(delta.removed)
        self._dead += len(delta.removed)
        for quad in delta.removed:
            self._sizes[quad.g] -= 1
            self._dead_of[quad.s] += 1
            self._hottest = max(self._hottest, self._dead_of[quad.s])
        for quad in delta.added:
            self._sizes[quad.g] += 1
