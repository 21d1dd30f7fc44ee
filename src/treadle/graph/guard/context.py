"""What the guard is told beside the data, and what it answers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from treadle.errors import Refused
from treadle.graph.guard.reasons import BY_NAME
from treadle.graph.terms import IRI, Resource
from treadle.graph.view import Graph
from treadle.graph.vocabulary import Vocabulary, vocabulary


@dataclass(frozen=True, slots=True)
class Context:
    """Who writes, and under which rules.

    Attributes:
        enrolled: whether the database enforces workflow processing.
        verify_transitions: whether, without enrollment, events in a write must carry a valid signature.
        identity: whether the caller may change registrations.
        define: whether the caller may define plans and start runs.
        names: the vocabulary of the database's namespace.
        identity_graphs: the graphs whose registrations count; None means every graph.
        event_predicates: predicates that an event may bear besides its own, as listed at enrollment.
    """

    enrolled: bool = True
    verify_transitions: bool = False
    identity: bool = False
    define: bool = False
    names: Vocabulary = field(default_factory=vocabulary)
    identity_graphs: Collection[Graph] | None = None
    event_predicates: frozenset[IRI] = frozenset()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused: the first reason in the table's order.

    Attributes:
        reason: the stable name.
        entity: the subject it is about.
        graph: the graph it is in.
        field: the property, as `aegis:currentState`, or None when it is about the entity as a whole.
        detail: one sentence that says what is wrong; it holds no value of the refused data.
    """

    reason: str
    entity: Resource
    graph: Graph
    field: str | None
    detail: str

    @property
    def remedy(self) -> str:
        """What the caller can do."""
        return BY_NAME[self.reason].remedy

    @property
    def place(self) -> tuple[tuple[object, ...], Resource]:
        """The order of refusals for one reason: graph, then subject, by code point."""
        return (self.graph or (), self.entity)

    def error(self) -> Refused:
        """The refusal as the error that callers see."""
        where = f"{self.entity}" + (f" {self.field}" if self.field else "")
        return Refused(
            f"{self.reason}: {where}: {self.detail}; {self.remedy}",
            reason=self.reason,
            entity=str(self.entity),
            field=self.field,
            graph=None if self.graph is None else str(self.graph),
            remedy=self.remedy,
        )


class Advance(NamedTuple):
    """One accepted step of a run. `revision` is the new one; `registration` names the key that verified."""

    graph: Graph
    run: IRI
    definition: IRI
    event: Resource
    step: IRI
    from_state: str
    to_state: str
    revision: str
    performer: IRI
    registration: Resource


class Entry(NamedTuple):
    """An entity that a request brings or changes."""

    graph: Graph
    subject: Resource


@dataclass(frozen=True, slots=True)
class Verdict:
    """A request that is accepted, and what the guard recognised in it.

    `advances` are complete; `started` are new runs, `defined` new definitions, `registrations` subjects whose
    registration facts changed.  All are empty for a request that touches none of these.
    """

    advances: tuple[Advance, ...] = ()
    started: tuple[Entry, ...] = ()
    defined: tuple[Entry, ...] = ()
    registrations: tuple[Entry, ...] = ()
