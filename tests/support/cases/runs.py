"""Runs: whole, started at the beginning, moved one signed step at a time."""

from __future__ import annotations

from tests.support.cases.base import COMMENT, OTHER, Case, Make, adding, moved, removing
from tests.support.workflows import NAMES, Release, Request, advancing, number, replaced, text, without
from treadle.graph.terms import IRI, XSD, BlankNode, Literal, Quad
from treadle.graph.vocabulary import ACCEPTED_UNSIGNED, ARCHIVED, RDF_TYPE


def _start(state: str = "Draft", revision: int | str = 0) -> Make:
    return lambda r: adding(r.plan_quads(), *r.run_quads(state, revision))


def _run_with(predicate: IRI, *values: Literal | IRI | BlankNode) -> Make:
    return lambda r: adding(r.plan_quads(), *replaced(r.run_quads(), predicate, *values))


def _run_fact(verb: str, predicate: IRI, value: Literal | IRI) -> Make:
    def make(r: Release) -> Request:
        quad = Quad(r.run, predicate, value, r.graph)
        return adding(r.setup(), quad) if verb == "add" else removing(r.setup() | {quad}, quad)

    return make


def _run_removed(r: Release) -> Request:
    return removing(r.setup(), *r.run_quads())


def _run_in_other_graph(r: Release) -> Request:
    return adding(r.plan_quads(), *moved(r.run_quads(), OTHER))


def _run_with_event(r: Release) -> Request:
    advance = r.submit()
    return adding(r.plan_quads() | r.registration_quads(), *r.run_quads(), *advance.event_quads())


def _run_of_old_event(r: Release) -> Request:
    advance = r.submit()
    setup = r.plan_quads() | r.registration_quads() | advance.event_quads()
    return adding(setup, *r.run_quads())


def _record_planted(r: Release) -> Request:
    return adding(r.setup(), Quad(IRI(f"{r.prefix}/note"), ARCHIVED, number(2), r.graph))


def _archived(graph: IRI | None) -> Make:
    def make(r: Release) -> Request:
        tombstone = Quad(r.run, ARCHIVED, number(2), graph or r.graph)
        return adding(r.plan_quads() | {tombstone}, *r.run_quads())

    return make


def _legacy_run_annotated(r: Release) -> Request:
    legacy = without(r.run_quads(), NAMES.current_revision)
    return adding(r.plan_quads() | legacy, Quad(r.run, COMMENT, text("x"), r.graph))


def _two_advances(r: Release) -> Request:
    first = r.submit()
    second = r.advance("reject", "Review", "Draft", 1)
    run = replaced(r.run_quads(), NAMES.current_revision, number(2))
    return Request(
        r.setup(), r.run_quads() - run, first.event_quads() | second.event_quads() | (run - r.run_quads())
    )


def _two_events_one_move(r: Release) -> Request:
    one, two = r.submit(), r.submit(at="2026-11-30T20:00:01Z")
    return Request(r.setup(), one.removed(), one.added() | two.event_quads())


def _moving(state: str, revision: int | str, *, event: bool = True) -> Make:
    """The run moves to a state and revision, with the event of a correct `submit` or without."""

    def make(r: Release) -> Request:
        advance = r.submit()
        old, new = r.run_quads(), r.run_quads(state, revision)
        return Request(r.setup(), old - new, (new - old) | (advance.event_quads() if event else set()))

    return make


def _old_revision(r: Release) -> Request:
    """After a loop the run is at Draft again, at revision 2; the old signed advance comes once more."""
    setup = r.plan_quads() | r.registration_quads() | r.run_quads("Draft", 2)
    advance = r.submit()
    old, new = r.run_quads("Draft", 2), r.run_quads("Review", 3)
    return Request(setup, old - new, (new - old) | advance.event_quads())


def _wrong_old_state(r: Release) -> Request:
    setup = r.plan_quads() | r.registration_quads() | r.run_quads("Review", 0)
    old, new = r.run_quads("Review", 0), r.run_quads("Review", 1)
    return Request(setup, old - new, (new - old) | r.submit().event_quads())


