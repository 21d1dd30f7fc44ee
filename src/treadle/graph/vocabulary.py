"""The names of signed workflow processing: five entities, their types, and the properties each bears.

One table, `Vocabulary.entities`, says what an enrolled dataset requires; the guard, the SHACL shapes, the
migration and the client read it from here.  The namespace is configurable because datasets that exist
already keep their own; everything else is fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from treadle.graph.terms import IRI, RDF_TYPE_IRI

BASE_NS: Final = "http://aegis.gastown.local/ontology/"
PROV_NS: Final = "http://www.w3.org/ns/prov#"
RDFS_NS: Final = "http://www.w3.org/2000/01/rdf-schema#"
TREADLE_NS: Final = "urn:x-treadle:"

RDF_TYPE: Final = IRI(RDF_TYPE_IRI)
LABEL: Final = IRI(RDFS_NS + "label")
ENDED_AT: Final = IRI(PROV_NS + "endedAtTime")
ACCEPTED_UNSIGNED: Final = IRI(TREADLE_NS + "acceptedUnsigned")
"""On a migrated run: how many of its events an operator accepted without a valid signature."""
ARCHIVED: Final = IRI(TREADLE_NS + "archived")
"""On what was an archived run: the revision it ended at.  No run of that IRI starts again."""
RECORDS: Final = frozenset((ACCEPTED_UNSIGNED, ARCHIVED))
"""Predicates by which operator acts leave a record; no request writes them."""

SIGNED_VERSION: Final = "2"


class Kind(StrEnum):
    """What a subject is to the guard, by the type that it bears explicitly."""

    DEFINITION = "definition"
    STEP = "step"
    RUN = "run"
    EVENT = "event"
    REGISTRATION = "registration"


class Value(StrEnum):
    """What a property's object must be."""

    IRI = "iri"
    TEXT = "text"  # a plain xsd:string literal, not empty, without | or control characters
    NAME = "name"  # TEXT without white space
    TIME = "time"  # TEXT of the form YYYY-MM-DDThh:mm:ss[.f]Z
    REVISION = "revision"  # xsd:integer: 0, or a nonzero digit followed by digits
    VERSION = "version"  # xsd:integer 2
    KEY = "key"  # 64 lower-case hex digits, an Ed25519 public key
    SIGNATURE = "signature"  # 128 lower-case hex digits
    REFERENCE = "reference"  # an IRI, or TEXT that holds one


class Property(NamedTuple):
    """A property of an entity: `most` None means any number; `name` is how messages and fields call it."""

    name: str
    iri: IRI
    value: Value
    least: int = 1
    most: int | None = 1


class Entity(NamedTuple):
    """An entity of the table: `marker` is the type that makes a subject one, `types` all that it bears."""

    kind: Kind
    marker: IRI
    types: tuple[IRI, ...]
    properties: tuple[Property, ...]


class Vocabulary:
    """Every name that the guard knows, under one namespace.  Build it with `vocabulary`.

    Each name is an attribute (`run_of` is `aegis:runOf`; `definition` the type `aegis:WorkflowDefinition`).
    `entities` maps each kind to its row of the table, `markers` each marking type to its kind, and `owners`
    each property that only these entities have to the marking types of those that may bear it.
    """

    def __init__(self, base: str) -> None:
        def name(local: str) -> IRI:
            return IRI(base + local)

        self.base = base
        self.workflow, self.definition = name("Workflow"), name("WorkflowDefinition")
        self.plain_step, self.step = name("Step"), name("WorkflowStep")
        self.run, self.event = name("WorkflowRun"), name("TransitionEvent")
        self.registration = name("VerifierRegistration")
        self.initial_state, self.terminal_state = name("initialState"), name("terminalState")
        self.has_step, self.from_state, self.to_state = name("hasStep"), name("fromState"), name("toState")
        self.run_of, self.current_state = name("runOf"), name("currentState")
        self.current_revision, self.in_run = name("currentRevision"), name("inRun")
        self.at_step, self.performed_by = name("atStep"), name("performedBy")
        self.from_revision = name("fromRevision")
        self.transition_version, self.signature = name("transitionVersion"), name("signature")
        self.verifier, self.public_key = name("verifier"), name("publicKey")
        self.attests, self.agent = name("attests"), name("agent")
        self.entities: Mapping[Kind, Entity] = _entities(self)
        self.markers: Mapping[IRI, Kind] = {row.marker: kind for kind, row in self.entities.items()}
        self.owners: Mapping[IRI, tuple[IRI, ...]] = _owners(self)
        self.registration_properties = frozenset((self.verifier, self.public_key, self.attests, self.agent))
        self.watched = frozenset((RDF_TYPE, *RECORDS, *self.owners, *self.registration_properties))
        self.plan_properties = frozenset(
            (self.initial_state, self.terminal_state, self.has_step, self.from_state, self.to_state)
        )

    def short(self, iri: IRI) -> str:
        """The IRI as messages write it: `aegis:runOf`, `prov:endedAtTime`, or in full."""
        for prefix, base in (("aegis", self.base), ("prov", PROV_NS), ("rdfs", RDFS_NS)):
            if iri.value.startswith(base):
                return f"{prefix}:{iri.value[len(base) :]}"
        return "rdf:type" if iri == RDF_TYPE else iri.value

    def __repr__(self) -> str:
        return f"vocabulary({self.base!r})"


