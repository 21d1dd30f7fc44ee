"""Rules about definitions: complete when new, unchangeable once committed, and a plan that can be walked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from treadle.graph.entities import Plan
from treadle.graph.guard.context import Refusal
from treadle.graph.guard.fields import entity_problem, property_problem
from treadle.graph.guard.scene import Scene, Touched
from treadle.graph.terms import IRI
from treadle.graph.vocabulary import LABEL, RDF_TYPE, Kind


def define_forbidden(scene: Scene) -> Iterator[Refusal]:
    """Only a caller with the define permission defines plans and starts runs."""
    if scene.context.define:
        return
    for touched in scene.guarded:
        for kind in (Kind.DEFINITION, Kind.STEP, Kind.RUN):
            if kind in touched.now and kind not in touched.was:
                detail = f"a new {kind} needs the define permission"
                yield scene.refuse("define_forbidden", touched.subject, touched.graph, None, detail)


def plan_immutable(scene: Scene) -> Iterator[Refusal]:
    """What a committed definition or step says about the process stays; its label may be replaced."""
    for touched, kind in scene.committed(Kind.DEFINITION, Kind.STEP):
        for predicate, _ in (*touched.change.removed, *touched.change.added):
            if predicate == RDF_TYPE or predicate in scene.names.plan_properties:
                detail = f"a committed {kind} does not change"
                yield scene.refuse("plan_immutable", touched.subject, touched.graph, predicate, detail)
        problem = _label_problem(scene, touched, kind)
        if problem is not None:
            yield scene.refuse("plan_immutable", touched.subject, touched.graph, LABEL, problem)


def _label_problem(scene: Scene, touched: Touched, kind: Kind) -> str | None:
    if not touched.change.touches((LABEL,)):
        return None
    label = next(prop for prop in scene.names.entities[kind].properties if prop.iri == LABEL)
    labels = list(scene.after.objects(touched.subject, LABEL, touched.graph))
    return property_problem(label, labels, texts=True)


def definition_incomplete(scene: Scene) -> Iterator[Refusal]:
    """A new definition has both types and every property, of the right kind, as often as it may."""
    entity = scene.names.entities[Kind.DEFINITION]
    for touched in scene.new(Kind.DEFINITION):
        problem = entity_problem(entity, scene.after.facts(touched.subject, touched.graph))
        if problem is not None:
            field, detail = problem
            yield scene.refuse("definition_incomplete", touched.subject, touched.graph, field, detail)


def definition_step_unknown(scene: Scene) -> Iterator[Refusal]:
    """Each declared step is a step in the same graph; one committed before enrollment must be complete."""
    step = scene.names.entities[Kind.STEP]
    for touched in scene.new(Kind.DEFINITION):
        graph = touched.graph
        for declared in scene.after.objects(touched.subject, scene.names.has_step, graph):
            if not isinstance(declared, IRI) or not scene.now(Kind.STEP, declared, graph):
                detail = "names a step that is none in this graph"
            elif not scene.is_new(Kind.STEP, declared, graph) and entity_problem(
                step, scene.after.facts(declared, graph)
            ):
                detail = "names a step that is not complete"
            else:
                continue
            yield scene.refuse(
                "definition_step_unknown", touched.subject, graph, scene.names.has_step, detail
            )


def definition_step_ambiguous(scene: Scene) -> Iterator[Refusal]:
    """The name and the starting state of a step identify it within its plan."""
    return _faulty(scene, "definition_step_ambiguous", ambiguous_step)


def definition_terminal_exit(scene: Scene) -> Iterator[Refusal]:
    """No step leaves a terminal state."""
    return _faulty(scene, "definition_terminal_exit", terminal_exit)


def definition_unreachable(scene: Scene) -> Iterator[Refusal]:
    """A run can leave the initial state, unless it is terminal."""
    return _faulty(scene, "definition_unreachable", unreachable)


def definition_dead_end(scene: Scene) -> Iterator[Refusal]:
    """Every state is terminal or can be left."""
    return _faulty(scene, "definition_dead_end", dead_end)


def _faulty(scene: Scene, reason: str, fault: Callable[[Plan], str | None]) -> Iterator[Refusal]:
    field = scene.names.initial_state if reason == "definition_unreachable" else scene.names.has_step
    for plan in scene.plans:
        detail = fault(plan)
        if detail is not None:
            yield scene.refuse(reason, plan.iri, plan.graph, field, detail)


def ambiguous_step(plan: Plan) -> str | None:
    """Why the plan's steps cannot be told apart, or None."""
    seen: dict[tuple[str, str], IRI] = {}
    for step in plan.steps:
        other = seen.setdefault((step.name, step.from_state), step.iri)
        if other != step.iri:
            return f"{other} and {step.iri} share their name and starting state"
    return None


def terminal_exit(plan: Plan) -> str | None:
    """Which step leaves a terminal state, or None."""
    for step in plan.steps:
        if step.from_state in plan.terminal:
            return f"{step.iri} starts at a terminal state"
    return None


def unreachable(plan: Plan) -> str | None:
    """Why no run could ever advance, or None."""
    if plan.initial in plan.terminal or plan.legal(plan.initial):
        return None
    return "no declared step starts at the initial state, and it is not terminal"


def dead_end(plan: Plan) -> str | None:
    """Which step leads to a state that is neither terminal nor left, or None."""
    left = {step.from_state for step in plan.steps}
    for step in plan.steps:
        if step.to_state not in plan.terminal and step.to_state not in left:
            return f"{step.iri} leads to a state that is neither terminal nor left by a declared step"
    return None


def plan_faults(plan: Plan) -> list[tuple[str, str]]:
    """Every fault of a plan as a walk: reason and detail, in the order of the table."""
    checks = (
        ("definition_step_ambiguous", ambiguous_step),
        ("definition_terminal_exit", terminal_exit),
        ("definition_unreachable", unreachable),
        ("definition_dead_end", dead_end),
    )
    return [(reason, detail) for reason, fault in checks if (detail := fault(plan)) is not None]
