"""Plans: definitions and their steps."""

from __future__ import annotations

from dataclasses import replace

from tests.support.cases.base import COMMENT, OTHER, Case, Make, adding, moved, removing, renamed
from tests.support.workflows import NAMES, OPERATOR, Release, Request, number, replaced, text, without
from treadle.graph.terms import IRI, BlankNode, Literal, Quad
from treadle.graph.vocabulary import LABEL, RDF_TYPE

NO_DEFINE = replace(OPERATOR, define=False)


def _define(r: Release) -> Request:
    return adding(set(), *r.plan_quads())


def _definition_with(predicate: IRI, *values: Literal | IRI | BlankNode) -> Make:
    def make(r: Release) -> Request:
        steps = r.plan_quads() - r.definition_quads()
        return adding(set(), *steps, *replaced(r.definition_quads(), predicate, *values))

    return make


def _step_with(predicate: IRI, *values: Literal | IRI | BlankNode) -> Make:
    def make(r: Release) -> Request:
        step = r.step_quads("reject", "Review", "Draft")
        return adding(set(), *(r.plan_quads() - step), *replaced(step, predicate, *values))

    return make


def _plan(steps: list[tuple[str, str, str]], terminal: list[str], initial: str = "Draft") -> Make:
    """A plan of steps (the last parts of their IRIs, from, to)."""

    def make(r: Release) -> Request:
        quads = replaced(r.definition_quads(), NAMES.has_step, *(r.step(name) for name, _, _ in steps))
        quads = replaced(quads, NAMES.terminal_state, *map(text, terminal))
        quads = replaced(quads, NAMES.initial_state, text(initial))
        for step in steps:
            quads |= r.step_quads(*step)
        return adding(set(), *quads)

    return make


def _step_elsewhere(r: Release) -> Request:
    step = r.step_quads("reject", "Review", "Draft")
    return adding(set(), *(r.plan_quads() - step), *moved(step, OTHER))


def _step_missing(r: Release) -> Request:
    return adding(set(), *(r.plan_quads() - r.step_quads("reject", "Review", "Draft")))


def _step_committed_incomplete(r: Release) -> Request:
    step = without(r.step_quads("reject", "Review", "Draft"), NAMES.to_state)
    return adding(step, *(r.plan_quads() - r.step_quads("reject", "Review", "Draft")))


def _step_committed(r: Release) -> Request:
    steps = r.plan_quads() - r.definition_quads()
    return adding(steps, *r.definition_quads())


def _steps_shared(r: Release) -> Request:
    second = renamed(r.definition_quads(), r.plan, IRI(f"{r.prefix}/plan-2"))
    return adding(r.setup(), *second)


def _typed_later(r: Release) -> Request:
    typed = Quad(r.plan, RDF_TYPE, NAMES.definition, r.graph)
    return adding(r.plan_quads() - {typed}, typed)


def _typed_later_incomplete(r: Release) -> Request:
    typed = Quad(r.plan, RDF_TYPE, NAMES.definition, r.graph)
    initial = Quad(r.plan, NAMES.initial_state, text("Draft"), r.graph)
    return adding(r.plan_quads() - {typed, initial}, typed)


def _plan_fact(verb: str, subject: str, predicate: IRI, value: Literal | IRI) -> Make:
    def make(r: Release) -> Request:
        entity = r.plan if subject == "plan" else r.step("submit")
        quad = Quad(entity, predicate, value, r.graph)
        return adding(r.setup(), quad) if verb == "add" else removing(r.setup(), quad)

    return make


def _step_undeclared(r: Release) -> Request:
    return removing(r.setup(), Quad(r.plan, NAMES.has_step, r.step("reject"), r.graph))


def _label(*labels: str, step: bool = False) -> Make:
    def make(r: Release) -> Request:
        entity, old = (r.step("submit"), "Submit") if step else (r.plan, "Release")
        removed = Quad(entity, LABEL, text(old), r.graph)
        return Request(r.setup(), {removed}, {Quad(entity, LABEL, text(label), r.graph) for label in labels})

    return make


def _definition_removed(r: Release) -> Request:
    return removing(r.plan_quads(), *r.definition_quads())


def _annotated(r: Release) -> Request:
    return adding(
        r.setup(), *(Quad(s, COMMENT, text("note"), r.graph) for s in (r.plan, r.step("submit"), r.run))
    )


def _copied_to_other_graph(r: Release) -> Request:
    return adding(r.setup(), *moved(r.plan_quads(), OTHER))


