"""What a named query answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from treadle.engine.receipt import Coded
from treadle.errors import UnexpectedOutcome
from treadle.model import query as q
from treadle.model.facts import Cells
from treadle.model.types import Type
from treadle.queries.running import Record
from treadle.text import nearest

Show = Callable[[Any], Any]


class Page:
    """One answer of a named query, all of it from one snapshot.

    `outcome` is the outcome's name and `fields` its payload as Python values: fields of rows, records as
    dicts, lists of them. `next` is the cursor after which the next page goes on, None where there is none.
    `commit` is the last commit that the snapshot sees, and `after_commit` the one that the page before saw
    (None on a first page): rows that changed in between may be missed or come again. `history` is the
    history incarnation that all of them belong to.
    """

    __slots__ = (
        "_deployed",
        "_fields",
        "_query",
        "_record",
        "after_commit",
        "commit",
        "history",
        "next",
        "outcome",
    )

    def __init__(
        self,
        query: q.Query,
        deployed: Coded,
        outcome: str,
        record: Record,
        *,
        next: str | None,
        commit: int,
        after_commit: int | None,
        history: str,
    ) -> None:
        self._query = query
        self._deployed = deployed
        self._record = record
        self._fields: dict[str, Any] | None = None
        self.outcome = outcome
        self.next = next
        self.commit = commit
        self.after_commit = after_commit
        self.history = history

    @property
    def query(self) -> q.Query:
        """The query, as it was deployed."""
        return self._query

    @property
    def ok(self) -> bool:
        """True for the outcome that the query's `return` names."""
        return self.outcome == self._query.outcome

    @property
    def fields(self) -> dict[str, Any]:
        """The outcome's payload by name, as Python values."""
        if self._fields is None:
            self._fields = self._shown(self._deployed.codec.python)
        return self._fields

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The records of the answer's one list: what a worker reads. Empty for any other outcome.

        Raises `ValueError` for a query that has no list at the top of its answer, or several.
        """
        member = self._query.rows
        if member is None:
            raise ValueError(f"query {self._query.name} does not have exactly one list in its answer")
        listed: list[dict[str, Any]] = self.fields[member.name] if self.ok else []
        return listed

    def expect(self, outcome: str) -> dict[str, Any]:
        """The fields, if the query answered `outcome`.

        Raises `UnexpectedOutcome` for another declared outcome, and `ValueError` for an undeclared name.
        """
        declared = self._query.outcomes
        if outcome not in declared:
            raise ValueError(
                f"query {self._query.name} declares no outcome {outcome}{nearest(outcome, declared)}; "
                f"it declares {', '.join(declared)}"
            )
        if outcome != self.outcome:
            raise UnexpectedOutcome(
                f"query {self._query.name} answered {self.outcome}, not {outcome}; "
                f"it may answer {', '.join(declared)}",
                outcome=self.outcome,
                declared=declared,
            )
        return self.fields

    def to_json(self, *, integers_as_strings: bool = False) -> dict[str, Any]:
        """The wire form: what HTTP answers, as JSON-ready values."""
        number: Any = str if integers_as_strings else int
        return {
            "outcome": self.outcome,
            "fields": self._shown(lambda kind: self._deployed.codec.json(kind, integers_as_strings)),
            "next": self.next,
            "commit": number(self.commit),
            "after_commit": None if self.after_commit is None else number(self.after_commit),
            "history": self.history,
        }

    def _shown(self, show: Callable[[Type], Show]) -> dict[str, Any]:
        if not self.ok:
            return {}
        shown: dict[str, Any] = _record_of(self._query.members, show)(self._record)
        return shown

    def __eq__(self, other: object) -> bool:
        """The same answer from the same commit; the cursor's text does not matter."""
        if not isinstance(other, Page):
            return NotImplemented
        return self._answer() == other._answer()

    def __hash__(self) -> int:
        return hash((self._query.identity, self.history, self.commit, self.outcome))

    def _answer(self) -> tuple[object, ...]:
        return (
            self._query.identity,
            self.outcome,
            self._record,
            self.commit,
            self.history,
            self.next is None,
        )

    def __repr__(self) -> str:
        more = ", more to come" if self.next else ""
        return f"<Page {self._query.name} → {self.outcome}, commit {self.commit}{more}>"


def _record_of(members: Sequence[q.Member], show: Callable[[Type], Show]) -> Show:
    """The function that shows a record of these members as a dict."""
    parts = [(member.name, _value_of(member.value, show)) for member in members]

    def record(values: Cells) -> dict[str, Any]:
        return {name: shown(value) for (name, shown), value in zip(parts, values, strict=True)}

    return record


def _value_of(result: q.Result, show: Callable[[Type], Show]) -> Show:
    if not isinstance(result, q.ShapeResult):
        shown = show(result.type)
        return lambda cell: None if cell is None else shown(cell)
    record = _record_of(result.members, show)
    if result.kind == "many":
        return lambda records: [record(each) for each in records]
    return lambda values: None if values is None else record(values)
