"""The guard behind SPARQL Update: every case as a text, on both paths, and ways around it that one tries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.cases import CASES, Case
from tests.support.guarded import GuardedIndex, Path, block
from tests.support.workflows import NAMES, OPERATOR, Release, Request, key, replaced, seed, text, without
from treadle.graph.guard import Refusal, Verdict
from treadle.graph.terms import IRI, XSD_INTEGER, BlankNode, Quad
from treadle.graph.vocabulary import ENDED_AT, RDF_TYPE

G = IRI("http://example.org/g")
R = Release("http://example.org/a", G)
OTHER = Release("http://example.org/a")
SPARQL_CASES = [
    case
    for case in CASES
    if case.reason != "literal_not_canonical"
    and not any(q.s == BlankNode("reg") for q in case.make(R).removed)
]


def reason(answer: Verdict | Refusal) -> str | None:
    return answer.reason if isinstance(answer, Refusal) else None


def guarded(request: Request, case: Case | None = None) -> GuardedIndex:
    return GuardedIndex(request.setup, case.context if case is not None else OPERATOR)


# --- each case as a text ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["direct", "sequence"])
@pytest.mark.parametrize("case", [c for c in SPARQL_CASES if not c.make(R).respelled], ids=str)
def test_as_data(case: Case, path: Path) -> None:
    request = case.make(R)
    data = guarded(request, case)
    before = data.quads()
    update = f"DELETE DATA {{ {block(request.removed)} }} ; INSERT DATA {{ {block(request.added)} }}"
    answer = data.update(update, path)
    assert reason(answer) == case.reason
    if case.reason is not None:
        assert data.quads() == before


@pytest.mark.parametrize("case", [c for c in SPARQL_CASES[::3] if not c.make(R).respelled], ids=str)
def test_as_a_template_over_a_pattern(case: Case) -> None:
    request = case.make(R)
    data = guarded(request, case)
    where = "OPTIONAL { ?nothing ?is ?here }"
    update = f"DELETE {{ {block(request.removed)} }} INSERT {{ {block(request.added)} }} WHERE {{ {where} }}"
    assert reason(data.update(update)) == case.reason


# --- spelling -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "canonical, spelled",
    [
        (f'"0"^^<{XSD_INTEGER}>', f'"00"^^<{XSD_INTEGER}>'),
        (f'"0"^^<{XSD_INTEGER}>', "+0"),
        (f'"0"^^<{XSD_INTEGER}>', "-0"),
        (f'"1"^^<{XSD_INTEGER}>', "01"),
        (f'"2"^^<{XSD_INTEGER}>', "+2"),
    ],
)
def test_a_number_that_is_spelled_otherwise(canonical: str, spelled: str) -> None:
    advance = R.submit()
    added = block(advance.added())
    assert canonical in added
    data = GuardedIndex(R.setup())
    removed, other = block(advance.removed()), added.replace(canonical, spelled)
    update = f"DELETE DATA {{ {removed} }} ; INSERT DATA {{ {other} }}"
    assert reason(data.update(update)) == "literal_not_canonical"
    plain = f"DELETE DATA {{ {block(advance.removed())} }} ; INSERT DATA {{ {added} }}"
    assert reason(data.update(plain)) is None


def test_a_short_number_is_canonical() -> None:
    advance = R.submit()
    added = block(advance.added()).replace(f'"0"^^<{XSD_INTEGER}>', "0").replace(f'"2"^^<{XSD_INTEGER}>', "2")
    update = f"DELETE DATA {{ {block(advance.removed())} }} ; INSERT DATA {{ {added} }}"
    assert reason(GuardedIndex(R.setup()).update(update)) is None


def test_a_respelled_statement_that_is_committed_already_is_refused_too() -> None:
    data = GuardedIndex(R.setup())
    again = f"INSERT DATA {{ GRAPH {G.n3()} {{ {R.run.n3()} {NAMES.current_revision.n3()} 00 }} }}"
    assert reason(data.update(again)) == "literal_not_canonical"
    assert reason(data.update(again.replace("00", "0"))) is None


def test_a_computed_number_is_judged_as_it_is_stored() -> None:
    """Revisions may be computed in the pattern; what is computed is canonical."""
    advance = R.submit()
    event = block(advance.event_quads())
    run, revision, state = R.run.n3(), NAMES.current_revision.n3(), NAMES.current_state.n3()
    update = (
        f"DELETE {{ GRAPH {G.n3()} {{ {run} {revision} ?n ; {state} ?s }} }} "
        f'INSERT {{ GRAPH {G.n3()} {{ {run} {revision} ?m ; {state} "Review" }} {event} }} '
        f"WHERE {{ GRAPH {G.n3()} {{ {run} {revision} ?n ; {state} ?s }} BIND(?n + 1 AS ?m) }}"
    )
    answer = GuardedIndex(R.setup()).update(update)
    assert isinstance(answer, Verdict), answer
    assert answer.advances[0].revision == "1"


# --- ways around it -----------------------------------------------------------------------------------------


def advanced() -> GuardedIndex:
    """One run that was advanced once, in a named graph."""
    data = GuardedIndex(R.setup())
    advance = R.submit()
    update = f"DELETE DATA {{ {block(advance.removed())} }} ; INSERT DATA {{ {block(advance.added())} }}"
    assert isinstance(data.update(update), Verdict)
    return data


STATE = NAMES.current_state.n3()
WITH = (
    f'WITH {G.n3()} DELETE {{ ?r {STATE} ?s }} INSERT {{ ?r {STATE} "Released" }} WHERE {{ ?r {STATE} ?s }}'
)
USING = f'INSERT {{ GRAPH {G.n3()} {{ ?r {STATE} "Released" }} }} USING {G.n3()} WHERE {{ ?r {STATE} ?s }}'


@pytest.mark.parametrize(
    "update, expected",
    [
        (f"DROP GRAPH {G.n3()}", "event_immutable"),
        (f"CLEAR GRAPH {G.n3()}", "event_immutable"),
        ("DROP ALL", "event_immutable"),
        ("CLEAR NAMED", "event_immutable"),
        ("DROP DEFAULT", None),
        (f"MOVE {G.n3()} TO <urn:g:2>", "event_immutable"),
        (f"MOVE {G.n3()} TO DEFAULT", "event_immutable"),
        (f"COPY DEFAULT TO {G.n3()}", "event_immutable"),
        (f"ADD DEFAULT TO {G.n3()}", None),
        (f"COPY {G.n3()} TO {G.n3()}", None),
        (f"ADD {G.n3()} TO {G.n3()}", None),
        (f"DROP GRAPH {G.n3()} ; CREATE GRAPH {G.n3()}", "event_immutable"),
        ("DELETE WHERE { GRAPH ?g { ?s ?p ?o } }", "event_immutable"),
        (f"DELETE WHERE {{ GRAPH ?g {{ ?s {NAMES.signature.n3()} ?o }} }}", "event_immutable"),
        (f"DELETE WHERE {{ GRAPH ?g {{ ?s a {NAMES.event.n3()} }} }}", "event_immutable"),
        (f"DELETE WHERE {{ GRAPH ?g {{ ?s a {NAMES.run.n3()} }} }}", "run_immutable"),
        (f"DELETE WHERE {{ GRAPH ?g {{ ?s a {NAMES.step.n3()} }} }}", "plan_immutable"),
        (f"DELETE WHERE {{ GRAPH ?g {{ ?s {NAMES.has_step.n3()} ?o }} }}", "plan_immutable"),
        (f"DELETE WHERE {{ GRAPH ?g {{ ?s {NAMES.current_revision.n3()} ?o }} }}", "run_incomplete"),
        (WITH, "advance_without_event"),
        (USING, "run_incomplete"),
        (
            f"INSERT {{ GRAPH <urn:g:2> {{ ?s ?p ?o }} }} WHERE {{ GRAPH {G.n3()} {{ ?s ?p ?o }} }}",
            "registration_incomplete",
        ),
    ],
)
def test_a_way_around(update: str, expected: str | None) -> None:
    data = advanced()
    before = data.quads()
    assert reason(data.update(update)) == expected
    if expected is not None:
        assert data.quads() == before


def test_removing_and_bringing_back_in_one_request_is_no_change() -> None:
    data = advanced()
    before = data.quads()
    everything = block(before)
    assert data.update(f"DROP ALL ; INSERT DATA {{ {everything} }}") == Verdict()
    assert data.quads() == before


def test_the_order_of_operations_hides_nothing() -> None:
    """Drop the run, start it again at the beginning, advance it: all in one request."""
    data = advanced()
    run = f"DELETE WHERE {{ GRAPH {G.n3()} {{ {R.run.n3()} ?p ?o }} }}"
    again = f"{run} ; INSERT DATA {{ {block(R.run_quads())} }}"
    assert reason(data.update(again)) == "advance_without_event"
    fresh = R.submit(at="2026-11-30T20:00:09Z")
    moved = f"DELETE DATA {{ {block(fresh.removed())} }} ; INSERT DATA {{ {block(fresh.added())} }}"
    assert reason(data.update(f"{again} ; {moved}")) == "event_without_advance"


def test_copying_a_whole_history_into_another_graph() -> None:
    """A history cannot be brought in by a request: its run is not at the beginning."""
    data = advanced()
    kept = {q for q in data.quads() if q.s != R.registration}
    elsewhere = {q._replace(g=IRI("urn:g:2")) for q in kept}
    assert reason(data.update(f"INSERT DATA {{ {block(elsewhere)} }}")) == "run_not_initial"


def test_an_event_after_the_fact() -> None:
    """The run moves in one request and its event comes in the next: both are refused."""
    data = GuardedIndex(R.setup())
    advance = R.submit()
    move = f"DELETE DATA {{ {block(advance.removed())} }} ; INSERT DATA {{ {block(advance.moved())} }}"
    assert reason(data.update(move)) == "advance_without_event"
    assert reason(data.update(f"INSERT DATA {{ {block(advance.event_quads())} }}")) == "event_without_advance"


def test_facts_planted_before_the_type() -> None:
    """An event's unguarded facts are planted; when the type comes, the whole is judged."""
    data = GuardedIndex(R.setup())
    advance = R.submit()
    planted = {q for q in advance.event_quads() if q.p in (NAMES.signature, NAMES.performed_by, ENDED_AT)}
    note = {Quad(advance.event, IRI("http://example.org/note"), text("planted"), G)}
    assert reason(data.update(f"INSERT DATA {{ {block(planted | note)} }}")) is None
    rest = (advance.event_quads() - planted) | advance.moved()
    update = f"DELETE DATA {{ {block(advance.removed())} }} ; INSERT DATA {{ {block(rest)} }}"
    assert reason(data.update(update)) == "event_extra_fact"
    assert reason(data.update(f"DELETE DATA {{ {block(note)} }}")) is None
    assert reason(data.update(update)) is None