def vocabulary(base: str = BASE_NS) -> Vocabulary:
    """The vocabulary under a namespace, an absolute IRI that ends in `/`, `#` or `:`; one object for each.

    Raises:
        ValueError: the namespace is no absolute IRI or does not end in one of the three.
    """
    return _vocabulary(base)


@lru_cache(maxsize=16)
def _vocabulary(base: str) -> Vocabulary:
    IRI(base)
    if base[-1] not in "/#:":
        raise ValueError(f"a namespace ends in '/', '#' or ':', else names run together: {base!r}")
    return Vocabulary(base)


def _entities(names: Vocabulary) -> dict[Kind, Entity]:
    label = Property("rdfs:label", LABEL, Value.TEXT)

    def aegis(iri: IRI, value: Value, least: int = 1, most: int | None = 1) -> Property:
        return Property(names.short(iri), iri, value, least, most)

    rows = (
        Entity(
            Kind.DEFINITION,
            names.definition,
            (names.workflow, names.definition),
            (
                label,
                aegis(names.initial_state, Value.TEXT),
                aegis(names.terminal_state, Value.TEXT, 1, None),
                aegis(names.has_step, Value.IRI, 1, None),
            ),
        ),
        Entity(
            Kind.STEP,
            names.step,
            (names.plain_step, names.step),
            (label, aegis(names.from_state, Value.TEXT), aegis(names.to_state, Value.TEXT)),
        ),
        Entity(
            Kind.RUN,
            names.run,
            (names.run,),
            (
                aegis(names.run_of, Value.IRI),
                aegis(names.current_state, Value.TEXT),
                aegis(names.current_revision, Value.REVISION),
            ),
        ),
        Entity(
            Kind.EVENT,
            names.event,
            (names.event,),
            (
                aegis(names.in_run, Value.IRI),
                aegis(names.at_step, Value.IRI),
                aegis(names.from_state, Value.TEXT),
                aegis(names.to_state, Value.TEXT),
                Property("prov:endedAtTime", ENDED_AT, Value.TIME),
                aegis(names.performed_by, Value.IRI),
                aegis(names.from_revision, Value.REVISION),
                aegis(names.transition_version, Value.VERSION),
                aegis(names.signature, Value.SIGNATURE),
            ),
        ),
        Entity(
            Kind.REGISTRATION,
            names.registration,
            (names.registration,),
            (
                aegis(names.verifier, Value.NAME),
                aegis(names.public_key, Value.KEY, 0, 1),
                aegis(names.attests, Value.REFERENCE, 1, None),
                aegis(names.agent, Value.IRI, 0, 1),
            ),
        ),
    )
    return {row.kind: row for row in rows}


def _owners(names: Vocabulary) -> dict[IRI, tuple[IRI, ...]]:
    run, event, definition = (names.run,), (names.event,), (names.definition,)
    moved = (names.step, names.event)
    return {
        names.run_of: run,
        names.current_state: run,
        names.current_revision: run,
        names.in_run: event,
        names.at_step: event,
        names.from_revision: event,
        names.transition_version: event,
        names.initial_state: definition,
        names.terminal_state: definition,
        names.from_state: moved,
        names.to_state: moved,
    }
