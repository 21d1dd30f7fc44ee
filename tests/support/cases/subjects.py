"""Blank nodes, spelling, roles, and process facts on other data."""

from __future__ import annotations

from dataclasses import replace

from tests.support.cases.base import OTHER, Case, Make, adding, removing, renamed
from tests.support.workflows import NAMES, Release, Request, advancing, number, text
from treadle.graph.delta import Respelled
from treadle.graph.terms import IRI, XSD, BlankNode, Literal, Quad
from treadle.graph.vocabulary import ENDED_AT, LABEL, RDF_TYPE


def _blank_run(r: Release) -> Request:
    return adding(r.setup(), *renamed(r.run_quads(), r.run, BlankNode("r")))


def _blank_event(r: Release) -> Request:
    return advancing(replace(r.submit(), iri=BlankNode("e")))


def _blank_registration_removed(r: Release) -> Request:
    blank = renamed(r.registration_quads(), r.registration, BlankNode("reg"))
    return removing(r.setup() | blank, *blank)


def _respelled(r: Release, quad: Quad, written: Literal, *, operation: str = "insert") -> Request:
    request = advancing(r.submit())
    evidence = Respelled(operation, quad._replace(o=written), quad)  # type: ignore[arg-type]
    return replace(request, respelled=(evidence,))


def _zero_spelled_00(r: Release) -> Request:
    event = r.submit().event
    return _respelled(
        r,
        Quad(event, NAMES.from_revision, number(0), r.graph),
        number("00"),
    )


def _time_of_event(r: Release) -> Request:
    stored = Quad(r.submit().event, ENDED_AT, Literal("2026-11-30T20:00:00Z", XSD + "dateTime"), r.graph)
    return _respelled(r, stored, Literal("2026-11-30T20:00:00+00:00", XSD + "dateTime"))


def _replayed_spelling(r: Release) -> Request:
    """The statement has no effect, it is committed already, but the request spells it badly."""
    quad = Quad(r.run, NAMES.current_revision, number(0), r.graph)
    return replace(Request(r.setup()), respelled=(Respelled("insert", quad._replace(o=number("+0")), quad),))


def _foreign_time(r: Release) -> Request:
    other = IRI(f"{r.prefix}/activity")
    stored = Quad(other, ENDED_AT, Literal("2026-11-30T20:00:00Z", XSD + "dateTime"), r.graph)
    written = Literal("2026-11-30T20:00:00+00:00", XSD + "dateTime")
    request = adding(r.setup(), stored)
    return replace(request, respelled=(Respelled("insert", stored._replace(o=written), stored),))


def _foreign_number(r: Release) -> Request:
    quad = Quad(r.run, IRI("http://example.org/weight"), number(5), r.graph)
    return replace(
        adding(r.setup(), quad), respelled=(Respelled("insert", quad._replace(o=number("+5")), quad),)
    )


def _run_and_step(r: Release) -> Request:
    subject = IRI(f"{r.prefix}/both")
    step = renamed(r.step_quads("submit", "Draft", "Review"), r.step("submit"), subject)
    return adding(r.setup(), *step, *renamed(r.run_quads(), r.run, subject))


def _registration_and_run(r: Release) -> Request:
    subject = IRI(f"{r.prefix}/both")
    both = renamed(r.registration_quads(), r.registration, subject) | renamed(r.run_quads(), r.run, subject)
    return adding(r.plan_quads(), *both)


def _two_roles_two_graphs(r: Release) -> Request:
    other = replace(r, graph=OTHER)
    step = renamed(other.step_quads("submit", "Draft", "Review"), r.step("submit"), r.run)
    return adding(r.setup(), *step)


def _untyped(predicate: IRI, value: Literal | IRI) -> Make:
    return lambda r: adding(r.setup(), Quad(IRI(f"{r.prefix}/note"), predicate, value, r.graph))


def _state_of_lone_workflow(r: Release) -> Request:
    lone = IRI(f"{r.prefix}/lone")
    return adding(
        set(),
        Quad(lone, RDF_TYPE, NAMES.workflow, r.graph),
        Quad(lone, NAMES.initial_state, text("Draft"), r.graph),
    )


def _from_state_on_run(r: Release) -> Request:
    return adding(r.setup(), Quad(r.run, NAMES.from_state, text("Draft"), r.graph))


def _untyped_in_other_graph(r: Release) -> Request:
    return adding(r.setup(), Quad(r.run, NAMES.current_state, text("Draft"), OTHER))


def _lone_types(r: Release) -> Request:
    lone = IRI(f"{r.prefix}/lone")
    return adding(
        set(),
        Quad(lone, RDF_TYPE, NAMES.workflow, r.graph),
        Quad(lone, RDF_TYPE, NAMES.plain_step, r.graph),
        Quad(lone, NAMES.has_step, r.step("submit"), r.graph),
        Quad(lone, LABEL, text("other data"), r.graph),
    )


def _untyped_fact_removed(r: Release) -> Request:
    planted = Quad(IRI(f"{r.prefix}/note"), NAMES.current_state, text("Draft"), r.graph)
    return removing({planted}, planted)


SUBJECTS = [
    Case("blank_node", "a run", _blank_run),
    Case("blank_node", "an event", _blank_event),
    Case(None, "a blank registration is removed", _blank_registration_removed),
    Case("literal_not_canonical", "revision 00", _zero_spelled_00, "aegis:fromRevision"),
    Case("literal_not_canonical", "an event's time", _time_of_event, "prov:endedAtTime"),
    Case("literal_not_canonical", "without effect", _replayed_spelling, "aegis:currentRevision"),
    Case(None, "another activity's time", _foreign_time),
    Case(None, "another property of a run", _foreign_number),
    Case("entity_two_roles", "run and step", _run_and_step, "rdf:type"),
    Case("entity_two_roles", "registration and run", _registration_and_run, "rdf:type"),
    Case(None, "run and step in two graphs", _two_roles_two_graphs),
    *(
        Case("process_fact_untyped", NAMES.short(p), _untyped(p, v), NAMES.short(p))
        for p, v in (
            (NAMES.run_of, NAMES.workflow),
            (NAMES.current_state, text("Draft")),
            (NAMES.current_revision, number(0)),
            (NAMES.in_run, NAMES.workflow),
            (NAMES.at_step, NAMES.workflow),
            (NAMES.from_revision, number(0)),
            (NAMES.transition_version, number(2)),
            (NAMES.initial_state, text("Draft")),
            (NAMES.terminal_state, text("Released")),
            (NAMES.from_state, text("Draft")),
            (NAMES.to_state, text("Draft")),
        )
    ),
    Case("process_fact_untyped", "a lone Workflow", _state_of_lone_workflow, "aegis:initialState"),
    Case("process_fact_untyped", "fromState on a run", _from_state_on_run, "aegis:fromState"),
    Case("process_fact_untyped", "the run, another graph", _untyped_in_other_graph, "aegis:currentState"),
    Case(None, "a lone Workflow and Step with labels", _lone_types),
    Case(None, "a planted fact is removed", _untyped_fact_removed),
]
