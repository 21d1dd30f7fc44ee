"""What everything is called, which plans there are, and the agents' keys.

Terms are written as N-Quads writes them, and a statement is four such texts: subject, predicate, object and
graph, '' for the default graph.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

Quad = tuple[str, str, str, str]

_BASE: Final = "http://aegis.gastown.local/ontology/"
_INTEGER: Final = "^^<http://www.w3.org/2001/XMLSchema#integer>"
TYPE: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
LABEL: Final = "<http://www.w3.org/2000/01/rdf-schema#label>"
ENDED: Final = "<http://www.w3.org/ns/prov#endedAtTime>"


def aegis(name: str) -> str:
    """A name of the processes' vocabulary."""
    return f"<{_BASE}{name}>"


RUN, EVENT, DEFINITION = aegis("WorkflowRun"), aegis("TransitionEvent"), aegis("WorkflowDefinition")
STEP, REGISTRATION = aegis("WorkflowStep"), aegis("VerifierRegistration")
MARKERS: Final = frozenset((RUN, EVENT, DEFINITION, STEP, REGISTRATION))
STATE, REVISION, RUN_OF = aegis("currentState"), aegis("currentRevision"), aegis("runOf")
IN_RUN, AT_STEP, FROM, TO = aegis("inRun"), aegis("atStep"), aegis("fromState"), aegis("toState")
BY, FROM_REVISION = aegis("performedBy"), aegis("fromRevision")
VERSION, SIGNATURE = aegis("transitionVersion"), aegis("signature")
INITIAL, TERMINAL, HAS_STEP = aegis("initialState"), aegis("terminalState"), aegis("hasStep")
VERIFIER, KEY, ATTESTS, AGENT = aegis("verifier"), aegis("publicKey"), aegis("attests"), aegis("agent")

IDENTITY: Final = "<urn:sim:identity>"
PLACES: Final = ("", "<urn:sim:g1>", "<urn:sim:g2>")
NODES: Final = ("<urn:sim:a>", "<urn:sim:b>", "<urn:sim:c>")
LINKS: Final = ("<urn:sim:p>", "<urn:sim:q>")
COUNT: Final = "<urn:sim:count>"
AGENTS: Final = ("alice", "bob", "carol")
STRANGER: Final = "mallory"


def text(value: str) -> str:
    """A plain string; none of the simulator's needs an escape."""
    return f'"{value}"'


def number(value: int | str) -> str:
    """An integer."""
    return f'"{value}"{_INTEGER}'


def value_of(term: str) -> str:
    """What stands in a literal or an IRI."""
    return term[1:-1] if term.startswith("<") else term[1 : term.rindex('"')]


def integer(term: str) -> int | None:
    """The number that a term is, None for other terms."""
    return int(value_of(term)) if term.endswith(_INTEGER) else None


class Edge(NamedTuple):
    """A step of a plan: the IRI without brackets, and the states it leads from and to."""

    iri: str
    source: str
    target: str

    @property
    def name(self) -> str:
        return self.iri.rpartition("/")[2]


class Plan(NamedTuple):
    """A plan, to be defined under its IRI in any graph."""

    iri: str
    initial: str
    terminal: tuple[str, ...]
    edges: tuple[Edge, ...]

    def quads(self, place: str) -> list[Quad]:
        """The plan as statements of a graph."""
        found = [(TYPE, aegis("Workflow")), (TYPE, DEFINITION), (LABEL, text("Plan"))]
        found += [(INITIAL, text(self.initial)), *((TERMINAL, text(state)) for state in self.terminal)]
        found += [(HAS_STEP, f"<{edge.iri}>") for edge in self.edges]
        quads = [(f"<{self.iri}>", predicate, term, place) for predicate, term in found]
        for edge in self.edges:
            facts = [(TYPE, aegis("Step")), (TYPE, STEP), (LABEL, text(edge.name))]
            facts += [(FROM, text(edge.source)), (TO, text(edge.target))]
            quads += [(f"<{edge.iri}>", predicate, term, place) for predicate, term in facts]
        return quads


def _plan(number_: int, initial: str, terminal: tuple[str, ...], *edges: tuple[str, str, str]) -> Plan:
    iri = f"http://sim.example/plan/{number_}"
    return Plan(iri, initial, terminal, tuple(Edge(f"{iri}/{name}", *states) for name, *states in edges))


PLANS: Final = (
    _plan(
        0,
        "Draft",
        ("Released",),
        ("submit", "Draft", "Review"),
        ("rework", "Review", "Draft"),
        ("approve", "Review", "Released"),
    ),
    _plan(1, "A", ("C",), ("one/go", "A", "B"), ("two/go", "B", "A"), ("end", "B", "C")),
    _plan(2, "Open", ("Shut",), ("tick", "Open", "Open"), ("shut", "Open", "Shut")),
)


class Run(NamedTuple):
    """A run, where it stands, and its plan."""

    iri: str
    plan: Plan
    place: str

    @property
    def graph(self) -> str | None:
        """The graph as a client is told it."""
        return self.place[1:-1] if self.place else None

    def start(self) -> list[Quad]:
        """The run's statements at its beginning."""
        facts = [(TYPE, RUN), (RUN_OF, f"<{self.plan.iri}>"), (STATE, text(self.plan.initial))]
        return [(f"<{self.iri}>", p, term, self.place) for p, term in (*facts, (REVISION, number(0)))]


RUNS: Final = tuple(
    Run(f"http://sim.example/run/{at}", PLANS[plan], PLACES[place])
    for at, (plan, place) in enumerate(((0, 0), (2, 0), (0, 1), (1, 0), (2, 1)))
)
TWIN: Final = Run(RUNS[0].iri, PLANS[0], PLACES[1])
"""A run of the first one's name, in another graph."""


@lru_cache
def seed(agent: str, version: int) -> bytes:
    """An agent's private key, the same in every run."""
    return hashlib.sha256(f"sim {agent} {version}".encode()).digest()


@lru_cache
def public(agent: str, version: int) -> str:
    """The public key as it is registered."""
    private = Ed25519PrivateKey.from_private_bytes(seed(agent, version))
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def message(
    run: str, step: str, source: str, target: str, at: str, performer: str, revision: str | None
) -> bytes:
    """The bytes that a step signs, from the values of its statements (docs/formats/signatures.md).

    Without a revision it is the old form, which no enrolled graph takes.
    """
    version = 1 if revision is None else 2
    fields = [f"shuttle-transition-v{version}", run, step.rpartition("/")[2], source, target, at]
    fields.append(performer.rpartition(":")[2])
    return "|".join(fields if revision is None else [*fields, revision]).encode()


def sign(agent: str, version: int, data: bytes) -> str:
    """A signature as it is written."""
    return Ed25519PrivateKey.from_private_bytes(seed(agent, version)).sign(data).hex()


def registration(agent: str, version: int, *, bind: bool = True) -> list[Quad]:
    """The statements by which a key of an agent is registered for every plan."""
    subject = f"<urn:sim:registration:{agent}:{version}>"
    facts = [(TYPE, REGISTRATION), (VERIFIER, text(agent)), (KEY, text(public(agent, version)))]
    facts += [(ATTESTS, f"<{plan.iri}>") for plan in PLANS]
    if bind:
        facts.append((AGENT, f"<urn:agent:{agent}>"))
    return [(subject, predicate, term, IDENTITY) for predicate, term in facts]
