"""A delta into a SPARQL store, whole and at once: every reader sees all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyoxigraph as ox

from treadle.graph.convert import to_ox
from treadle.graph.delta import Delta
from treadle.graph.terms import BlankNode, Quad, Resource
from treadle.graph.view import Graph

_FUNCTIONS: Final = "urn:x-treadle:apply:"


def write_delta(store: ox.Store, delta: Delta) -> None:
    """Applies a delta in one transaction of the store.

    Doing it again, or deltas again in their order, leaves the same state.
    """
    if delta.removed or delta.graphs_created or delta.graphs_dropped:
        _Writer(delta).write(store)
    elif delta.added:  # a text is parsed faster than as many objects are made
        text = "\n".join([quad.n3() for quad in delta.added])
        store.extend(ox.parse(text, ox.RdfFormat.N_QUADS))


class _Writer:
    """A delta as one update text.

    Statements without blank nodes are written out.  SPARQL cannot name a blank node of the dataset, so those
    with one are numbered, and functions give the terms of a number.
    """

    def __init__(self, delta: Delta) -> None:
        self._delta = delta
        self._numbered: list[Quad] = []
        self._text: list[str] = []

    def write(self, store: ox.Store) -> None:
        """Applies the delta in one transaction of the store."""
        for name in self._delta.graphs_created:
            self._text.append(f"CREATE SILENT GRAPH {name.n3()}")
        self._statements("DELETE", self._delta.removed)
        self._statements("INSERT", self._delta.added)
        for name in self._delta.graphs_dropped:
            self._text.append(f"DROP SILENT GRAPH {name.n3()}")
        functions: dict[Any, Any] = {}
        if self._numbered:
            functions = {ox.NamedNode(_FUNCTIONS + place): self._giver(place) for place in "spog"}
        store.update(";\n".join(self._text), custom_functions=functions)

    def _statements(self, verb: str, quads: tuple[Quad, ...]) -> None:
        ground = [quad for quad in quads if not _has_blank(quad)]
        if ground:
            self._text.append(f"{verb} DATA {{\n{_block(ground)}}}")
        blank = [quad for quad in quads if _has_blank(quad)]
        for named in (False, True):
            chosen = [quad for quad in blank if (quad.g is not None) == named]
            if chosen:
                self._text.append(self._by_number(verb, chosen, named=named))

    def _by_number(self, verb: str, quads: list[Quad], *, named: bool) -> str:
        first = len(self._numbered)
        self._numbered += quads
        numbers = " ".join(str(number) for number in range(first, len(self._numbered)))
        template = "GRAPH ?g { ?s ?p ?o }" if named else "?s ?p ?o"
        binds = " ".join(
            f"BIND(<{_FUNCTIONS}{place}>(?n) AS ?{place})" for place in ("spog" if named else "spo")
        )
        return f"{verb} {{ {template} }} WHERE {{ VALUES ?n {{ {numbers} }} {binds} }}"

    def _giver(self, place: str) -> Callable[[ox.Literal], Any]:
        """A function from a statement's number to one of its terms."""
        at = "spog".index(place)

        def give(number: ox.Literal) -> Any:
            term = self._numbered[int(number.value)][at]
            return None if term is None else to_ox(term)

        return give


def _has_blank(quad: Quad) -> bool:
    return type(quad.s) is BlankNode or type(quad.o) is BlankNode


def _block(quads: list[Quad]) -> str:
    """Sorted statements as the inside of INSERT DATA, each graph and subject named once where they follow."""
    lines: list[str] = []
    graph: Graph = None
    subject: Resource | None = None
    for s, p, o, g in quads:
        if g != graph:
            lines.append((" . } " if graph is not None else " . " if lines else "") + _opened(g))
            graph, subject = g, None
        if s == subject:
            lines.append(f" ;\n{p.n3()} {o.n3()}")
        else:
            lines.append((" .\n" if subject is not None else "") + f"{s.n3()} {p.n3()} {o.n3()}")
            subject = s
    return "".join(lines) + (" . }" if graph is not None else " .")


def _opened(graph: Graph) -> str:
    return f"GRAPH {graph.n3()} {{\n" if graph is not None else ""