def test_a_type_by_another_spelling_of_its_iri_is_another_type() -> None:
    data = GuardedIndex(R.setup())
    run = {q for q in R.run_quads("Released", 7, IRI("urn:x:run")) if q.p == RDF_TYPE}
    encoded = block(run).replace("WorkflowRun", "Workflow%52un")
    assert reason(data.update(f"INSERT DATA {{ {encoded} }}")) is None
    escaped = block(run).replace("WorkflowRun", "Workflow\\u0052un")
    assert reason(data.update(f"INSERT DATA {{ {escaped} }}")) == "run_incomplete"


def test_a_base_and_prefixes_resolve_to_guarded_names() -> None:
    data, run = GuardedIndex(R.setup()), R.run.n3()
    texts = (
        f'PREFIX x: <{NAMES.base}> INSERT DATA {{ GRAPH {G.n3()} {{ {run} x:currentState "Released" }} }}',
        f'BASE <{NAMES.base}> INSERT DATA {{ GRAPH {G.n3()} {{ {run} <currentState> "Released" }} }}',
    )
    for update in texts:
        assert reason(data.update(update)) == "run_incomplete"


def test_two_runs_in_one_request_are_both_checked() -> None:
    second = IRI("http://example.org/a/second-run")
    one, two = R.submit(), R.submit(run=second)
    data = GuardedIndex(R.setup() | R.run_quads(run=second))
    forged = replace(two, signature_text=one.signature)
    for other, expected in ((forged, "signature_invalid"), (two, None)):
        update = (
            f"DELETE DATA {{ {block(one.removed() | other.removed())} }} ; "
            f"INSERT DATA {{ {block(one.added() | other.added())} }}"
        )
        assert reason(data.update(update)) == expected


