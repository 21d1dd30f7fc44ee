"""The facts kept beside the index: always those of the index, whatever was asked and changed before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.support.sparql import index_of
from tests.support.updates import quads
from treadle.graph import facts as module
from treadle.graph.delta import Delta
from treadle.graph.facts import Facts
from treadle.graph.terms import IRI, Literal, Quad

A, P = IRI("urn:a"), IRI("urn:p")


def fact(number: int, subject: IRI = A) -> Quad:
    return Quad(subject, P, Literal(str(number)))


def alike(facts: Facts, asked: list[Quad]) -> None:
    """Every look-up about some statements answers as the index does."""
    index: Any = facts.index
    for quad in asked:
        s, p, o, g = quad
        assert sorted(facts.facts(s, g)) == sorted(index.facts(s, g))
        assert sorted(facts.objects(s, p, g)) == sorted(index.objects(s, p, g))
        assert facts.exists(quad) == index.exists(quad)
        assert sorted(facts.subjects(p, o, g)) == sorted(index.subjects(p, o, g))
    assert facts.existing(asked) == index.existing(asked) == {quad for quad in asked if index.exists(quad)}


@settings(max_examples=effort(60))
@given(quads(), st.lists(quads(), max_size=4), st.sampled_from([1, 2, 32]), st.sampled_from([1, 3, 4096]))
def test_it_answers_as_the_index_does(
    first: list[Quad], later: list[list[Quad]], few: int, subjects: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", few)
        patch.setattr(module, "SUBJECTS", subjects)
        index = index_of(first)
        facts = Facts(index)
        asked = [*first, *(quad for some in later for quad in some)]
        alike(facts, asked)
        for some in later:  # each in turn takes what is there away and brings what is not
            delta = Delta.of(
                [quad for quad in some if index.exists(quad)], [q for q in some if not index.exists(q)]
            )
            facts.changing(delta)
            index.apply(delta)
            alike(facts, asked)


def test_the_same_is_not_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of([fact(1)])
    facts = Facts(index)
    assert facts.exists(fact(1))
    monkeypatch.setattr(index, "some_facts", None)
    assert facts.objects(A, P, None) == [Literal("1")]
    assert not facts.exists(fact(2))


def test_a_subject_with_many_facts_is_asked_of_the_index() -> None:
    many = [fact(number) for number in range(module.FEW + 1)]
    facts = Facts(index_of(many))
    assert sorted(facts.objects(A, P, None)) == sorted(quad.o for quad in many)
    assert facts.existing([*many, fact(-1)]) == set(many)
    assert facts._known == {(A, None): None}


def test_no_more_subjects_are_kept_than_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SUBJECTS", 3)
    facts = Facts(index_of())
    for number in range(10):
        assert not facts.exists(fact(1, IRI(f"urn:{number}")))
    assert len(facts._known) == 3
