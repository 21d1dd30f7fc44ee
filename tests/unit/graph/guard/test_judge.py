"""What an accepted request is recognised as, what judging costs, and that it is pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.cases import CASES, Case
from tests.support.quads import MemoryQuads
from tests.support.workflows import NAMES, OPERATOR, Release, Request, advancing, text
from treadle.graph.delta import EMPTY_DELTA, Delta
from treadle.graph.guard import Advance, Context, Entry, Refusal, Verdict, judge
from treadle.graph.terms import IRI, Quad
from treadle.graph.vocabulary import vocabulary

R = Release()
GRAPH = IRI("http://example.org/g")


def test_an_advance_is_recognised_whole() -> None:
    advance = R.submit()
    answer = advancing(advance).judge()
    assert answer == Verdict(
        advances=(
            Advance(
                graph=None,
                run=R.run,
                definition=R.plan,
                event=advance.event,
                step=R.step("submit"),
                from_state="Draft",
                to_state="Review",
                revision="1",
                performer=R.agent,
                registration=R.registration,
            ),
        )
    )


def test_new_entities_are_recognised_in_order() -> None:
    other = Release("http://example.org/0", GRAPH)
    added = other.setup() | R.setup()
    answer = Request(set(), set(), added).judge()
    assert answer == Verdict(
        started=(Entry(None, R.run), Entry(GRAPH, other.run)),
        defined=(Entry(None, R.plan), Entry(GRAPH, other.plan)),
        registrations=(Entry(None, R.registration), Entry(GRAPH, other.registration)),
    )


def test_no_change_is_accepted_in_every_mode() -> None:
    for enrolled in (True, False):
        for verify in (True, False):
            context = Context(enrolled=enrolled, verify_transitions=verify)
            assert judge(MemoryQuads(R.setup()), EMPTY_DELTA, context) == Verdict()


def test_graphs_alone_are_not_the_guards_business() -> None:
    delta = Delta.of(graphs_created=[GRAPH], graphs_dropped=[IRI("urn:g:2")])
    assert judge(MemoryQuads(), delta, Context()) == Verdict()


def test_dropping_a_graph_does_not_get_around_it() -> None:
    release = Release("http://example.org/a", GRAPH)
    advance = release.submit()
    committed = (release.setup() - advance.removed()) | advance.added()
    before = MemoryQuads(committed)
    delta = Delta.of(committed, graphs_dropped=[GRAPH])
    answer = judge(before, delta, OPERATOR)
    assert isinstance(answer, Refusal)
    assert answer.reason == "event_immutable"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_judging_changes_nothing_and_repeats_itself(case: Case) -> None:
    request = case.make(R)
    before = MemoryQuads(request.setup)
    state = set(before)
    delta = request.delta(before)
    first = judge(before, delta, case.context)
    shuffled = replace(delta, added=delta.added[::-1], removed=delta.removed[::-1])
    assert judge(before, delta, case.context) == first
    again = judge(before, shuffled, case.context)
    if isinstance(first, Refusal):
        assert isinstance(again, Refusal)
        assert (again.reason, again.entity) == (first.reason, first.entity)
    else:
        assert again == first
    assert set(before) == state


def looked_up(before: MemoryQuads, delta: Delta, context: Context = OPERATOR) -> tuple[int, int]:
    before.asked = before.yielded = 0
    answer = judge(before, delta, context)
    assert isinstance(answer, Verdict), answer
    return before.asked, before.yielded


def test_the_cost_of_an_advance_does_not_follow_the_dataset() -> None:
    """Many other runs, plans and agents, old events of the run, notes on all of it: the same look-ups."""
    advance = R.submit(from_revision="500")
    moved = R.run_quads("Draft", 500)
    small = MemoryQuads(R.plan_quads() | R.registration_quads() | moved)
    delta = small.delta(advance.removed(), advance.added())
    large = set(small)
    for number in range(500):
        large |= Release(f"http://example.org/other{number}", GRAPH if number % 2 else None).setup()
        old = R.submit(from_revision=str(number), signature_text=f"{number:0128x}")
        large |= old.event_quads()
    for number in range(500):
        step = replace(R, prefix=f"{R.prefix}/{number}").step("more")
        large |= R.about(R.plan, (NAMES.has_step, step))
        for subject in (R.run, R.plan, R.step("submit"), R.registration):
            note = Quad(subject, IRI("http://example.org/note"), text(str(number)), GRAPH)
            large |= {note, note._replace(g=None)}
    assert looked_up(MemoryQuads(large), delta) == looked_up(small, delta)


def test_other_data_costs_one_look_up_for_each_subject() -> None:
    note = IRI("http://example.org/note")
    quads = [Quad(note, IRI(f"http://example.org/p{n}"), text(str(n))) for n in range(100)]
    before = MemoryQuads(R.setup())
    asked, yielded = looked_up(before, Delta.of(added=quads))
    assert asked <= 3
    assert yielded == 0


def test_another_namespace_guards_its_own_names_only() -> None:
    foreign = vocabulary("http://example.org/ns#")
    context = replace(OPERATOR, names=foreign)
    everything = Request(R.setup(), R.setup(), R.submit().event_quads())
    assert isinstance(everything.judge(context), Verdict)
    assert isinstance(everything.judge(), Refusal)


def test_a_refusal_says_what_helps_and_holds_no_value() -> None:
    secret = "s3cret-state"
    old, new = R.run_quads(), R.run_quads(secret, 1)
    answer = Request(R.setup(), old - new, new - old).judge()
    assert isinstance(answer, Refusal)
    error = answer.error()
    assert error.reason == "advance_without_event"
    assert error.entity == R.run.value
    assert error.field == "aegis:currentState"
    assert error.graph is None
    assert error.remedy in str(error)
    assert secret not in str(error)
    assert error.status == 403
