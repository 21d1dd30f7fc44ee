"""Datasets for the SPARQL tests: from statements to an index and a plain store, and comparison of results."""

from __future__ import annotations

from collections.abc import Iterable

import pyoxigraph as ox

from treadle.graph.convert import to_ox_quad
from treadle.graph.dataset import Index
from treadle.graph.terms import IRI, Quad

NOW = 1_764_536_400_123_456
"""2025-11-30T21:00:00.123456Z."""


def index_of(quads: Iterable[Quad] = (), graphs: Iterable[IRI] = ()) -> Index:
    """An index of statements and graph names."""
    return Index.build([quad.n3() for quad in quads], graphs=graphs)


def copy_of(index: Index) -> ox.Store:
    """A plain store with the same statements and graphs."""
    store = ox.Store()
    store.extend(list(index.store))
    for graph in index.store.named_graphs():
        store.add_graph(graph)
    return store


def canonical_state(store: ox.Store) -> tuple[list[str], list[str]]:
    """The statements, blank nodes named by the shape of the data, and the named graphs; both sorted."""
    dataset = ox.Dataset(store)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return sorted(str(quad) for quad in dataset), sorted(str(graph) for graph in store.named_graphs())


def state_of(quads: Iterable[Quad]) -> list[str]:
    """Statements alone, blank nodes named by the shape of the data, sorted."""
    dataset = ox.Dataset(to_ox_quad(quad) for quad in quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return sorted(str(quad) for quad in dataset)
