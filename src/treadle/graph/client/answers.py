"""What the workflow client answers: what was done, what is pending, and why it could not be done."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from treadle.errors import Busy, ConfigError, OutcomeUnknown, OverCapacity, Refused, TreadleError
from treadle.graph.client.transport import Unreachable
from treadle.graph.entities import Event
from treadle.graph.keys import AgentKey
from treadle.graph.signatures import Transition, agent_name, event_iri, step_name
from treadle.graph.terms import IRI, XSD_INTEGER, Literal, Quad
from treadle.graph.view import Graph
from treadle.graph.vocabulary import ENDED_AT, RDF_TYPE, SIGNED_VERSION, Vocabulary

DONE, FAILED, REFUSED, CONFLICT, UNREACHABLE, INDETERMINATE = 0, 1, 2, 4, 7, 8
"""Exit codes of `treadle graph`."""


class Conflict(TreadleError):
    """Another change came first: the run is elsewhere now.  Read it again and decide anew."""

    default = "version_conflict"


class Indeterminate(OutcomeUnknown):
    """It could not be learned whether the advance landed.

    `pending` is the signed advance; hand it to `WorkflowClient.resolve` (or send the same text again) to
    learn the outcome.  Signing a new one could advance the run twice.
    """

    def __init__(self, message: str, *, pending: Pending | None = None) -> None:
        super().__init__(message)
        self.pending = pending


class VerificationFailed(TreadleError):
    """A run's history does not fold; `problems` says where."""

    default = "refused"

    def __init__(self, message: str, *, problems: tuple[Any, ...]) -> None:
        super().__init__(message)
        self.problems = problems


def exit_code(error: TreadleError | None) -> int:
    """The exit code of the command line for the outcome of a client's call; None is success."""
    if error is None:
        return DONE
    if isinstance(error, VerificationFailed):
        return FAILED
    if isinstance(error, Conflict):
        return CONFLICT
    if isinstance(error, Unreachable | Busy | OverCapacity):
        return UNREACHABLE
    if isinstance(error, OutcomeUnknown):
        return INDETERMINATE
    return REFUSED


class Advanced(NamedTuple):
    """An advance that landed.

    `resolved` is true when that was learned by reading, after a lost answer or a repeated request.
    """

    run: str
    event: str
    step: str
    from_state: str
    to_state: str
    revision: str
    tx: int | None
    resolved: bool


@dataclass(frozen=True, slots=True)
class Pending:
    """A signed advance, whole: what is sent, resent and looked for is always the same.

    Everything is text, so that it can be kept in a file (`to_json`) before it is sent.
    """

    run: str
    graph: str | None
    definition: str
    step: str
    from_state: str
    to_state: str
    at: str
    performer: str
    from_revision: str
    to_revision: str
    signature: str
    base_ns: str

    @property
    def event(self) -> IRI:
        """The event's IRI, which follows from the signature."""
        return IRI(event_iri(self.run, self.from_revision, self.signature))

    def event_quads(self, names: Vocabulary) -> set[Quad]:
        """The event's statements."""
        facts = (
            (RDF_TYPE, names.event),
            (names.in_run, IRI(self.run)),
            (names.at_step, IRI(self.step)),
            (names.from_state, Literal(self.from_state)),
            (names.to_state, Literal(self.to_state)),
            (ENDED_AT, Literal(self.at)),
            (names.performed_by, IRI(self.performer)),
            (names.from_revision, Literal(self.from_revision, XSD_INTEGER)),
            (names.transition_version, Literal(SIGNED_VERSION, XSD_INTEGER)),
            (names.signature, Literal(self.signature)),
        )
        return {Quad(self.event, predicate, value, self.where) for predicate, value in facts}

    def run_quads(self, names: Vocabulary, state: str, revision: str) -> set[Quad]:
        """The run's state and revision."""
        run = IRI(self.run)
        return {
            Quad(run, names.current_state, Literal(state), self.where),
            Quad(run, names.current_revision, Literal(revision, XSD_INTEGER), self.where),
        }

    def is_in(self, found: set[Quad], names: Vocabulary) -> bool:
        """Whether statements hold the exact event; labels and listed predicates beside it do not matter."""
        return self.event_quads(names) <= found

    @property
    def where(self) -> Graph:
        """The graph as a term."""
        return None if self.graph is None else IRI(self.graph)

    def signed(self, key: AgentKey) -> Pending:
        """The same advance with the key's signature.

        Raises:
            Refused: reason `field_ambiguous`, when a field cannot be signed.
        """
        step, agent = step_name(self.step), agent_name(self.performer)
        transition = Transition(
            self.run, step, self.from_state, self.to_state, self.at, agent, self.from_revision
        )
        return replace(self, signature=key.sign(transition))

    def to_json(self) -> str:
        """The pending advance as one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Pending:
        """A pending advance from `to_json`.

        Raises:
            ConfigError: the text is no such line.
        """
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError) as error:
            raise ConfigError("this is no pending advance") from error

    def advanced(self, *, tx: int | None, resolved: bool) -> Advanced:
        """The answer for when it landed."""
        return Advanced(
            self.run,
            self.event.value,
            self.step,
            self.from_state,
            self.to_state,
            self.to_revision,
            tx,
            resolved,
        )


class Line(NamedTuple):
    """One event of a history, with what verification says of it: None when it is sound."""

    event: Event
    problem: str | None


def refuse(reason: str, detail: str, remedy: str) -> Refused:
    """A refusal of the client's own, before anything is sent."""
    return Refused(f"{reason}: {detail}; {remedy}", reason=reason, remedy=remedy)
