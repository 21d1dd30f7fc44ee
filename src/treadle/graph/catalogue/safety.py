"""Whether a loaded ontology would make a reasoner type one entity as another: a step as an event above all.

`fromState` and `toState` are shared by steps and events.  An `rdfs:domain` on them, on a property above them,
or a subclass axiom can turn every step into an event for whoever reads the dataset through a reasoner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from treadle.graph.terms import IRI, Quad, Resource, Term
from treadle.graph.view import Graph, Survey
from treadle.graph.vocabulary import RDFS_NS, Kind, Vocabulary

OWL_NS: Final = "http://www.w3.org/2002/07/owl#"
DOMAIN: Final = IRI(RDFS_NS + "domain")
RANGE: Final = IRI(RDFS_NS + "range")
SUB_PROPERTY: Final = IRI(RDFS_NS + "subPropertyOf")
SUB_CLASS: Final = IRI(RDFS_NS + "subClassOf")
EQUIVALENT_PROPERTY: Final = IRI(OWL_NS + "equivalentProperty")
EQUIVALENT_CLASS: Final = IRI(OWL_NS + "equivalentClass")
INVERSE: Final = IRI(OWL_NS + "inverseOf")


class Axiom(NamedTuple):
    """An axiom in the dataset by which a reasoner would type an entity as another kind."""

    graph: Graph
    subject: Resource
    detail: str


class _Schema:
    """The axioms of a dataset: what stands above a property or a class, over all graphs."""

    def __init__(self, data: Survey) -> None:
        self.above = _pairs(data, (SUB_PROPERTY,), (EQUIVALENT_PROPERTY,))
        self.wider = _pairs(data, (SUB_CLASS,), (EQUIVALENT_CLASS,))
        self.inverse = _pairs(data, (), (INVERSE,))
        self.domains = _by_subject(data.scan(DOMAIN))
        self.ranges = _by_subject(data.scan(RANGE))

    def typed_by(self, prop: IRI, *, backward: bool = False) -> Iterator[tuple[Quad, set[Term]]]:
        """The domain axioms that a statement with the property sets off, with the classes that follow.

        `backward`: the range axioms, which type the object.
        """
        seen: set[tuple[Term, bool]] = set()
        waiting: list[tuple[Term, bool]] = [(prop, backward)]
        while waiting:
            current, turned = waiting.pop()
            if (current, turned) in seen:
                continue
            seen.add((current, turned))
            for axiom in (self.ranges if turned else self.domains).get(current, ()):
                yield axiom, closure({axiom.o}, self.wider)
            waiting += [(higher, turned) for higher in self.above.get(current, ())]
            waiting += [(other, not turned) for other in self.inverse.get(current, ())]


def unsafe_axioms(data: Survey, names: Vocabulary) -> Iterator[Axiom]:
    """Every axiom by which an RDFS reasoner would give an entity the marking type of another kind.

    Looked at: domains of the properties that entities bear and of those above them (sub-properties,
    equivalents, inverses), ranges of those that link entities, and what stands above the entities' types.
    """
    schema = _Schema(data)
    found: set[Axiom] = set()
    for kind, entity in names.entities.items():
        others = {marker for marker, other in names.markers.items() if other is not kind}
        for prop in entity.properties:
            found |= _findings(schema.typed_by(prop.iri), others, kind, names)
        for typed in entity.types:
            for wider in others.intersection(closure({typed}, schema.wider)):
                detail = f"is below {names.short(wider)}: every {kind} would be one"
                found.add(Axiom(None, typed, detail))
    for prop_iri, kind in _links(names).items():
        others = {marker for marker, other in names.markers.items() if other is not kind}
        found |= _findings(schema.typed_by(prop_iri, backward=True), others, kind, names)
    yield from sorted(found, key=lambda axiom: (axiom.graph or (), axiom.subject, axiom.detail))


def closure(start: set[Term], above: dict[Term, set[Term]]) -> set[Term]:
    """Everything that is reached from the start, the start included."""
    reached: set[Term] = set()
    waiting = list(start)
    while waiting:
        current = waiting.pop()
        if current not in reached:
            reached.add(current)
            waiting += above.get(current, ())
    return reached


def _findings(
    typings: Iterable[tuple[Quad, set[Term]]], others: set[IRI], kind: Kind, names: Vocabulary
) -> set[Axiom]:
    found = set()
    for axiom, classes in typings:
        for wrong in others.intersection(classes):
            detail = f"{names.short(axiom.p)} would type a {kind} as {names.short(wrong)}"
            found.add(Axiom(axiom.g, axiom.s, detail))
    return found


def _links(names: Vocabulary) -> dict[IRI, Kind]:
    return {
        names.has_step: Kind.STEP,
        names.run_of: Kind.DEFINITION,
        names.in_run: Kind.RUN,
        names.at_step: Kind.STEP,
    }


def _pairs(data: Survey, upward: tuple[IRI, ...], both: tuple[IRI, ...]) -> dict[Term, set[Term]]:
    above: dict[Term, set[Term]] = {}
    for predicate in (*upward, *both):
        for quad in data.scan(predicate):
            above.setdefault(quad.s, set()).add(quad.o)
            if predicate in both:
                above.setdefault(quad.o, set()).add(quad.s)
    return above


def _by_subject(quads: Iterable[Quad]) -> dict[Term, list[Quad]]:
    found: dict[Term, list[Quad]] = {}
    for quad in quads:
        found.setdefault(quad.s, []).append(quad)
    return found
