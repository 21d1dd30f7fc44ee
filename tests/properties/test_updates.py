"""Random updates: both paths give one delta, and applying it does what the store itself would have done."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
from hypothesis import event, given, settings

from tests.support.effort import effort
from tests.support.sparql import NOW, canonical_state, copy_of, index_of
from tests.support.updates import operations, quads, updates
from treadle.errors import SparqlError
from treadle.graph.sparql.update import UpdateResult, compute_delta
from treadle.graph.terms import Quad


def computed(statements: list[Quad], text: str, path: Any) -> tuple[UpdateResult | None, object]:
    """The result and the state after it, on an index of its own."""
    index = index_of(statements)
    before = canonical_state(index.store)
    try:
        result = compute_delta(index, text, now=NOW, labels="r", path=path)
    except SparqlError:
        assert canonical_state(index.store) == before
        return None, before
    assert canonical_state(index.store) == before, "computing changes nothing"
    index.apply(result.delta)
    assert len(index) == len(index.store)
    assert sum(index.size(graph) for graph in (None, *index.named_graphs())) == len(index)
    return result, canonical_state(index.store)


def natively(statements: list[Quad], text: str) -> Any:
    """What the store makes of the text; the state before when it refuses it."""
    store = copy_of(index_of(statements))
    before = canonical_state(store)
    try:
        store.update(text)
    except (SyntaxError, RuntimeError):
        return None, before
    return store, canonical_state(store)


def net_counts(before: ox.Store, after: ox.Store) -> tuple[int, int]:
    return len(set(after) - set(before)), len(set(before) - set(after))


@settings(max_examples=effort(150))
@given(quads(), operations)
def test_one_operation(statements: list[Quad], text: str) -> None:
    store, expected = natively(statements, text)
    direct, after_direct = computed(statements, text, "direct")
    sequence, after_sequence = computed(statements, text, "sequence")
    assert (direct is None) == (sequence is None) == (store is None)
    assert after_direct == after_sequence == expected
    if direct is not None and sequence is not None:
        event("changes" if direct.delta else "changes nothing")
        assert (direct.asserted, direct.retracted) == (sequence.asserted, sequence.retracted)
        assert [(c.graph, c.asserted, c.retracted) for c in direct.graphs] == [
            (c.graph, c.asserted, c.retracted) for c in sequence.graphs
        ]


@settings(max_examples=effort(150))
@given(quads(), updates())
def test_several_operations(statements: list[Quad], text: str) -> None:
    store, expected = natively(statements, text)
    result, after = computed(statements, text, None)
    assert (result is None) == (store is None)
    assert after == expected
