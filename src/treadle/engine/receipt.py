"""What a committed command answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from treadle.errors import UnexpectedOutcome
from treadle.model.contract import Field
from treadle.model.facts import Cells, RevisionFact
from treadle.model.values import Codec, datetime_of, timestamp_text
from treadle.text import nearest


class Coded(Protocol):
    """A contract as a receipt needs it: its codec."""

    @property
    def codec(self) -> Codec: ...


class DeclaredOutcome(Protocol):
    """A declared outcome: the fields of its payload in order."""

    @property
    def fields(self) -> tuple[Field, ...]: ...


class DeclaredCommand(Protocol):
    """A command as a receipt needs it: its name, and its outcomes by name."""

    @property
    def name(self) -> str: ...
    @property
    def outcomes(self) -> Mapping[str, DeclaredOutcome]: ...


class Receipt:
    """A declared outcome, durable: it is answered again, the same, for the same idempotency key.

    `outcome` is the outcome's name and `fields` its payload as Python values; `ok` is true for the
    command's `return` outcome only. `commit` is the number of the log record, `time` the sealed
    transaction time, `history` the history incarnation that both belong to, `replayed` whether this
    answer was stored by an earlier call. `workflow_revisions` lists, in source order, every written
    binding of an entity with a workflow (`.binding`, `.element`, `.revision`); `revisions` has those of
    top-level bindings by name.
    """

    __slots__ = ("_cells", "_command", "_deployed", "_fields", "_time", "commit", "history", "ok", "outcome",
                 "replayed", "workflow_revisions")  # fmt: skip

    def __init__(
        self,
        deployed: Coded,
        command: DeclaredCommand,
        outcome: str,
        cells: Cells,
        *,
        ok: bool,
        commit: int,
        time: int,
        history: str,
        revisions: Sequence[RevisionFact] = (),
        replayed: bool = False,
    ) -> None:
        self._deployed = deployed
        self._command = command
        self._cells = cells
        self._time = time
        self._fields: dict[str, Any] | None = None
        self.outcome = outcome
        self.ok = ok
        self.commit = commit
        self.history = history
        self.workflow_revisions = tuple(revisions)
        self.replayed = replayed

    @property
    def command(self) -> str:
        """The command's name."""
        return self._command.name

    @property
    def fields(self) -> dict[str, Any]:
        """The outcome's payload by field name, as Python values."""
        if self._fields is None:
            codec = self._deployed.codec
            declared = self._command.outcomes[self.outcome].fields
            pairs = zip(declared, self._cells, strict=True)
            self._fields = {field.name: codec.python(field.type)(cell) for field, cell in pairs}
        return self._fields

    @property
    def time(self) -> datetime:
        """The sealed transaction time, in UTC."""
        return datetime_of(self._time)

    @property
    def revisions(self) -> dict[str, int]:
        """The new revisions of top-level bindings, by binding name."""
        return {item.binding: item.revision for item in self.workflow_revisions if item.element is None}

    def expect(self, outcome: str) -> dict[str, Any]:
        """The fields, if the command answered `outcome`.

        Raises `UnexpectedOutcome` for another declared outcome, and `ValueError` at once for a name that
        the command does not declare.
        """
        declared = self._command.outcomes
        if outcome not in declared:
            raise ValueError(
                f"{self.command} declares no outcome {outcome}{nearest(outcome, declared)}; "
                f"it declares {', '.join(declared)}"
            )
        if outcome != self.outcome:
            raise UnexpectedOutcome(
                f"{self.command} answered {self.outcome}, not {outcome}; it may answer {', '.join(declared)}",
                outcome=self.outcome,
                declared=tuple(declared),
            )
        return self.fields

    def to_json(self, *, integers_as_strings: bool = False) -> dict[str, Any]:
        """The wire form: what HTTP answers, as JSON-ready values."""
        codec = self._deployed.codec
        declared = self._command.outcomes[self.outcome].fields
        number = str if integers_as_strings else int
        revisions = []
        for item in self.workflow_revisions:
            entry: dict[str, Any] = {"binding": item.binding, "revision": number(item.revision)}
            if item.element is not None:
                entry["element"] = item.element
            revisions.append(entry)
        return {
            "outcome": self.outcome,
            "fields": {
                field.name: codec.json(field.type, integers_as_strings)(cell)
                for field, cell in zip(declared, self._cells, strict=True)
            },
            "workflow_revisions": revisions,
            "commit": self.commit,
            "time": timestamp_text(self._time),
            "history": self.history,
            "replayed": self.replayed,
        }

    def again(self) -> Receipt:
        """This receipt as a repeat of the same key gets it."""
        return Receipt(
            self._deployed,
            self._command,
            self.outcome,
            self._cells,
            ok=self.ok,
            commit=self.commit,
            time=self._time,
            history=self.history,
            revisions=self.workflow_revisions,
            replayed=True,
        )

    def __eq__(self, other: object) -> bool:
        """Equal answers: everything but `replayed`."""
        if not isinstance(other, Receipt):
            return NotImplemented
        return self._answer() == other._answer()

    def __hash__(self) -> int:
        return hash((self.history, self.commit, self.outcome))

    def _answer(self) -> tuple[object, ...]:
        return (
            self.command,
            self.outcome,
            self._cells,
            self.commit,
            self._time,
            self.history,
            self.workflow_revisions,
        )

    def __repr__(self) -> str:
        again = ", replayed" if self.replayed else ""
        return f"<Receipt {self.command} → {self.outcome}, commit {self.commit}{again}>"
