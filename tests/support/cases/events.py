"""Events: whole, of version 2, bare, immutable, of a run that advances."""

from __future__ import annotations

from dataclasses import replace

from tests.support.cases.base import COMMENT, OTHER, Case, Make, adding, moved, of_entity, removing
from tests.support.workflows import NAMES, OPERATOR, Release, Request, advancing, number, replaced, text
from treadle.graph.terms import IRI, XSD, Literal, Quad, Term
from treadle.graph.vocabulary import ENDED_AT, LABEL, RDF_TYPE


def _event_with(predicate: IRI, *values: Term) -> Make:
    def make(r: Release) -> Request:
        advance = r.submit()
        event = replaced(advance.event_quads(), predicate, *values)
        return Request(r.setup(), advance.removed(), event | advance.moved())

    return make


def _event_plus(*facts: tuple[IRI, Term]) -> Make:
    def make(r: Release) -> Request:
        request = advancing(r.submit())
        request.added |= r.about(r.submit().event, *facts)
        return request

    return make


def _after_advance(r: Release) -> set[Quad]:
    advance = r.submit()
    return (r.setup() - advance.removed()) | advance.added()


def _event_fact(add: bool, predicate: IRI) -> Make:
    def make(r: Release) -> Request:
        setup = _after_advance(r)
        event = r.submit().event
        if add:
            return adding(setup, Quad(event, predicate, text("new"), r.graph))
        return removing(setup, *(q for q in setup if q.s == event and q.p == predicate))

    return make


def _event_removed(r: Release) -> Request:
    setup = _after_advance(r)
    return removing(setup, *of_entity(setup, r.submit().event))  # type: ignore[arg-type]


def _replayed(r: Release) -> Request:
    return Request(_after_advance(r), set(), r.submit().event_quads())


def _event_alone(r: Release) -> Request:
    return adding(r.setup(), *r.submit().event_quads())


def _event_in_other_graph(r: Release) -> Request:
    request = advancing(r.submit())
    event = r.submit().event_quads()
    request.added = (request.added - event) | moved(event, OTHER)
    return request


def _step_of_other_plan(r: Release) -> Request:
    other = replace(r, prefix=f"{r.prefix}/other")
    advance = r.submit(step=other.step("submit"))
    return advancing(advance, setup=r.setup() | other.plan_quads())


def _step_in_other_graph(r: Release) -> Request:
    """The step is declared, and committed, in another graph only."""
    step = IRI(f"{r.prefix}/step/skip")
    elsewhere = replace(r, graph=OTHER)
    setup = r.setup() | elsewhere.plan_quads() | elsewhere.step_quads("skip", "Draft", "Released")
    return advancing(r.advance("skip", "Draft", "Released", step=step), setup=setup)


def _other_states(r: Release) -> Request:
    return advancing(r.advance("submit", "Draft", "Released"))


def _strange_state(r: Release) -> Request:
    return advancing(r.advance("submit", "Draft", "Re|view", signature_text="0" * 128))


def _strange_agent(r: Release) -> Request:
    return advancing(r.submit(performer=IRI("urn:agent:al\u00a0ice"), signature_text="0" * 128))


def _nameless_agent(r: Release) -> Request:
    return advancing(r.submit(performer=IRI("urn:agent:"), signature_text="0" * 128))


def _strange(**changes: object) -> Make:
    return lambda r: advancing(r.submit(signature_text="0" * 128, **changes))


_WRONG: dict[IRI, Term] = {
    NAMES.in_run: text("run"),
    NAMES.at_step: text("submit"),
    NAMES.from_state: IRI("urn:x:Draft"),
    NAMES.to_state: Literal("Review", language="en"),
    ENDED_AT: Literal("2026-11-30T20:00:00Z", XSD + "dateTime"),
    NAMES.performed_by: text("alice"),
    NAMES.from_revision: text("0"),
    NAMES.transition_version: IRI("urn:x:2"),
    NAMES.signature: IRI("urn:x:signature"),
}
_SECOND: dict[IRI, Term] = {
    NAMES.in_run: IRI("http://example.org/second"),
    NAMES.at_step: IRI("http://example.org/second"),
    NAMES.from_state: text("Second"),
    NAMES.to_state: text("Second"),
    ENDED_AT: text("2026-11-30T20:00:09Z"),
    NAMES.performed_by: IRI("urn:agent:second"),
    NAMES.from_revision: number(7),
    NAMES.transition_version: number(3),
    NAMES.signature: text("0" * 128),
}

