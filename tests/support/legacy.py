"""Data as it was written before enrollment: half-typed plans, runs without revision, events of version 1."""

from __future__ import annotations

from tests.support.workflows import NAMES, Release, seed, text, without
from treadle.graph import signatures
from treadle.graph.signatures import Transition
from treadle.graph.terms import IRI, Quad, Term
from treadle.graph.vocabulary import ENDED_AT, RDF_TYPE

R = Release()
STATES = {"submit": ("Draft", "Review"), "reject": ("Review", "Draft"), "approve": ("Review", "Released")}
SECOND_TYPES = {NAMES.workflow, NAMES.plain_step}


def legacy_plan(r: Release = R) -> set[Quad]:
    """The release plan with one type of each pair, and no initial or terminal state."""
    quads = {q for q in r.plan_quads() if not (q.p == RDF_TYPE and q.o in SECOND_TYPES)}
    return without(without(quads, NAMES.initial_state), NAMES.terminal_state)


def legacy_run(state: str, r: Release = R) -> set[Quad]:
    return without(r.run_quads(state), NAMES.current_revision)


def v1(
    name: str,
    at: str,
    *,
    signed: bool = True,
    step: IRI | None = None,
    r: Release = R,
    states: tuple[str, str] | None = None,
) -> set[Quad]:
    """An event of version 1, signed by the release's agent or not at all."""
    source, target = states or STATES[name]
    iri = IRI(f"{r.prefix}/old/{at}")
    plain = Transition(r.run.value, name, source, target, at, r.agent_name)
    facts: list[tuple[IRI, Term]] = [
        (RDF_TYPE, NAMES.event),
        (NAMES.in_run, r.run),
        (NAMES.at_step, step or r.step(name)),
        (NAMES.from_state, text(source)),
        (NAMES.to_state, text(target)),
        (ENDED_AT, text(at)),
        (NAMES.performed_by, r.agent),
    ]
    if signed:
        facts.append((NAMES.signature, text(signatures.sign(seed(r.agent_name), plain.message()))))
    return r.about(iri, *facts)
