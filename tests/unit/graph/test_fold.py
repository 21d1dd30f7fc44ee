"""Folding: whole runs fold, and each way of being wrong is named."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.support.legacy import STATES, v1
from tests.support.quads import MemoryQuads
from tests.support.workflows import NAMES, Advance, Release, key, number, replaced, text, without
from treadle.graph import signatures
from treadle.graph.entities import Event, Registration, registrations
from treadle.graph.fold import Folded, current_registrations, fold_all, fold_run, is_numbered
from treadle.graph.legacy import in_order, instant, spellings
from treadle.graph.terms import IRI, Quad, Term
from treadle.graph.view import Graph
from treadle.graph.vocabulary import ACCEPTED_UNSIGNED, ENDED_AT

R = Release()


def events(*names: str) -> set[Quad]:
    """Signed events of version 2, one after another from revision 0."""
    quads: set[Quad] = set()
    for revision, name in enumerate(names):
        quads |= R.advance(name, *STATES[name], revision).event_quads()
    return quads


def history(*names: str) -> set[Quad]:
    """A run after these steps, with everything that belongs to it."""
    state = STATES[names[-1]][1] if names else "Draft"
    return R.plan_quads() | R.registration_quads() | R.run_quads(state, len(names)) | events(*names)


def fold(quads: Iterable[Quad], *, honour_accepted: bool = True) -> Folded:
    view = MemoryQuads(quads)
    registered = current_registrations(view, NAMES)
    return fold_run(view, R.run, R.graph, NAMES, registered, honour_accepted=honour_accepted)


def reasons(folded: Folded) -> set[str]:
    return {problem.reason for problem in folded.problems}


@pytest.mark.parametrize("names", [[], ["submit"], ["submit", "reject"] * 6 + ["submit", "approve"]])
def test_a_run_folds(names: list[str]) -> None:
    folded = fold(history(*names))
    assert folded.ok, folded.problems
    assert folded.revision == str(len(names))
    assert folded.definition == R.plan
    assert [signatures.step_name(event.step.value) for event in folded.events] == names


def test_ten_and_more_events_are_ordered_by_number_not_by_text() -> None:
    names = ["submit", "reject"] * 6
    folded = fold(history(*names))
    assert [event.from_revision for event in folded.events] == [str(n) for n in range(12)]


def test_another_state_or_revision_than_the_events_lead_to() -> None:
    quads = history("submit")
    assert reasons(fold(replaced_run(quads, NAMES.current_state, text("Released")))) == {"run_differs"}
    assert reasons(fold(replaced_run(quads, NAMES.current_revision, number(2)))) == {"run_differs"}


def replaced_run(quads: set[Quad], predicate: IRI, value: Term) -> set[Quad]:
    return {q._replace(o=value) if (q.s, q.p) == (R.run, predicate) else q for q in quads}


def test_a_missing_event() -> None:
    quads = history("submit", "reject", "submit")
    gone = R.advance("reject", *STATES["reject"], 1).event_quads()
    assert {"advance_revision_mismatch", "advance_state_mismatch", "run_differs"} <= reasons(
        fold(quads - gone)
    )


def test_two_events_of_one_revision() -> None:
    quads = history("submit") | R.submit(at="2026-11-30T20:00:01Z").event_quads()
    assert "advance_revision_mismatch" in reasons(fold(quads))


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"signature_text": "0" * 128}, "signature_invalid"),
        ({"signer": b"\x01" * 32}, "signature_invalid"),
        ({"performer": IRI("urn:agent:nobody")}, "signer_unregistered"),
        ({"step": IRI("http://example.org/a/step/other")}, "event_step_undeclared"),
        ({"at": "2026|", "signature_text": "0" * 128}, "field_ambiguous"),
    ],
)
def test_a_bad_event(change: dict[str, object], reason: str) -> None:
    advance: Advance = R.submit(**change)
    quads = history("submit") - R.submit().event_quads() | advance.event_quads()
    assert reason in reasons(fold(quads))


def test_an_agent_registered_under_another_iri() -> None:
    quads = history("submit") | R.about(R.registration, (NAMES.agent, IRI("urn:other:x")))
    assert reasons(fold(quads)) == {"signer_mismatch"}


def test_a_key_counts_as_of_the_events_commit() -> None:
    """The registration is gone now; it was there when the event was committed."""
    before = MemoryQuads(history("submit"))
    kept = registrations(before, R.agent_name, NAMES)
    now = MemoryQuads(history("submit") - R.registration_quads())

    def registered(event: Event, graph: Graph) -> list[Registration]:
        return kept

    assert fold_run(now, R.run, R.graph, NAMES, registered).ok
    assert not fold_run(now, R.run, R.graph, NAMES, current_registrations(now, NAMES)).ok


@pytest.mark.parametrize("predicate", [NAMES.run_of, NAMES.current_state])
def test_a_run_that_lacks_something(predicate: IRI) -> None:
    run = R.run_quads("Review", 1)
    quads = history("submit") - run | without(run, predicate)
    assert reasons(fold(quads)) == {"run_incomplete"}


def test_an_event_that_lacks_something() -> None:
    event = R.submit().event_quads()
    quads = history("submit") - event | without(event, NAMES.to_state)
    assert "event_incomplete" in reasons(fold(quads))


def test_a_finished_run_from_before_is_left_alone() -> None:
    quads = R.plan_quads() | without(R.run_quads("Released"), NAMES.current_revision)
    folded = fold(quads)
    assert folded.ok
    assert folded.legacy


def test_a_run_without_revision_but_with_numbered_events_is_not_left_alone() -> None:
    quads = {q for q in history("submit") if q.p != NAMES.current_revision}
    assert reasons(fold(quads)) == {"run_incomplete"}


# --- events from before enrollment ----------------------------------------------------------------------


def migrated(*olds: set[Quad], state: str, revision: int) -> set[Quad]:
    quads = R.plan_quads() | R.registration_quads() | R.run_quads(state, revision)
    return quads.union(*olds)


def test_old_events_come_first_in_the_order_of_their_times() -> None:
    later = R.advance("submit", "Draft", "Review", 2).event_quads()
    quads = migrated(
        v1("reject", "2025-02-01T00:00:00Z"),
        v1("submit", "2025-01-01T00:00:00Z"),
        later,
        state="Review",
        revision=3,
    )
    folded = fold(quads)
    assert folded.ok, folded.problems
    assert [event.at[:7] for event in folded.events] == ["2025-01", "2025-02", "2026-11"]
    assert [is_numbered(event) for event in folded.events] == [False, False, True]


def test_old_events_of_one_time_are_chained() -> None:
    at = "2025-01-01T00:00:00"
    olds = [v1("submit", f"{at}Z"), v1("reject", f"{at}.0Z"), v1("submit", f"{at}.00Z")]
    assert fold(migrated(*olds, state="Review", revision=3)).ok


def test_old_events_that_do_not_chain() -> None:
    olds = [v1("submit", "2025-01-02T00:00:00Z"), v1("reject", "2025-01-01T00:00:00Z")]
    assert "advance_state_mismatch" in reasons(fold(migrated(*olds, state="Draft", revision=2)))


def test_an_old_event_of_a_step_that_was_split_is_known_by_its_name() -> None:
    old = v1("submit", "2025-01-01T00:00:00Z", step=IRI("http://example.org/elsewhere/submit"))
    assert fold(migrated(old, state="Review", revision=1)).ok


def test_unsigned_old_events_count_as_far_as_they_were_accepted() -> None:
    old = v1("submit", "2025-01-01T00:00:00Z", signed=False)
    quads = migrated(old, state="Review", revision=1)
    folded = fold(quads)
    assert reasons(folded) == {"event_unsigned"}
    assert len(folded.unsigned) == 1
    accepted = quads | R.about(R.run, (ACCEPTED_UNSIGNED, number(1)))
    assert fold(accepted).ok
    assert reasons(fold(accepted, honour_accepted=False)) == {"event_unsigned"}
    assert not fold(quads | R.about(R.run, (ACCEPTED_UNSIGNED, number(0)))).ok
    assert not fold(quads | R.about(R.run, (ACCEPTED_UNSIGNED, text("many")))).ok


def test_a_time_written_with_an_offset_still_verifies() -> None:
    at, stored = "2025-01-01T00:00:00+00:00", text("2025-01-01T00:00:00Z")
    old = {q._replace(o=stored) if q.p == ENDED_AT else q for q in v1("submit", at)}
    assert fold(migrated(old, state="Review", revision=1)).ok
    assert spellings(at) == (at,)


@pytest.mark.parametrize(
    "earlier, later",
    [
        ("2025-01-01T00:00:00Z", "2025-01-01T00:00:00.1Z"),
        ("2025-01-01T00:30:00+01:00", "2025-01-01T00:00:00Z"),
        ("2025-01-01T00:00:00", "2025-01-01T00:00:00-00:01"),
    ],
)
def test_instants_are_compared_over_zones(earlier: str, later: str) -> None:
    one, two = instant(earlier), instant(later)
    assert one is not None
    assert two is not None
    assert one < two


@pytest.mark.parametrize("text_", ["", "yesterday", "2025-02-30T00:00:00Z", "0001-01-01T00:00:00+01:00"])
def test_no_instant(text_: str) -> None:
    assert instant(text_) is None


def test_events_without_a_time_have_no_order() -> None:
    old = Event(IRI("urn:e:1"), R.run, R.step("submit"), "Draft", "Review", "yesterday", R.agent, "")
    assert in_order([old], "Draft") is None
    assert in_order([], "Draft") == []


# --- over all runs --------------------------------------------------------------------------------------


def fold_everything(quads: set[Quad]) -> list[Folded]:
    view = MemoryQuads(quads)
    return list(fold_all(view, NAMES, current_registrations(view, NAMES)))


def test_every_run_of_every_graph_is_folded_in_order() -> None:
    other = Release("http://example.org/a", IRI("http://example.org/g"))
    moved = {q._replace(g=other.graph) for q in R.plan_quads() | R.run_quads()}
    folded = fold_everything(history("submit") | moved)
    assert [(one.graph, one.ok) for one in folded] == [(None, True), (other.graph, True)]


def test_one_signature_on_two_events() -> None:
    graph = IRI("http://example.org/g")
    moved = {q._replace(g=graph) for q in history("submit") if q.s != R.registration}
    folded = fold_everything(history("submit") | moved)
    assert [reasons(one) for one in folded] == [set(), {"signature_reused"}]


def test_one_agent_name_with_two_iris() -> None:
    second = IRI("http://example.org/a/second")
    other = R.submit(run=second, performer=IRI(f"urn:elsewhere:{R.agent_name}"))
    quads = history("submit") | R.run_quads("Review", 1, second) | other.event_quads()
    assert {reason for one in fold_everything(quads) for reason in reasons(one)} == {"signer_mismatch"}


def test_a_numbered_event_of_no_run() -> None:
    quads = R.plan_quads() | R.submit().event_quads()
    assert [reasons(one) for one in fold_everything(quads)] == [{"event_without_advance"}]
    old = v1("submit", "2025-01-01T00:00:00Z")
    assert fold_everything(R.plan_quads() | old) == []


def test_another_key_than_the_registered_one() -> None:
    quads = history("submit") - R.registration_quads()
    quads |= replaced(R.registration_quads(), NAMES.public_key, text(key("somebody")))
    assert [reasons(one) for one in fold_everything(quads)] == [{"signature_invalid"}]
