"""Small signed workflows for tests: a plan with a loop, agents with fixed keys, statements of each entity."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

from tests.support.quads import MemoryQuads
from treadle.graph import signatures
from treadle.graph.delta import Delta, Respelled
from treadle.graph.guard import Context, Refusal, Verdict, judge
from treadle.graph.signatures import Transition, event_iri
from treadle.graph.terms import IRI, XSD_INTEGER, Literal, Quad, Resource, Term
from treadle.graph.view import Graph
from treadle.graph.vocabulary import ENDED_AT, LABEL, RDF_TYPE, vocabulary

NAMES = vocabulary()
AT = "2026-11-30T20:00:00Z"
OPERATOR = Context(identity=True, define=True)
"""An enrolled database and a caller with every permission."""


def text(value: str) -> Literal:
    return Literal(value)


def number(value: int | str) -> Literal:
    return Literal(str(value), XSD_INTEGER)


def seed(agent: str) -> bytes:
    """An agent's private key, the same in every run of the tests."""
    return hashlib.sha256(f"key of {agent}".encode()).digest()


def key(agent: str) -> str:
    return signatures.public_key_of(seed(agent))


@dataclass(frozen=True)
class Release:
    """A release workflow under its own prefix, in one graph: Draft → Review → (Draft | Released).

    `submit` leads to Review, `reject` back to Draft (the loop), `approve` to Released, which is terminal.
    """

    prefix: str = "http://example.org/a"
    graph: Graph = None

    @property
    def plan(self) -> IRI:
        return IRI(f"{self.prefix}/plan")

    @property
    def run(self) -> IRI:
        return IRI(f"{self.prefix}/run")

    @property
    def agent(self) -> IRI:
        return IRI(f"urn:agent:alice-{hashlib.sha256(self.prefix.encode()).hexdigest()[:8]}")

    @property
    def agent_name(self) -> str:
        return signatures.agent_name(self.agent.value)

    @property
    def registration(self) -> IRI:
        return IRI(f"{self.prefix}/registration")

    def step(self, name: str) -> IRI:
        return IRI(f"{self.prefix}/step/{name}")

    def about(self, subject: Resource, *facts: tuple[IRI, Term]) -> set[Quad]:
        return {Quad(subject, predicate, value, self.graph) for predicate, value in facts}

    def step_quads(self, name: str, start: str, end: str) -> set[Quad]:
        return self.about(
            self.step(name),
            (RDF_TYPE, NAMES.plain_step),
            (RDF_TYPE, NAMES.step),
            (LABEL, text(name.title())),
            (NAMES.from_state, text(start)),
            (NAMES.to_state, text(end)),
        )

    def definition_quads(self) -> set[Quad]:
        return self.about(
            self.plan,
            (RDF_TYPE, NAMES.workflow),
            (RDF_TYPE, NAMES.definition),
            (LABEL, text("Release")),
            (NAMES.initial_state, text("Draft")),
            (NAMES.terminal_state, text("Released")),
            *((NAMES.has_step, self.step(name)) for name in ("submit", "reject", "approve")),
        )

    def plan_quads(self) -> set[Quad]:
        return (
            self.definition_quads()
            | self.step_quads("submit", "Draft", "Review")
            | self.step_quads("reject", "Review", "Draft")
            | self.step_quads("approve", "Review", "Released")
        )

    def run_quads(self, state: str = "Draft", revision: int | str = 0, run: IRI | None = None) -> set[Quad]:
        return self.about(
            run or self.run,
            (RDF_TYPE, NAMES.run),
            (NAMES.run_of, self.plan),
            (NAMES.current_state, text(state)),
            (NAMES.current_revision, number(revision)),
        )

    def registration_quads(self, agent: IRI | None = None) -> set[Quad]:
        facts: list[tuple[IRI, Term]] = [
            (RDF_TYPE, NAMES.registration),
            (NAMES.verifier, text(self.agent_name)),
            (NAMES.public_key, text(key(self.agent_name))),
            (NAMES.attests, self.plan),
        ]
        if agent is not None:
            facts.append((NAMES.agent, agent))
        return self.about(self.registration, *facts)

    def setup(self) -> set[Quad]:
        """Plan, registration and a run at the start, as one would commit them."""
        return self.plan_quads() | self.registration_quads() | self.run_quads()

    def advance(self, name: str, start: str, end: str, revision: int = 0, **changes: object) -> Advance:
        """The advance of the run by a step, correctly signed by the agent; `changes` override its fields."""
        plain = Advance(self, self.run, self.step(name), start, end, AT, self.agent, str(revision))
        return replace(plain, **changes)  # type: ignore[arg-type]

    def submit(self, **changes: object) -> Advance:
        return self.advance("submit", "Draft", "Review", **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Advance:
    """One advance as a client would write it; what is not overridden is correct and correctly signed."""

    of: Release
    run: IRI
    step: IRI
    from_state: str
    to_state: str
    at: str
    performer: IRI
    from_revision: str
    signer: bytes | None = None
    signature_text: str | None = None
    iri: Resource | None = None

    @property
    def transition(self) -> Transition:
        return Transition(
            self.run.value,
            signatures.step_name(self.step.value),
            self.from_state,
            self.to_state,
            self.at,
            signatures.agent_name(self.performer.value),
            self.from_revision,
        )

    @property
    def signature(self) -> str:
        if self.signature_text is not None:
            return self.signature_text
        return signatures.sign(self.signer or seed(self.of.agent_name), self.transition.message())

    @property
    def event(self) -> Resource:
        return self.iri or IRI(event_iri(self.run.value, self.from_revision, self.signature))

    def event_quads(self) -> set[Quad]:
        return self.of.about(
            self.event,
            (RDF_TYPE, NAMES.event),
            (NAMES.in_run, self.run),
            (NAMES.at_step, self.step),
            (NAMES.from_state, text(self.from_state)),
            (NAMES.to_state, text(self.to_state)),
            (ENDED_AT, text(self.at)),
            (NAMES.performed_by, self.performer),
            (NAMES.from_revision, number(self.from_revision)),
            (NAMES.transition_version, number(2)),
            (NAMES.signature, text(self.signature)),
        )

    def removed(self) -> set[Quad]:
        return self.of.about(
            self.run,
            (NAMES.current_state, text(self.from_state)),
            (NAMES.current_revision, number(self.from_revision)),
        )

    def moved(self) -> set[Quad]:
        return self.of.about(
            self.run,
            (NAMES.current_state, text(self.to_state)),
            (NAMES.current_revision, number(signatures.successor(self.from_revision))),
        )

    def added(self) -> set[Quad]:
        return self.event_quads() | self.moved()


def without(quads: set[Quad], predicate: IRI) -> set[Quad]:
    """The statements without those of a predicate."""
    return {quad for quad in quads if quad.p != predicate}


def replaced(quads: set[Quad], predicate: IRI, *values: Term) -> set[Quad]:
    """The statements of one subject with other objects for a predicate."""
    one = next(iter(quads))
    return without(quads, predicate) | {Quad(one.s, predicate, value, one.g) for value in values}


@dataclass
class Request:
    """A change with what was committed before it; `|` composes requests about different entities."""

    setup: set[Quad] = field(default_factory=set)
    removed: set[Quad] = field(default_factory=set)
    added: set[Quad] = field(default_factory=set)
    respelled: tuple[Respelled, ...] = ()

    def __or__(self, other: Request) -> Request:
        return Request(
            self.setup | other.setup,
            self.removed | other.removed,
            self.added | other.added,
            self.respelled + other.respelled,
        )

    def delta(self, before: MemoryQuads) -> Delta:
        return replace(before.delta(self.removed, self.added), respelled=self.respelled)

    def judge(self, context: Context = OPERATOR) -> Verdict | Refusal:
        before = MemoryQuads(self.setup)
        return judge(before, self.delta(before), context)


def advancing(*advances: Advance, setup: set[Quad] | None = None) -> Request:
    """A request of whole advances, over their workflows' setup."""
    committed: set[Quad] = set(setup or ())
    if setup is None:
        for advance in advances:
            committed |= advance.of.setup()
    removed = {quad for advance in advances for quad in advance.removed()}
    return Request(committed, removed, {quad for advance in advances for quad in advance.added()})
