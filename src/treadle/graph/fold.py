"""Folding runs: replaying events from the initial state, to see that they give the run's state and revision.

Restore, import and `verify` fold every run, because they bring many statements at once and no delta that
the guard could judge.  A run folds when its events 0 … n−1 are each declared, chained and validly signed,
and its state and revision are what they lead to.  Events from before enrollment carry no revision; they
come first, in the order of their times.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from treadle.graph import signatures
from treadle.graph.entities import (
    Event,
    Plan,
    Registration,
    grouped,
    only_iri,
    only_text,
    read_event,
    read_plan,
    registrations,
)
from treadle.graph.legacy import in_order, verifies
from treadle.graph.signatures import step_name
from treadle.graph.terms import IRI, Quad, Resource
from treadle.graph.view import ANY, Graph, Lookups
from treadle.graph.vocabulary import ACCEPTED_UNSIGNED, RDF_TYPE, SIGNED_VERSION, Vocabulary

Registered: TypeAlias = Callable[[Event, Graph], Iterable[Registration]]
"""The usable registrations of an event's agent that were committed before the event was."""


class Problem(NamedTuple):
    """Why a run does not fold: a reason of the guard's table or `run_differs`, and its subject."""

    reason: str
    subject: Resource
    detail: str


@dataclass(frozen=True, slots=True)
class Folded:
    """What a run's events come to.

    Attributes:
        graph, run: which run.
        definition: its definition, or None when it names none.
        state, revision: what the events lead to, as far as they chain.
        events: the events in order.
        unsigned: the events from before enrollment that no registered key verifies.
        legacy: the run was finished before enrollment and never migrated; nothing is asked of it.
        problems: why it does not fold; empty when it does.
    """

    graph: Graph
    run: Resource
    definition: IRI | None
    state: str | None
    revision: str
    events: tuple[Event, ...] = ()
    unsigned: tuple[Event, ...] = ()
    legacy: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the run folds."""
        return not self.problems


def current_registrations(
    view: Lookups, names: Vocabulary, identity_graphs: Collection[Graph] | None = None
) -> Registered:
    """The registrations that are committed now, as `fold_run` takes them.

    Right where the history of registrations is not at hand; a key that was removed since then is missed.
    """
    found: dict[str, list[Registration]] = {}

    def registered(event: Event, graph: Graph) -> Iterable[Registration]:
        if event.agent not in found:
            found[event.agent] = registrations(view, event.agent, names, identity_graphs)
        return found[event.agent]

    return registered


def trusted_keys(view: Lookups, names: Vocabulary, keys: Mapping[str, Iterable[str]]) -> Registered:
    """Public keys that the caller trusts, by agent name, for every definition of the dataset.

    What an offline verifier takes in place of registrations: an exported dataset could hold any.
    """
    plans = frozenset(str(plan) for plan, _ in view.subjects(RDF_TYPE, names.definition, ANY))
    held = {name: sorted(set(texts)) for name, texts in keys.items()}

    def registered(event: Event, graph: Graph) -> Iterable[Registration]:
        for key in held.get(event.agent, ()):
            yield Registration(event.performer, graph, event.agent, key, plans, None)

    return registered


def fold_all(
    view: Lookups, names: Vocabulary, registered: Registered, *, honour_accepted: bool = True
) -> Iterator[Folded]:
    """Fold every run of a dataset, in code-point order of graph and run, and what only shows across runs.

    Problems across runs (one signature on two events, one agent name with two IRIs, a numbered event of no
    run) are reported with the run whose event comes second.  For the arguments see `fold_run`.
    """
    seen = _Seen()
    runs = sorted(view.subjects(RDF_TYPE, names.run, ANY), key=lambda at: (at[1] or (), at[0]))
    for run, graph in runs:
        folded = fold_run(view, run, graph, names, registered, honour_accepted=honour_accepted)
        yield seen.check(folded)
    yield from _orphans(view, names)


def fold_run(
    view: Lookups,
    run: Resource,
    graph: Graph,
    names: Vocabulary,
    registered: Registered,
    *,
    honour_accepted: bool = True,
) -> Folded:
    """Fold one run.

    Args:
        view: the dataset.
        run, graph: which run.
        names: the dataset's vocabulary.
        registered: answers which registrations counted for an event.
        honour_accepted: whether events from before enrollment may be unsigned as far as the run's
            migration record says; not when the data comes from elsewhere.
    """
    facts = grouped(view.facts(run, graph))
    definition = only_iri(facts.get(names.run_of, ()))
    state = only_text(facts.get(names.current_state, ()))
    revision = only_text(facts.get(names.current_revision, ()))
    if not facts.get(names.current_revision) and not _has_numbered(view, run, graph, names):
        return Folded(graph, run, definition, state, "0", legacy=True)
    plan = read_plan(view, definition, graph, names) if definition is not None else None
    if plan is None or state is None or revision is None:
        problem = Problem("run_incomplete", run, "lacks its definition, or one state and one revision")
        return Folded(graph, run, definition, state, "0", problems=(problem,))
    played = replay(view, run, plan, names, registered)
    problems = list(played.problems)
    if (state, revision) != (played.state, played.revision):
        detail = "its events lead to another state or revision than it says"
        problems.append(Problem("run_differs", run, detail))
    accepted = only_text(facts.get(ACCEPTED_UNSIGNED, ())) if honour_accepted else None
    if len(played.unsigned) > _count(accepted):
        detail = "no registered key verifies its signature"
        problems += [Problem("event_unsigned", event.iri, detail) for event in played.unsigned]
    return replace(played, problems=tuple(problems))


def replay(view: Lookups, run: Resource, plan: Plan, names: Vocabulary, registered: Registered) -> Folded:
    """Play a run's events through a plan from its initial state, whatever the run says of itself.

    Events from before enrollment without a valid signature are in `unsigned` and no problem here.
    """
    events, problems = _events(view, run, plan.graph, names)
    player = _Player(plan, registered, problems)
    player.play(
        [event for event in events if not is_numbered(event)],
        [event for event in events if is_numbered(event)],
    )
    return Folded(
        plan.graph,
        run,
        plan.iri,
        player.state,
        player.revision,
        tuple(player.played),
        tuple(player.unsigned),
        problems=tuple(problems),
    )


def is_numbered(event: Event) -> bool:
    """Whether an event carries the revision that it was signed for, as all do in enrolled processing."""
    return event.version == SIGNED_VERSION and event.from_revision is not None


class _Player:
    """One run's events played through its plan; problems are collected, and playing goes on."""

    def __init__(self, plan: Plan, registered: Registered, problems: list[Problem]) -> None:
        self.plan = plan
        self.registered = registered
        self.problems = problems
        self.state = plan.initial
        self.revision = "0"
        self.played: list[Event] = []
        self.unsigned: list[Event] = []

    def play(self, legacy: list[Event], numbered: list[Event]) -> None:
        """Play the events from before enrollment, then the numbered ones by their revisions."""
        ordered = in_order(legacy, self.state)
        if ordered is None:
            self.report(
                "advance_state_mismatch", legacy[0], "events without revision do not chain by their times"
            )
            ordered = sorted(legacy, key=lambda event: event.iri)
        for event in ordered:
            if not verifies(event, self._keys(event)):
                self.unsigned.append(event)
            self._step(event)
        for event in sorted(numbered, key=_by_revision):
            if event.from_revision != self.revision:
                self.report(
                    "advance_revision_mismatch", event, f"stands where revision {self.revision} belongs"
                )
            self._signature(event)
            self._step(event)

    def report(self, reason: str, event: Event, detail: str) -> None:
        self.problems.append(Problem(reason, event.iri, detail))

    def _step(self, event: Event) -> None:
        if not self._declared(event):
            self.report("event_step_undeclared", event, "its step is not declared so by the run's definition")
        if event.from_state != self.state:
            self.report("advance_state_mismatch", event, "does not start where the event before it ends")
        self.state = event.to_state
        self.revision = signatures.successor(self.revision)
        self.played.append(event)

    def _declared(self, event: Event) -> bool:
        """Whether the plan has the event's step; one from before enrollment is known by its name, since
        migration splits a step of several edges into several."""
        for step in self.plan.steps:
            same = step.iri == event.step or (
                not is_numbered(event) and step.name == step_name(event.step.value)
            )
            if same and (step.from_state, step.to_state) == (event.from_state, event.to_state):
                return True
        return False

    def _keys(self, event: Event) -> list[Registration]:
        registered = self.registered(event, self.plan.graph)
        return [one for one in registered if self.plan.iri.value in one.attests]

    def _signature(self, event: Event) -> None:
        attesting = self._keys(event)
        bound = [one for one in attesting if one.agent in (None, event.performer)]
        if not attesting:
            self.report("signer_unregistered", event, "no registration attested the definition for its agent")
        elif not bound:
            self.report("signer_mismatch", event, "the registration named another agent IRI")
        elif event.transition().ambiguous() is not None:
            self.report("field_ambiguous", event, "a signed field is ambiguous")
        elif not verifies(event, bound):
            self.report("signature_invalid", event, "no registered key verifies its signature")


