"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Problem:
    """One disagreement. `number` is the log record it is about, None where it is about stored rows."""

    number: int | None
    what: str

    def __str__(self) -> str:
        return f"record {self.number}: {self.what}" if self.number is not None else self.what


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `verify`. `problems` begins with the first record that does not agree (at most 100 kept).

    `records` were walked, `evaluated` commands were evaluated again, `not_evaluated` belong to semantics
    that this release no longer carries; `head` is the last number and its hash in hex. Records up to
    `pruned` were dropped from the log, and the walk began with the state that was kept of them.
    """

    records: int
    evaluated: int
    not_evaluated: int
    rows: int
    head: tuple[int, str]
    problems: tuple[Problem, ...] = ()
    pruned: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing disagrees."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """The report as JSON-ready values."""
        return {
            "ok": self.ok,
            "records": self.records,
            "evaluated": self.evaluated,
            "not_evaluated": self.not_evaluated,
            "rows": self.rows,
            "pruned": self.pruned,
            "head": {"number": self.head[0], "hash": self.head[1]},
            "problems": [{"number": problem.number, "what": problem.what} for problem in self.problems],
        }