EVENTS = [
    *(
        Case("event_immutable", f"remove {NAMES.short(p)}", _event_fact(False, p), NAMES.short(p))
        for p in (RDF_TYPE, NAMES.signature, NAMES.from_revision, NAMES.in_run, ENDED_AT)
    ),
    Case("event_immutable", "add a label", _event_fact(True, LABEL), "rdfs:label"),
    Case("event_immutable", "add an annotation", _event_fact(True, COMMENT), "rdfs:comment"),
    Case("event_immutable", "removed", _event_removed),
    Case(None, "written again exactly", _replayed),
    Case("event_unsigned", "no signature", _event_with(NAMES.signature), "aegis:signature"),
    *(
        Case("event_incomplete", f"no {NAMES.short(p)}", _event_with(p), NAMES.short(p))
        for p in _WRONG
        if p != NAMES.signature
    ),
    *(
        Case("event_incomplete", f"two {NAMES.short(p)}", _event_plus((p, v)), NAMES.short(p))
        for p, v in _SECOND.items()
    ),
    *(
        Case("event_incomplete", f"wrong {NAMES.short(p)}", _event_with(p, v), NAMES.short(p))
        for p, v in _WRONG.items()
    ),
    *(
        Case("event_incomplete", f"the time {value}", _event_with(ENDED_AT, text(value)), "prov:endedAtTime")
        for value in (
            "yesterday",
            "2026-11-30",
            "2026-11-30T20:00:00",
            "2026-11-30T20:00:00+00:00",
            "2026-02-30T20:00:00Z",
            "2026-11-30T24:00:00Z",
            "2026-11-30 20:00:00Z",
            "2026-11-30T20:00:00.Z",
            "٢٠٢٦-11-30T20:00:00Z",
        )
    ),
    Case(
        "event_incomplete",
        "a negative revision",
        _event_with(NAMES.from_revision, number(-1)),
        "aegis:fromRevision",
    ),
    *(
        Case(
            "event_version",
            f"version {value.n3()}",
            _event_with(NAMES.transition_version, value),
            "aegis:transitionVersion",
        )
        for value in (
            number(1),
            number(3),
            text("2"),
            Literal("2", XSD + "decimal"),
            Literal("2", XSD + "string"),
        )
    ),
    Case("event_extra_fact", "an annotation", _event_plus((COMMENT, text("x"))), "rdfs:comment"),
    Case(
        "event_extra_fact", "another type", _event_plus((RDF_TYPE, IRI("http://example.org/T"))), "rdf:type"
    ),
    Case(None, "a label", _event_plus((LABEL, text("Submitted")))),
    Case(
        None,
        "a listed predicate",
        _event_plus((COMMENT, text("x"))),
        context=replace(OPERATOR, event_predicates=frozenset([COMMENT])),
    ),
    Case("event_without_advance", "the run stays", _event_alone, "aegis:inRun"),
    Case("event_without_advance", "the event in another graph", _event_in_other_graph, "aegis:inRun"),
    Case("field_ambiguous", "a bar in a state", _strange_state, "aegis:toState"),
    Case("field_ambiguous", "white space in the agent's name", _strange_agent, "aegis:performedBy"),
    Case("field_ambiguous", "no agent's name", _nameless_agent, "aegis:performedBy"),
    *(
        Case("field_ambiguous", label, _strange(**{field: value}), shown)
        for label, field, value, shown in (
            ("a bar in the time", "at", "2026-11-30T20:00:00Z|x", "prov:endedAtTime"),
            ("an empty time", "at", "", "prov:endedAtTime"),
            ("a line end in the time", "at", "2026-11-30T20:00:00Z\n", "prov:endedAtTime"),
            ("a nameless step", "step", IRI("http://example.org/a/step/"), "aegis:atStep"),
            ("white space in the step's name", "step", IRI("http://example.org/s\u2003t"), "aegis:atStep"),
        )
    ),
    Case("event_step_undeclared", "a step of another plan", _step_of_other_plan, "aegis:atStep"),
    Case("event_step_undeclared", "a step of another graph", _step_in_other_graph, "aegis:atStep"),
    Case("event_step_undeclared", "other states than the step's", _other_states, "aegis:atStep"),
]
