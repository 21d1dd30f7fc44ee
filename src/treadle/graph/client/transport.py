"""How the workflow client reaches a dataset: what it asks for, and what each kind of silence is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from treadle.errors import OutcomeUnknown, Unreachable


class NoAnswer(OutcomeUnknown):
    """A request was sent, and no readable answer or a 5xx came back: it may or may not have happened."""


class Applied(NamedTuple):
    """What an update answered: its transaction, None where nothing changed, and the counts of statements."""

    tx: int | None
    asserted: int
    retracted: int


class Transport(Protocol):
    """One dataset, local or remote.

    Every method raises `Unreachable` when nothing was sent, `NoAnswer` when the answer is lost or a server
    error, `Refused` for the guard's refusals and other `TreadleError`s for other refusals.
    """

    def query(self, text: str) -> Mapping[str, Any]:
        """The answer of a SELECT query, in the SPARQL 1.1 JSON results format."""

    def update(self, text: str) -> Applied:
        """The answer of an update."""

    def capabilities(self) -> Mapping[str, Any] | None:
        """The workflow capabilities, or None where the server has no such route."""


__all__ = ["Applied", "NoAnswer", "Transport", "Unreachable"]
