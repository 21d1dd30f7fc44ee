"""Every reason of the table: requests that trip it, their neighbours, and its place in the order."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from tests.support.cases import CASES, Case, first_of
from tests.support.workflows import OPERATOR, Release, Request
from treadle.graph.guard import REASONS, Context, Refusal, Verdict
from treadle.graph.guard.reasons import ORDER
from treadle.graph.terms import IRI

FIRST, SECOND = Release("http://example.org/a"), Release("http://example.org/b", IRI("http://example.org/g"))


def both(*contexts: Context) -> Context:
    """The context that lacks what any of them lacks."""
    return replace(
        OPERATOR,
        identity=all(context.identity for context in contexts),
        define=all(context.define for context in contexts),
    )


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("release", [FIRST, SECOND], ids=["default graph", "named graph"])
def test_case(case: Case, release: Release) -> None:
    answer = case.make(release).judge(case.context)
    if case.reason is None:
        assert isinstance(answer, Verdict), answer
        return
    assert isinstance(answer, Refusal), "accepted"
    assert answer.reason == case.reason, answer
    if case.field is not None:
        assert answer.field == case.field
    assert str(answer.entity)
    assert answer.remedy
    assert answer.error().reason == case.reason


def test_every_reason_has_a_case_and_a_neighbour_is_near() -> None:
    assert {case.reason for case in CASES} - {None} == set(ORDER)
    assert sum(case.reason is None for case in CASES) >= len(ORDER)


@pytest.mark.parametrize("early, late", list(itertools.combinations([r.name for r in REASONS], 2)))
def test_the_earlier_reason_answers(early: str, late: str) -> None:
    one, two = first_of(early), first_of(late)
    request = one.make(FIRST) | two.make(SECOND)
    swapped = two.make(FIRST) | one.make(SECOND)
    for composed in (request, swapped):
        answer = composed.judge(both(one.context, two.context))
        assert isinstance(answer, Refusal)
        assert answer.reason == early


@pytest.mark.parametrize("reason", [reason.name for reason in REASONS])
def test_ties_go_to_the_first_graph_then_subject(reason: str) -> None:
    case = first_of(reason)
    graph = IRI("http://example.org/g")
    in_default = case.make(Release("http://example.org/z"))
    in_graph_a = case.make(Release("http://example.org/a", graph))
    in_graph_b = case.make(Release("http://example.org/b", graph))
    everywhere = (in_graph_b | in_graph_a | in_default).judge(case.context)
    named = (in_graph_b | in_graph_a).judge(case.context)
    assert isinstance(everywhere, Refusal)
    assert isinstance(named, Refusal)
    assert (everywhere.reason, everywhere.graph) == (reason, None)
    assert (named.reason, named.graph) == (reason, graph)
    alone = in_graph_a.judge(case.context)
    assert isinstance(alone, Refusal)
    assert named.entity == alone.entity


def test_nothing_changed_is_accepted() -> None:
    assert Request(FIRST.setup()).judge() == Verdict()