def _double_state(r: Release) -> Request:
    advance = r.submit()
    return Request(r.setup(), set(), advance.added())


RUNS = [
    *(
        Case(
            "run_immutable",
            f"{verb} {NAMES.short(p)}",
            _run_fact(verb, p, v),
            NAMES.short(p),
        )
        for verb, p, v in (
            ("add", NAMES.run_of, IRI("http://example.org/other-plan")),
            ("add", RDF_TYPE, IRI("http://example.org/Type")),
            ("remove", RDF_TYPE, IRI("http://example.org/Type")),
            ("remove", RDF_TYPE, NAMES.run),
            ("add", ACCEPTED_UNSIGNED, number(3)),
            ("remove", ACCEPTED_UNSIGNED, number(3)),
        )
    ),
    Case("run_immutable", "removed", _run_removed),
    Case("run_immutable", "a record planted", _record_planted, "urn:x-treadle:archived"),
    *(
        Case("run_incomplete", label, _run_with(p, *values), NAMES.short(p))
        for label, p, values in (
            ("no runOf", NAMES.run_of, ()),
            ("a text as runOf", NAMES.run_of, (text("plan"),)),
            ("no definition there", NAMES.run_of, (IRI("http://example.org/nowhere"),)),
            ("no state", NAMES.current_state, ()),
            ("two states", NAMES.current_state, (text("Draft"), text("Review"))),
            ("an IRI as state", NAMES.current_state, (IRI("urn:x:Draft"),)),
            ("no revision", NAMES.current_revision, ()),
            ("two revisions", NAMES.current_revision, (number(0), number(1))),
            ("a revision as text", NAMES.current_revision, (text("0"),)),
            ("a revision as decimal", NAMES.current_revision, (Literal("0", XSD + "decimal"),)),
            ("a revision below 0", NAMES.current_revision, (number(-1),)),
        )
    ),
    Case("run_incomplete", "definition in another graph", _run_in_other_graph, "aegis:runOf"),
    Case("run_incomplete", "a second state added by an advance", _double_state, "aegis:currentState"),
    Case("run_incomplete", "an unmigrated run annotated", _legacy_run_annotated, "aegis:currentRevision"),
    Case("run_not_initial", "another state", _start("Review"), "aegis:currentState"),
    Case("run_not_initial", "revision 1", _start("Draft", 1), "aegis:currentRevision"),
    Case("run_not_initial", "with an event", _run_with_event),
    Case("run_not_initial", "with an old event", _run_of_old_event),
    Case("run_not_initial", "archived in this graph", _archived(None)),
    Case("run_not_initial", "archived in another graph", _archived(OTHER)),
    Case(None, "started", _start()),
    Case(None, "plan and run at once", lambda r: adding(set(), *r.plan_quads(), *r.run_quads())),
    Case("advance_not_single", "two steps at once", _two_advances),
    Case("advance_not_single", "two events, one move", _two_events_one_move),
    Case("advance_revision_mismatch", "two higher", _moving("Review", 2), "aegis:currentRevision"),
    Case("advance_revision_mismatch", "not higher", _moving("Review", 0), "aegis:currentRevision"),
    Case("advance_revision_mismatch", "an old advance", _old_revision, "aegis:fromRevision"),
    Case("advance_state_mismatch", "another new state", _moving("Released", 1), "aegis:toState"),
    Case("advance_state_mismatch", "the state stays", _moving("Draft", 1), "aegis:toState"),
    Case("advance_state_mismatch", "another old state", _wrong_old_state, "aegis:fromState"),
    Case("advance_without_event", "no event", _moving("Review", 1, event=False), "aegis:currentState"),
    Case(
        "advance_without_event",
        "only the revision",
        _moving("Draft", 1, event=False),
        "aegis:currentRevision",
    ),
    Case("advance_without_event", "only the state", _moving("Review", 0, event=False), "aegis:currentState"),
    Case(None, "an advance", lambda r: advancing(r.submit())),
    Case(None, "nothing new", lambda r: Request(r.setup(), set(), r.setup())),
    Case(None, "a run annotated", _run_fact("add", COMMENT, text("note"))),
]