DEFINITIONS = [
    Case("define_forbidden", "a plan", _define, context=NO_DEFINE),
    Case("define_forbidden", "a run", lambda r: adding(r.plan_quads(), *r.run_quads()), context=NO_DEFINE),
    Case("define_forbidden", "planted, typed later", _typed_later, context=NO_DEFINE),
    Case(None, "a label without the define permission", _label("New"), context=NO_DEFINE),
    *(
        Case(
            "plan_immutable",
            f"{verb} {NAMES.short(p)} of {s}",
            _plan_fact(verb, s, p, v),
            NAMES.short(p),
        )
        for verb, s, p, v in (
            ("add", "plan", NAMES.terminal_state, text("Review")),
            ("add", "plan", NAMES.initial_state, text("Review")),
            ("add", "plan", NAMES.has_step, IRI("http://example.org/x")),
            ("add", "plan", RDF_TYPE, IRI("http://example.org/Type")),
            ("remove", "plan", RDF_TYPE, NAMES.workflow),
            ("remove", "plan", RDF_TYPE, NAMES.definition),
            ("remove", "plan", NAMES.terminal_state, text("Released")),
            ("remove", "step", NAMES.to_state, text("Review")),
            ("remove", "step", NAMES.from_state, text("Draft")),
            ("remove", "step", RDF_TYPE, NAMES.step),
            ("add", "step", NAMES.to_state, text("Released")),
            ("add", "step", RDF_TYPE, IRI("http://example.org/Type")),
            ("remove", "plan", LABEL, text("Release")),
            ("add", "plan", LABEL, text("Second label")),
            ("remove", "step", LABEL, text("Submit")),
        )
    ),
    Case("plan_immutable", "a step no longer declared", _step_undeclared, "aegis:hasStep"),
    Case("plan_immutable", "removed whole", _definition_removed),
    Case("plan_immutable", "two labels for one", _label("A", "B"), "rdfs:label"),
    Case("plan_immutable", "an empty label", _label(""), "rdfs:label"),
    Case(None, "a label replaced", _label("New")),
    Case(None, "a step's label replaced", _label("New", step=True)),
    Case(None, "annotations", _annotated),
    Case(None, "the plan in another graph too", _copied_to_other_graph),
    *(
        Case("definition_incomplete", label, _definition_with(p, *values), NAMES.short(p))
        for label, p, values in (
            ("no Workflow type", RDF_TYPE, (NAMES.definition,)),
            ("no label", LABEL, ()),
            ("two labels", LABEL, (text("a"), text("b"))),
            ("a label with a language", LABEL, (Literal("a", language="en"),)),
            ("a label with a bar", LABEL, (text("a|b"),)),
            ("no initial state", NAMES.initial_state, ()),
            ("two initial states", NAMES.initial_state, (text("Draft"), text("Review"))),
            ("an IRI as initial state", NAMES.initial_state, (IRI("urn:x:Draft"),)),
            ("no terminal state", NAMES.terminal_state, ()),
            ("a number as terminal state", NAMES.terminal_state, (number(1),)),
            ("a control character in a state", NAMES.terminal_state, (text("Rel\neased"),)),
            ("an empty terminal state", NAMES.terminal_state, (text("Released"), text(""))),
            ("no step", NAMES.has_step, ()),
            ("a text as step", NAMES.has_step, (text("submit"),)),
            ("a blank step", NAMES.has_step, (BlankNode("s"),)),
        )
    ),
    Case("definition_incomplete", "planted, typed later", _typed_later_incomplete, "aegis:initialState"),
    Case("definition_step_unknown", "missing", _step_missing, "aegis:hasStep"),
    Case("definition_step_unknown", "in another graph", _step_elsewhere, "aegis:hasStep"),
    Case("definition_step_unknown", "committed, not complete", _step_committed_incomplete, "aegis:hasStep"),
    *(
        Case("step_incomplete", label, _step_with(p, *values), NAMES.short(p))
        for label, p, values in (
            ("no Step type", RDF_TYPE, (NAMES.step,)),
            ("no label", LABEL, ()),
            ("no fromState", NAMES.from_state, ()),
            ("no toState", NAMES.to_state, ()),
            ("two toStates", NAMES.to_state, (text("Draft"), text("Review"))),
            ("an IRI as state", NAMES.to_state, (IRI("urn:x:Draft"),)),
            ("a bar in a state", NAMES.to_state, (text("Dra|ft"),)),
            ("an empty state", NAMES.to_state, (text(""),)),
        )
    ),
    Case(
        "step_incomplete",
        "no name",
        _plan([("submit", "Draft", "Review"), ("approve/", "Review", "Released")], ["Released"]),
    ),
    Case(
        "step_incomplete",
        "white space in the name",
        _plan([("submit", "Draft", "Review"), ("ap\u00a0prove", "Review", "Released")], ["Released"]),
    ),
    Case(
        "definition_step_ambiguous",
        "same name and start",
        _plan(
            [("submit", "Draft", "Review"), ("x/go", "Review", "Draft"), ("y/go", "Review", "Released")],
            ["Released"],
        ),
        "aegis:hasStep",
    ),
    Case(
        None,
        "same name, other start",
        _plan([("x/go", "Draft", "Review"), ("y/go", "Review", "Released")], ["Released"]),
    ),
    Case(
        "definition_terminal_exit",
        "a step leaves the end",
        _plan([("submit", "Draft", "Released"), ("reopen", "Released", "Draft")], ["Released"]),
        "aegis:hasStep",
    ),
    Case(
        "definition_unreachable",
        "nothing leaves the start",
        _plan([("submit", "Review", "Released")], ["Released"]),
        "aegis:initialState",
    ),
    Case(
        None,
        "the start is terminal",
        _plan([("submit", "Review", "Released")], ["Released", "Draft"]),
    ),
    Case(
        "definition_dead_end",
        "a state that is not left",
        _plan([("submit", "Draft", "Review"), ("drop", "Draft", "Released")], ["Released"]),
        "aegis:hasStep",
    ),
    Case(
        None, "a self-loop", _plan([("ping", "Draft", "Draft"), ("end", "Draft", "Released")], ["Released"])
    ),
    Case(None, "complete", _define),
    Case(None, "steps committed before", _step_committed),
    Case(None, "steps shared by two plans", _steps_shared),
    Case(None, "planted, typed later", _typed_later),
]
