"""Copies to try updates in: they follow the index, wear out, and keep nobody waiting."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sparql import NOW, canonical_state, index_of
from tests.support.updates import quads
from treadle.errors import SparqlError, SparqlSyntax
from treadle.graph.dataset import Index
from treadle.graph.delta import Delta
from treadle.graph.evaluation import never
from treadle.graph.sparql.update import compute_delta
from treadle.graph.terms import IRI, Literal, Quad

E = "http://example.org/"
A, P, G, H = (IRI(E + name) for name in "apgh")


def statement(number: int) -> Quad:
    return Quad(A, P, Literal(str(number)), G)


@given(st.lists(quads(), min_size=2, max_size=4))
def test_a_replica_has_the_state_of_the_index(states: list[list[Quad]]) -> None:
    index = index_of(states[0], graphs=[H])
    for before, after in pairwise(states):
        with index.replica(never) as replica:
            assert canonical_state(replica.store) == canonical_state(index.store)
        old, new = set(before), set(after)
        index.apply(Delta.of(old - new, new - old, graphs_dropped=[H] if index.has_graph(H) else []))
    with index.replica(never) as replica:
        assert canonical_state(replica.store) == canonical_state(index.store)


def test_one_is_kept_and_a_second_is_made_while_it_is_used() -> None:
    index = index_of([statement(1)])
    with index.replica(never) as first:
        with index.replica(never) as second:
            assert second is not first
            with pytest.raises(SparqlError) as refused, index.replica(lambda: True):
                pass
            assert refused.value.code == "deadline"
        index.apply(Delta.of(added=[statement(2)]))
    with index.replica(never) as again:
        assert again in (first, second)
        assert canonical_state(again.store) == canonical_state(index.store)


def test_who_waits_gets_one_when_it_comes_back() -> None:
    index = index_of([statement(1)])
    taken, go_on, got = threading.Barrier(3), threading.Event(), threading.Event()

    def hold() -> None:
        with index.replica(never):
            taken.wait()
            go_on.wait(20)

    def want() -> None:
        with index.replica(never):
            got.set()

    holders = [threading.Thread(target=hold) for _ in range(2)]
    for holder in holders:
        holder.start()
    taken.wait()
    waiter = threading.Thread(target=want)
    waiter.start()
    assert not got.wait(0.05)
    go_on.set()
    assert got.wait(20)
    for thread in (*holders, waiter):
        thread.join()


def test_a_refused_update_keeps_it_and_an_unexpected_failure_does_not() -> None:
    index = index_of([statement(1)])
    with index.replica(never) as first:
        pass
    with pytest.raises(SparqlSyntax), index.replica(never) as second:
        raise SparqlSyntax("refused")
    with pytest.raises(ZeroDivisionError), index.replica(never) as third:
        third.store.update("CLEAR ALL")
        raise ZeroDivisionError
    assert first is second is third
    with index.replica(never) as fourth:
        assert fourth is not first and len(fourth.store) == 1


def test_it_wears_out() -> None:
    index = index_of([statement(1)])
    with index.replica(never) as first:
        first.spent += 10_001
    with index.replica(never) as second:
        assert second is not first
    index.apply(Delta.of(added=[statement(number) for number in range(2, 10_010)]))
    with index.replica(never) as third:
        assert third is not second, "so far behind that a copy is cheaper"
        assert len(third.store) == len(index)


def test_commits_do_not_wait_for_a_slow_update() -> None:
    """A pattern without end is being tried; the index takes deltas and answers all the same."""
    index = index_of([Quad(IRI(f"{E}{number}"), P, A) for number in range(120)])
    begun, stop = threading.Event(), threading.Event()

    def stopped() -> bool:
        begun.set()
        return stop.is_set()

    slow = "INSERT DATA { <a:a> <a:a> 1 } ; INSERT { ?a <a:b> ?b } WHERE { ?a ?p ?x . ?b ?q ?y . ?c ?r ?z }"

    def evaluate() -> None:
        with pytest.raises(SparqlError):
            compute_delta(index, slow, now=NOW, labels="s", most=10**9, stopped=stopped)

    evaluation = threading.Thread(target=evaluate)
    evaluation.start()
    assert begun.wait(20)
    for number in range(50):
        index.apply(Delta.of(added=[statement(number)]))
        quick = "CLEAR GRAPH <http://example.org/g> ; INSERT { ?s <a:b> 1 } WHERE { ?s <a:c> ?o }"
        assert compute_delta(index, quick, now=NOW, labels="q").retracted == number + 1
    assert evaluation.is_alive()
    stop.set()
    evaluation.join(60)
    assert not evaluation.is_alive() and isinstance(index, Index)