class _Seen:
    """What may be there once over all runs: signatures of numbered events, and an IRI for each agent name."""

    def __init__(self) -> None:
        self.signatures: set[str] = set()
        self.agents: dict[str, IRI] = {}

    def check(self, folded: Folded) -> Folded:
        problems = list(folded.problems)
        for event in folded.events:
            if not is_numbered(event):
                continue
            if event.signature in self.signatures:
                problems.append(
                    Problem("signature_reused", event.iri, "its signature stands on another event")
                )
            self.signatures.add(event.signature)
            if self.agents.setdefault(event.agent, event.performer) != event.performer:
                detail = "its agent's name stands for another IRI elsewhere"
                problems.append(Problem("signer_mismatch", event.iri, detail))
        return replace(folded, problems=tuple(problems))


def _has_numbered(view: Lookups, run: Resource, graph: Graph, names: Vocabulary) -> bool:
    events, _ = _events(view, run, graph, names)
    return any(is_numbered(event) for event in events)


def _count(text: str | None) -> int:
    return int(text) if text is not None and signatures.is_revision(text) and len(text) < 10 else 0


def _events(
    view: Lookups, run: Resource, graph: Graph, names: Vocabulary
) -> tuple[list[Event], list[Problem]]:
    events, problems = [], []
    for subject, _ in view.subjects(names.in_run, run, graph):
        if not view.exists(Quad(subject, RDF_TYPE, names.event, graph)):
            continue
        event = read_event(subject, view.facts(subject, graph), names)
        if event is None:
            problems.append(Problem("event_incomplete", subject, "lacks or doubles a field"))
        else:
            events.append(event)
    return sorted(events, key=lambda event: event.iri), sorted(problems, key=lambda problem: problem.subject)


def _by_revision(event: Event) -> tuple[int, str, Resource]:
    revision = event.from_revision or ""
    return len(revision), revision, event.iri


def _orphans(view: Lookups, names: Vocabulary) -> Iterator[Folded]:
    for subject, graph in sorted(
        view.subjects(RDF_TYPE, names.event, ANY), key=lambda at: (at[1] or (), at[0])
    ):
        event = read_event(subject, view.facts(subject, graph), names)
        if event is None or not is_numbered(event):
            continue
        if not view.exists(Quad(event.run, RDF_TYPE, names.run, graph)):
            problem = Problem("event_without_advance", subject, "belongs to no run of its graph")
            yield Folded(graph, event.run, None, None, "0", problems=(problem,))
