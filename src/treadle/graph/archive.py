"""Archiving: which finished runs and abandoned plans may leave a dataset, and what remains in their place.

An operator's act, outside the guard.  A run leaves only when it is finished and folds; its events go with
it, and a record stays on its IRI: without it a run of the same IRI could start again, and every signed
advance of the old one, which anybody may have kept, could be sent once more.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from treadle.graph.delta import Delta
from treadle.graph.entities import read_plan
from treadle.graph.fold import Folded, Registered, fold_run
from treadle.graph.terms import IRI, XSD_INTEGER, Literal, Quad, Resource
from treadle.graph.view import ANY, Graph, Lookups
from treadle.graph.vocabulary import ARCHIVED, RDF_TYPE, Vocabulary


@dataclass(frozen=True, slots=True)
class Archive:
    """What archiving would do.

    Attributes:
        runs: the runs that leave, folded.
        plans: the definitions that leave, with their graphs.
        kept: what was asked for and stays, each with the reason.
        delta: the change; `delta.removed` is what to export first.
    """

    runs: tuple[Folded, ...]
    plans: tuple[tuple[IRI, Graph], ...]
    kept: tuple[tuple[Resource, Graph, str], ...]
    delta: Delta


def plan_archive(
    view: Lookups,
    names: Vocabulary,
    registered: Registered,
    *,
    runs: Collection[Resource] | None = None,
    plans: Collection[Resource] = (),
) -> Archive:
    """Work out an archive without writing anything.

    Args:
        view: the dataset.
        names: its vocabulary.
        registered: the registrations that count for an event, as `treadle.graph.fold` takes them.
        runs: the runs to archive, in whatever graph; None means every finished one.
        plans: the abandoned definitions to archive; one stays while a run of it does.  Steps that another
            definition declares stay too.
    """
    leaving: list[Folded] = []
    kept: list[tuple[Resource, Graph, str]] = []
    for run, graph in _places(view, names.run):
        if runs is not None and run not in runs:
            continue
        folded = fold_run(view, run, graph, names, registered)
        reason = _stays(view, folded, names)
        if reason is None:
            leaving.append(folded)
        elif runs is not None:
            kept.append((run, graph, reason))
    gone = {(folded.run, folded.graph) for folded in leaving}
    removed = {quad for folded in leaving for quad in _run_quads(view, folded, names)}
    added = {
        Quad(folded.run, ARCHIVED, Literal(folded.revision, XSD_INTEGER), folded.graph) for folded in leaving
    }
    abandoned = _abandoned(view, names, plans, gone, kept)
    for plan, graph in abandoned:
        removed |= _plan_quads(view, plan, graph, names, {iri for iri, where in abandoned if where == graph})
    return Archive(tuple(leaving), tuple(abandoned), tuple(kept), Delta.of(removed, added - removed))


def _stays(view: Lookups, folded: Folded, names: Vocabulary) -> str | None:
    if folded.legacy:
        return "it was never migrated, and cannot be folded"
    if not folded.ok:
        return f"it does not fold: {folded.problems[0].detail}"
    plan = read_plan(view, folded.definition, folded.graph, names) if folded.definition else None
    if plan is None or folded.state not in plan.terminal:
        return "it is not finished"
    return None


def _run_quads(view: Lookups, folded: Folded, names: Vocabulary) -> set[Quad]:
    subjects: list[Resource] = [folded.run, *(event.iri for event in folded.events)]
    return {Quad(s, p, o, folded.graph) for s in subjects for p, o in view.facts(s, folded.graph)}


def _abandoned(
    view: Lookups,
    names: Vocabulary,
    plans: Collection[Resource],
    gone: set[tuple[Resource, Graph]],
    kept: list[tuple[Resource, Graph, str]],
) -> list[tuple[IRI, Graph]]:
    found = []
    for plan, graph in _places(view, names.definition):
        if plan not in plans or not isinstance(plan, IRI):
            continue
        left = [run for run, where in view.subjects(names.run_of, plan, graph) if (run, where) not in gone]
        if left:
            kept.append((plan, graph, f"{len(left)} of its runs stay"))
        else:
            found.append((plan, graph))
    return found


def _plan_quads(view: Lookups, plan: IRI, graph: Graph, names: Vocabulary, leaving: set[IRI]) -> set[Quad]:
    removed = {Quad(plan, p, o, graph) for p, o in view.facts(plan, graph)}
    for step in view.objects(plan, names.has_step, graph):
        declaring = {subject for subject, _ in view.subjects(names.has_step, step, graph)}
        if isinstance(step, IRI) and declaring <= leaving:
            removed |= {Quad(step, p, o, graph) for p, o in view.facts(step, graph)}
    return removed


def _places(view: Lookups, marker: IRI) -> list[tuple[Resource, Graph]]:
    return sorted(view.subjects(RDF_TYPE, marker, ANY), key=lambda at: (at[1] or (), at[0]))
