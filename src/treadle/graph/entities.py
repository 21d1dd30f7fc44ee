"""Definitions, steps, runs, events and registrations as values, read from the statements about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, TypeAlias

from treadle.graph import signatures
from treadle.graph.signatures import Transition, agent_name, step_name
from treadle.graph.terms import IRI, XSD_INTEGER, XSD_STRING, Literal, Resource, Term
from treadle.graph.view import ANY, Graph, Lookups
from treadle.graph.vocabulary import ENDED_AT, RDF_TYPE, Vocabulary

Fact: TypeAlias = tuple[IRI, Term]


class Step(NamedTuple):
    """A declared step: its name and starting state are unambiguous within a plan."""

    iri: IRI
    from_state: str
    to_state: str

    @property
    def name(self) -> str:
        return step_name(self.iri.value)


class Plan(NamedTuple):
    """A definition with its complete steps, sorted by IRI."""

    iri: IRI
    graph: Graph
    initial: str
    terminal: frozenset[str]
    steps: tuple[Step, ...]

    def step(self, iri: IRI) -> Step | None:
        """The declared step of that IRI."""
        return next((step for step in self.steps if step.iri == iri), None)

    def legal(self, state: str) -> tuple[Step, ...]:
        """The steps that may be taken from a state."""
        return tuple(step for step in self.steps if step.from_state == state)


class Event(NamedTuple):
    """A transition event; `from_revision` and `version` are None for events of version 1."""

    iri: Resource
    run: IRI
    step: IRI
    from_state: str
    to_state: str
    at: str
    performer: IRI
    signature: str
    from_revision: str | None = None
    version: str | None = None

    @property
    def agent(self) -> str:
        return agent_name(self.performer.value)

    def transition(self) -> Transition:
        """The fields that the event's signature covers."""
        revision = self.from_revision if self.version == "2" else None
        name = step_name(self.step.value)
        return Transition(self.run.value, name, self.from_state, self.to_state, self.at, self.agent, revision)


class Registration(NamedTuple):
    """A registration that can verify: complete, in one graph, with one sound key."""

    subject: Resource
    graph: Graph
    verifier: str
    public_key: str
    attests: frozenset[str]
    agent: IRI | None


def is_plain(term: Term) -> bool:
    """Whether a term is a plain string literal."""
    return isinstance(term, Literal) and term.datatype == XSD_STRING


def only_text(terms: Iterable[Term]) -> str | None:
    """The text of the one object, when there is exactly one and it is a literal."""
    found = list(terms)
    return found[0].value if len(found) == 1 and isinstance(found[0], Literal) else None


def only_iri(terms: Iterable[Term]) -> IRI | None:
    """The one object, when there is exactly one and it is an IRI."""
    found = list(terms)
    return found[0] if len(found) == 1 and isinstance(found[0], IRI) else None


def grouped(facts: Iterable[Fact]) -> dict[IRI, list[Term]]:
    """Objects by predicate."""
    groups: dict[IRI, list[Term]] = {}
    for predicate, term in facts:
        groups.setdefault(predicate, []).append(term)
    return groups


def read_event(iri: Resource, facts: Iterable[Fact], names: Vocabulary) -> Event | None:
    """The event that the facts describe, or None when a field of version 1 is missing, doubled or no text."""
    found = grouped(facts)
    iris = [only_iri(found.get(p, ())) for p in (names.in_run, names.at_step, names.performed_by)]
    texts = [only_text(found.get(p, ())) for p in (names.from_state, names.to_state, ENDED_AT)]
    run, step, performer = iris
    source, target, at = texts
    signature = only_text(found.get(names.signature, ())) or ""
    if run is None or step is None or performer is None or source is None or target is None or at is None:
        return None
    revision = only_text(found.get(names.from_revision, ()))
    versions = found.get(names.transition_version, [])
    numbers = all(isinstance(term, Literal) and term.datatype == XSD_INTEGER for term in versions)
    version = only_text(versions) if numbers else None
    return Event(iri, run, step, source, target, at, performer, signature, revision, version)


def read_registration(
    view: Lookups, subject: Resource, graph: Graph, names: Vocabulary
) -> Registration | None:
    """The registration at a subject in a graph, or None when it cannot verify anything.

    It counts when its type, one verifier, one sound key and at least one attested definition are there, and
    no such fact stands on the same subject in another graph.
    """
    found = grouped(view.facts(subject, graph))
    verifier = only_text(found.get(names.verifier, ()))
    key = only_text(found.get(names.public_key, ()))
    agents = found.get(names.agent, [])
    if names.registration not in found.get(RDF_TYPE, ()) or verifier is None or key is None:
        return None
    plain = all(is_plain(term) for term in (*found[names.verifier], *found[names.public_key]))
    sound = signatures.key_problem(key) is None and not signatures.unfit_name(verifier)
    if not (plain and sound) or len(agents) > 1 or elsewhere(view, subject, graph, names):
        return None
    agent = only_iri(agents)
    attests = frozenset(term.value for term in found.get(names.attests, ()))
    if not attests or (agents and agent is None):
        return None
    return Registration(subject, graph, verifier, key, attests, agent)


def elsewhere(view: Lookups, subject: Resource, graph: Graph, names: Vocabulary) -> bool:
    """Whether registration facts about the subject stand in another graph than this one."""
    return any(
        is_registration_fact(predicate, term, names)
        for other in view.graphs(subject)
        if other != graph
        for predicate, term in view.facts(subject, other)
    )


def is_registration_fact(predicate: IRI, term: Term, names: Vocabulary) -> bool:
    """Whether a fact belongs to a registration: one of its four properties, or its type."""
    return predicate in names.registration_properties or (
        predicate == RDF_TYPE and term == names.registration
    )


def registrations(
    view: Lookups, name: str, names: Vocabulary, graphs: Collection[Graph] | None = None
) -> list[Registration]:
    """The usable registrations of an agent name, in the identity graphs (None: every graph), in order."""
    found = [
        registration
        for subject, graph in view.subjects(names.verifier, Literal(name), ANY)
        if graphs is None or graph in graphs
        if (registration := read_registration(view, subject, graph, names)) is not None
    ]
    return sorted(found, key=lambda registration: (registration.graph or (), registration.subject))


def read_step(view: Lookups, iri: IRI, graph: Graph, names: Vocabulary) -> Step | None:
    """The step at an IRI in a graph, or None when it is none or its states are not there exactly once."""
    found = grouped(view.facts(iri, graph))
    from_state = only_text(found.get(names.from_state, ()))
    to_state = only_text(found.get(names.to_state, ()))
    if names.step not in found.get(RDF_TYPE, ()) or from_state is None or to_state is None:
        return None
    return Step(iri, from_state, to_state)


def read_plan(view: Lookups, iri: IRI, graph: Graph, names: Vocabulary) -> Plan | None:
    """The definition at an IRI in a graph with its complete steps, or None when it is no definition."""
    found = grouped(view.facts(iri, graph))
    initial = only_text(found.get(names.initial_state, ()))
    if names.definition not in found.get(RDF_TYPE, ()) or initial is None:
        return None
    terminal = frozenset(term.value for term in found.get(names.terminal_state, ()))
    declared = sorted(term for term in found.get(names.has_step, ()) if isinstance(term, IRI))
    steps = [read_step(view, step, graph, names) for step in declared]
    return Plan(iri, graph, initial, terminal, tuple(step for step in steps if step is not None))
