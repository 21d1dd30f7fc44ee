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
    `signatures` of signed events were checked under the keys of their time: of all that stand in the graph,
    and of those that an archive took out of it since record `signatures_since`; for the events before it,
    the keys are those that the kept state knows.
    """

    records: int
    evaluated: int
    not_evaluated: int
    rows: int
    head: tuple[int, str]
    problems: tuple[Problem, ...] = ()
    pruned: int = 0
    signatures: int = 0

    @property
    def signatures_since(self) -> int:
        """The first record that was walked: the one from which on every signature is checked."""
        return self.pruned + 1

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
            "signatures": {"checked": self.signatures, "since": self.signatures_since},
            "head": {"number": self.head[0], "hash": self.head[1]},
            "problems": [{"number": problem.number, "what": problem.what} for problem in self.problems],
        }
