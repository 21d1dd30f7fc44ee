"""A delta as a value."""

from __future__ import annotations

from treadle.graph.delta import EMPTY_DELTA, Delta, GraphCount, Respelled
from treadle.graph.terms import IRI, XSD_INTEGER, Literal, Quad

A, G = IRI("http://example.org/a"), IRI("http://example.org/g")
ONE, TWO = Quad(A, A, A), Quad(A, A, A, G)


def test_the_order_of_what_is_given_does_not_matter() -> None:
    assert Delta.of([TWO, ONE], [], [G, A]) == Delta.of([ONE, TWO], [], [A, G])


def test_counts_per_graph() -> None:
    delta = Delta.of(removed=[ONE, TWO], added=[Quad(A, A, G, G)])
    assert delta.counts() == (GraphCount(None, 0, 1), GraphCount(G, 1, 1))
    assert EMPTY_DELTA.counts() == ()


def test_whether_anything_changes() -> None:
    assert not EMPTY_DELTA and not Delta.of()
    assert (
        Delta.of([ONE])
        and Delta.of(added=[ONE])
        and Delta.of(graphs_created=[G])
        and Delta.of(graphs_dropped=[G])
    )


def test_odd_spellings_are_evidence_and_no_change() -> None:
    stored = Quad(A, A, Literal("1", XSD_INTEGER))
    odd = Respelled("insert", stored._replace(o=Literal("01", XSD_INTEGER)), stored)
    assert Delta.of(respelled=[odd]) == EMPTY_DELTA and not Delta.of(respelled=[odd])
    assert Delta.of(respelled=[odd]).respelled == (odd,)
