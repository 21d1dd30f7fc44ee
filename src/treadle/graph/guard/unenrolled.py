"""What is asked where processing is not enforced and `verify_transitions` is on: that events are signed.

An event in a write must carry a signature that verifies, of version 1, or of version 2 where it carries
`transitionVersion` 2.  Nothing is asked of plans, runs, states and revisions.
"""

from __future__ import annotations

from collections.abc import Iterator

from treadle.graph.entities import Event, grouped, read_event
from treadle.graph.guard import signers
from treadle.graph.guard.context import Refusal
from treadle.graph.guard.events import field_problem
from treadle.graph.guard.scene import Scene, Touched
from treadle.graph.guard.signers import Signed
from treadle.graph.terms import IRI, XSD_INTEGER, Literal, Term
from treadle.graph.vocabulary import ENDED_AT, SIGNED_VERSION, Kind, Value


def event_unsigned(scene: Scene) -> Iterator[Refusal]:
    """An event in the write carries a signature."""
    for touched in scene.present(Kind.EVENT):
        if not list(scene.after.objects(touched.subject, scene.names.signature, touched.graph)):
            yield scene.refuse("event_unsigned", touched.subject, touched.graph, scene.names.signature)


def event_incomplete(scene: Scene) -> Iterator[Refusal]:
    """The fields that the message needs are there once: seven, and the revision for version 2.

    Version 1 signed the time as it was written, so its form is not asked.
    """
    names = scene.names
    for touched in scene.present(Kind.EVENT):
        found = grouped(scene.after.facts(touched.subject, touched.graph))
        second = found.get(names.transition_version, []) == [Literal(SIGNED_VERSION, XSD_INTEGER)]
        for prop in names.entities[Kind.EVENT].properties:
            if prop.value in (Value.VERSION, Value.REVISION) and not second:
                continue
            terms = found.get(prop.iri, [])
            if prop.value is Value.TIME and not second and _is_one_literal(terms):
                continue
            problem = field_problem(prop, terms)
            if problem is not None:
                yield scene.refuse("event_incomplete", touched.subject, touched.graph, prop.name, problem)


def _is_one_literal(terms: list[Term]) -> bool:
    return len(terms) == 1 and isinstance(terms[0], Literal)


def field_ambiguous(scene: Scene) -> Iterator[Refusal]:
    """No signed field could be read as two, or as another one."""
    for signed in _events(scene):
        if signed.event.transition().ambiguous() is not None:
            yield scene.refuse("field_ambiguous", signed.event.iri, signed.graph, None)


def signer_unregistered(scene: Scene) -> Iterator[Refusal]:
    """See `signers.unregistered`."""
    return signers.unregistered(scene, _events(scene))


def signer_mismatch(scene: Scene) -> Iterator[Refusal]:
    """See `signers.misbound`; names that several IRIs share are tolerated outside enrolled processing."""
    return signers.misbound(scene, _events(scene))


def signature_invalid(scene: Scene) -> Iterator[Refusal]:
    """See `signers.invalid`."""
    return signers.invalid(scene, _events(scene))


def _events(scene: Scene) -> list[Signed]:
    found = []
    for touched in scene.present(Kind.EVENT):
        event = read_event(touched.subject, scene.after.facts(touched.subject, touched.graph), scene.names)
        if event is not None:
            event = event._replace(at=_written_time(scene, touched, event))
            runs = scene.after.objects(event.run, scene.names.run_of, touched.graph)
            definitions = tuple(term for term in runs if isinstance(term, IRI))
            found.append(Signed(touched.graph, event, definitions))
    return found


def _written_time(scene: Scene, touched: Touched, event: Event) -> str:
    """The time as the request spells it: version 1 signed it before the store could rewrite it."""
    for respelled in scene.delta.respelled:
        written, stored = respelled.written, respelled.stored
        same = (stored.s, stored.p, stored.g) == (touched.subject, ENDED_AT, touched.graph)
        if same and respelled.operation == "insert" and str(stored.o) == event.at:
            return str(written.o)
    return event.at
