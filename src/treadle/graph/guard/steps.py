"""Rules about steps: complete when new, with a name that can be signed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treadle.graph.guard.context import Refusal
from treadle.graph.guard.fields import Fact, entity_problem
from treadle.graph.guard.scene import Scene
from treadle.graph.signatures import step_name, unfit_name
from treadle.graph.terms import Resource
from treadle.graph.vocabulary import Entity, Kind


def step_incomplete(scene: Scene) -> Iterator[Refusal]:
    """A new step has both types and every property once, and an IRI that ends in a name."""
    entity = scene.names.entities[Kind.STEP]
    for touched in scene.new(Kind.STEP):
        facts = scene.after.facts(touched.subject, touched.graph)
        problem = step_problem(entity, touched.subject, facts)
        if problem is not None:
            field, detail = problem
            yield scene.refuse("step_incomplete", touched.subject, touched.graph, field, detail)


def step_problem(entity: Entity, subject: Resource, facts: Iterable[Fact]) -> tuple[str | None, str] | None:
    """The first field of a step that does not fit, or what is wrong with its name, or None."""
    problem = entity_problem(entity, facts)
    if problem is not None:
        return problem
    if unfit_name(step_name(str(subject))):
        return None, "the IRI must end in '/' and a name without '|', white space or control characters"
    return None
