"""What enrollment needs of data from before it, and the one change that brings it there.

`plan_migration` is a pure function of a dataset: it reports every legacy definition, step and active run,
what it would write, and what it cannot know.  What is ambiguous is reported, never guessed; an operator
answers (`Answers`) or repairs the data, which is free as long as nothing is enrolled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import quote

from treadle.graph.after import Draft
from treadle.graph.delta import Delta
from treadle.graph.entities import grouped, is_plain, only_iri, only_text, read_plan
from treadle.graph.fold import Folded, Registered, replay
from treadle.graph.guard.definitions import plan_faults
from treadle.graph.guard.fields import entity_problem
from treadle.graph.guard.steps import step_problem
from treadle.graph.signatures import step_name, unfit_name
from treadle.graph.terms import IRI, XSD_INTEGER, BlankNode, Literal, Quad, Resource, Term
from treadle.graph.view import ANY, Graph, Lookups
from treadle.graph.vocabulary import ACCEPTED_UNSIGNED, LABEL, RDF_TYPE, Kind, Vocabulary


class Severity(StrEnum):
    """What an item or finding means for enrollment."""

    WRITES = "writes"  # migration will write it
    BLOCKS = "blocks"  # must be solved by a person first
    WARNS = "warns"  # worth knowing; enrollment goes on


class Item(NamedTuple):
    """One line of the report: what is the matter with which entity."""

    severity: Severity
    graph: Graph
    entity: Resource
    field: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Answers:
    """What an operator decides where the data does not say.

    Attributes:
        initial: the initial state of a definition, by its IRI.
        terminal: the terminal states of a definition, by its IRI.
        unsigned: the runs whose unsigned or doubtful events are accepted, by their IRIs; None means all.
    """

    initial: Mapping[IRI, str] = field(default_factory=dict)
    terminal: Mapping[IRI, Iterable[str]] = field(default_factory=dict)
    unsigned: frozenset[Resource] | None = frozenset()


@dataclass(frozen=True, slots=True)
class Migration:
    """A report and the change that goes with it; the change is whole even where something blocks."""

    items: tuple[Item, ...]
    delta: Delta

    @property
    def blocked(self) -> bool:
        """Whether something must be solved by a person before enrollment."""
        return any(item.severity is Severity.BLOCKS for item in self.items)

    @property
    def done(self) -> bool:
        """Whether nothing is left to migrate."""
        return not self.delta and not self.blocked


NO_ANSWERS: Final = Answers()


def plan_migration(
    view: Lookups, names: Vocabulary, registered: Registered, answers: Answers = NO_ANSWERS
) -> Migration:
    """Work out a migration without writing anything.

    Args:
        view: the dataset as it is.
        names: its vocabulary.
        registered: the registrations that count for an event, as `treadle.graph.fold` takes them.
        answers: what an operator decided.

    Returns:
        The report, sorted by graph and entity, definitions before runs, and the delta that writes it.
    """
    planner = _Planner(view, names, answers)
    for definition, graph in _definitions(view, names):
        planner.definition(definition, graph)
    for run, graph in _in_order(view.subjects(RDF_TYPE, names.run, ANY)):
        planner.run(run, graph, registered)
    return Migration(tuple(planner.items), planner.draft.delta())


class _Planner:
    """Collects items and statements; entities that are whole already are left alone."""

    def __init__(self, view: Lookups, names: Vocabulary, answers: Answers) -> None:
        self.view = view
        self.names = names
        self.answers = answers
        self.items: list[Item] = []
        self.draft = Draft(view)
        self.done: set[tuple[Graph, IRI]] = set()

    def write(self, subject: Resource, predicate: IRI, value: Term, graph: Graph, detail: str) -> None:
        if self.draft.add(Quad(subject, predicate, value, graph)):
            self.items.append(Item(Severity.WRITES, graph, subject, self.names.short(predicate), detail))

    def block(self, subject: Resource, graph: Graph, field: IRI | str | None, detail: str) -> None:
        name = self.names.short(field) if isinstance(field, IRI) else field
        self.items.append(Item(Severity.BLOCKS, graph, subject, name, detail))

    def warn(self, subject: Resource, graph: Graph, field: str | None, detail: str) -> None:
        self.items.append(Item(Severity.WARNS, graph, subject, field, detail))

    # --- definitions ------------------------------------------------------------------------------------

    def definition(self, definition: Resource, graph: Graph) -> None:
        if isinstance(definition, BlankNode):
            self.block(definition, graph, None, "is a blank node; give the definition an IRI")
            return
        found = grouped(self.view.facts(definition, graph))
        self._types(definition, graph, found, (self.names.workflow, self.names.definition))
        self._label(definition, graph, found, definition.value)
        declared = found.get(self.names.has_step, [])
        for step in sorted(declared):
            self._step(definition, step, graph)
        self._states(definition, graph, found)
        self._judge(definition, graph)

    def _types(
        self, subject: Resource, graph: Graph, found: Mapping[IRI, list[Term]], pair: tuple[IRI, IRI]
    ) -> None:
        for needed in pair:
            if needed not in found.get(RDF_TYPE, ()):
                self.write(subject, RDF_TYPE, needed, graph, f"is typed {self.names.short(needed)} too")

    def _label(self, subject: Resource, graph: Graph, found: Mapping[IRI, list[Term]], iri: str) -> None:
        if not found.get(LABEL):
            self.write(subject, LABEL, Literal(step_name(iri) or iri), graph, "gets its name as label")

    def _states(self, definition: IRI, graph: Graph, found: Mapping[IRI, list[Term]]) -> None:
        """Initial and terminal states, where they are missing and the steps leave no doubt."""
        starts, ends = self._edges(definition, graph)
        names = self.names
        if not found.get(names.initial_state):
            answer = self.answers.initial.get(definition)
            sources = sorted(starts - ends)
            if answer is not None or len(sources) == 1:
                state = answer if answer is not None else sources[0]
                self.write(definition, names.initial_state, Literal(state), graph, f"starts at {state!r}")
            else:
                detail = (
                    f"no single state is first (no step leads to {len(sources)} of them); say which it is"
                )
                self.block(definition, graph, names.initial_state, detail)
        if not found.get(names.terminal_state):
            states = set(self.answers.terminal.get(definition, ())) or (ends - starts)
            for state in sorted(states):
                self.write(definition, names.terminal_state, Literal(state), graph, f"may end at {state!r}")
            if not states:
                self.block(
                    definition, graph, names.terminal_state, "every state is left again; say which end"
                )

    def _edges(self, definition: IRI, graph: Graph) -> tuple[set[str], set[str]]:
        after = self.draft.view
        starts: set[str] = set()
        ends: set[str] = set()
        for step in after.objects(definition, self.names.has_step, graph):
            if not isinstance(step, Literal):
                starts |= {term.value for term in after.objects(step, self.names.from_state, graph)}
                ends |= {term.value for term in after.objects(step, self.names.to_state, graph)}
        return starts, ends

    def _judge(self, definition: IRI, graph: Graph) -> None:
        """What remains wrong with the definition once everything above is written."""
        after = self.draft.view
        problem = entity_problem(self.names.entities[Kind.DEFINITION], after.facts(definition, graph))
        settled = (self.names.short(self.names.initial_state), self.names.short(self.names.terminal_state))
        if problem is not None:
            if not (problem[0] in settled and problem[1] == "is missing"):
                self.block(definition, graph, *problem)
            return
        plan = read_plan(after, definition, graph, self.names)
        for _, detail in plan_faults(plan) if plan is not None else ():
            self.block(definition, graph, self.names.has_step, detail)

    # --- steps --------------------------------------------------------------------------------------------

    def _step(self, definition: IRI, step: Term, graph: Graph) -> None:
        if not isinstance(step, IRI):
            self.block(definition, graph, self.names.has_step, "names a step that is no IRI")
            return
        found = grouped(self.view.facts(step, graph))
        if not found:
            elsewhere = " (it is in another graph)" if any(True for _ in self.view.graphs(step)) else ""
            self.block(definition, graph, self.names.has_step, f"{step} is not in this graph{elsewhere}")
            return
        self._types(step, graph, found, (self.names.plain_step, self.names.step))
        self._label(step, graph, found, step.value)
        self._split(definition, step, graph, found)
        entity = self.names.entities[Kind.STEP]
        problem = step_problem(entity, step, self.draft.view.facts(step, graph))
        if problem is not None and (graph, step) not in self.done:
            self.block(step, graph, *problem)
        self.done.add((graph, step))

    def _split(self, definition: IRI, step: IRI, graph: Graph, found: Mapping[IRI, list[Term]]) -> None:
        """One step entity for each edge: the first edge keeps the IRI, each other one gets its own."""
        names = self.names
        starts, ends = sorted(found.get(names.from_state, [])), sorted(found.get(names.to_state, []))
        if len(starts) * len(ends) < 2 or not all(is_plain(term) for term in (*starts, *ends)):
            return
        if len(starts) > 1 and len(ends) > 1:
            if (graph, step) not in self.done:
                detail = "has several states on both sides; which lead to which is not said"
                self.block(step, graph, names.to_state, detail)
            return
        if unfit_name(step_name(step.value)):
            return
        labels = found.get(LABEL) or [Literal(step_name(step.value))]
        edges = [(start, end) for start in starts for end in ends]
        for start, end in edges[1:]:
            many, kept = (names.from_state, start) if len(starts) > 1 else (names.to_state, end)
            self.draft.remove(Quad(step, many, kept, graph))
            self._edge(definition, _edge_iri(step, kept), labels, start, end, graph)

    def _edge(
        self, definition: IRI, step: IRI, labels: list[Term], start: Term, end: Term, graph: Graph
    ) -> None:
        names = self.names
        detail = f"becomes the step from {str(start)!r} to {str(end)!r}"
        self.write(definition, names.has_step, step, graph, f"declares {step}")
        self.write(step, RDF_TYPE, names.step, graph, detail)
        facts: list[tuple[IRI, Term]] = [(RDF_TYPE, names.plain_step), *((LABEL, label) for label in labels)]
        facts += [(names.from_state, start), (names.to_state, end)]
        for predicate, value in facts:
            self.draft.add(Quad(step, predicate, value, graph))

    # --- runs ---------------------------------------------------------------------------------------------

    def run(self, run: Resource, graph: Graph, registered: Registered) -> None:
        found = grouped(self.view.facts(run, graph))
        definition = only_iri(found.get(self.names.run_of, ()))
        plan = read_plan(self.draft.view, definition, graph, self.names) if definition is not None else None
        state = only_text(found.get(self.names.current_state, ()))
        finished = plan is not None and state in plan.terminal
        report = self.warn if finished else self.block
        if isinstance(run, BlankNode):
            report(run, graph, None, "is a blank node; give the run an IRI")
        elif plan is None:
            report(run, graph, "aegis:runOf", "does not name one definition in this graph")
        elif len(found.get(self.names.current_state, ())) > 1:
            report(run, graph, "aegis:currentState", "has several live states; which one holds is not said")
        else:
            folded = replay(self.view, run, plan, self.names, registered)
            if not self._doubts(run, graph, folded, finished):
                self._settle(run, graph, found, folded, finished)

    def _doubts(self, run: IRI, graph: Graph, folded: Folded, finished: bool) -> bool:
        """Report what keeps a run from folding, and events without a valid signature that nobody accepted."""
        report = self.warn if finished else self.block
        for problem in folded.problems:
            report(run, graph, None, f"{problem.subject}: {problem.detail}")
        accepted = self.answers.unsigned is None or run in self.answers.unsigned
        for event in folded.unsigned if not accepted else ():
            what = "is unsigned" if not event.signature else "has a signature that no registered key verifies"
            report(run, graph, "aegis:signature", f"{event.iri}: {what}")
        return bool(folded.problems) or (bool(folded.unsigned) and not accepted)

    def _settle(
        self, run: IRI, graph: Graph, found: Mapping[IRI, list[Term]], folded: Folded, finished: bool
    ) -> None:
        names, count = self.names, len(folded.events)
        report = self.warn if finished else self.block
        wanted: dict[IRI, Literal] = {
            names.current_state: Literal(folded.state or ""),
            names.current_revision: Literal(folded.revision, XSD_INTEGER),
        }
        for predicate, term in wanted.items():
            if any(str(present) != str(term) for present in found.get(predicate, ())):
                detail = f"is not what the run's {count} events lead to"
                report(run, graph, names.short(predicate), detail)
                return
        if folded.unsigned:
            wanted[ACCEPTED_UNSIGNED] = Literal(str(len(folded.unsigned)), XSD_INTEGER)
        for predicate, term in wanted.items():
            for present in found.get(predicate, ()):
                if present != term:
                    self.draft.remove(Quad(run, predicate, present, graph))
            self.write(run, predicate, term, graph, f"becomes {str(term)!r}, by the run's {count} events")
        problem = entity_problem(names.entities[Kind.RUN], self.draft.view.facts(run, graph))
        if problem is not None:
            report(run, graph, *problem)


def _edge_iri(step: IRI, state: Term) -> IRI:
    """The IRI of a split-off edge: it ends in the step's name, because that is what is signed."""
    return IRI(f"{step.value}/{quote(str(state), safe='')}/{step_name(step.value)}")


def _definitions(view: Lookups, names: Vocabulary) -> list[tuple[Resource, Graph]]:
    """Every subject that is meant as a definition: by its type, or a Workflow with steps, states or runs."""
    found = set(view.subjects(RDF_TYPE, names.definition, ANY))
    process = (names.has_step, names.initial_state, names.terminal_state)
    for subject, graph in view.subjects(RDF_TYPE, names.workflow, ANY):
        if any(True for p in process for _ in view.objects(subject, p, graph)) or any(
            True for _ in view.subjects(names.run_of, subject, graph)
        ):
            found.add((subject, graph))
    return _in_order(found)


def _in_order(places: Iterable[tuple[Resource, Graph]]) -> list[tuple[Resource, Graph]]:
    return sorted(places, key=lambda at: (at[1] or (), at[0]))