def test_a_plan_of_the_same_iri_in_another_graph_does_not_help() -> None:
    """The default graph's plan has a shortcut; the run is in the named graph."""
    shortcut = OTHER.step_quads("skip", "Draft", "Released") | OTHER.about(
        OTHER.plan, (NAMES.has_step, OTHER.step("skip"))
    )
    data = GuardedIndex(R.setup() | OTHER.plan_quads() | shortcut)
    advance = R.advance("skip", "Draft", "Released")
    update = f"DELETE DATA {{ {block(advance.removed())} }} ; INSERT DATA {{ {block(advance.added())} }}"
    assert reason(data.update(update)) == "event_step_undeclared"


def test_a_key_is_rotated_and_the_old_one_retired() -> None:
    data = GuardedIndex(R.setup())
    new = {q._replace(s=IRI("urn:r:new")) for q in R.registration_quads()}
    new = replaced(new, NAMES.public_key, text(key("new key")))
    assert reason(data.update(f"INSERT DATA {{ {block(new)} }}")) is None
    assert reason(data.update(f"DELETE DATA {{ {block(R.registration_quads())} }}")) is None
    for signer, expected in ((None, "signature_invalid"), (seed("new key"), None)):
        advance = R.submit(signer=signer)
        update = f"DELETE DATA {{ {block(advance.removed())} }} ; INSERT DATA {{ {block(advance.added())} }}"
        assert reason(data.update(update)) == expected


def test_an_extra_statement_of_the_event_in_another_graph_is_other_data() -> None:
    data = advanced()
    event = R.submit().event
    note = Quad(event, IRI("http://example.org/note"), text("seen"), None)
    assert reason(data.update(f"INSERT DATA {{ {block([note])} }}")) is None
    bare = without(R.submit().event_quads(), RDF_TYPE)
    planted = {q._replace(g=None) for q in bare}
    assert reason(data.update(f"INSERT DATA {{ {block(planted)} }}")) == "process_fact_untyped"
