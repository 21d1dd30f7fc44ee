"""Microseconds for one evaluation of the claim of a leased work item: pure, no store, verdict included.

Run `python bench/evaluate.py`. Prints the median of seven rounds for each of a few commands.
"""

from __future__ import annotations

import statistics
import sys
import timeit
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.contracts import work_contract
from tests.support.view import DictView
from treadle.model.facts import Key, Row, Sealed
from treadle.plan import build

ORGANIZATION, WORK, OWNER = b"o" * 16, b"w" * 16, b"a" * 16
NOW = 1_700_000_000_000_000
LOOPS = 20_000


class OneRow(DictView):
    """A view that always holds the same row, so that it adds almost nothing to what is measured."""

    def __init__(self, row: Row | None) -> None:
        super().__init__(work_contract())
        self._row = row

    def row(self, entity: str, key: Key) -> Row | None:
        return self._row


def measure(name: str, view: OneRow, input: tuple[object, ...], expected: str) -> None:
    """Print the medians for one command: evaluation, and its access set."""
    command = build(work_contract()).commands[name]
    sealed = Sealed(NOW)
    outcome = command.evaluate(input, sealed, view).outcome
    if outcome != expected:
        raise SystemExit(f"{name} answered {outcome}, not {expected}")
    evaluate = timeit.repeat(lambda: command.evaluate(input, sealed, view), number=LOOPS, repeat=7)
    access = timeit.repeat(lambda: command.access(input, (), None), number=LOOPS, repeat=7)
    each = [statistics.median(times) / LOOPS * 1e6 for times in (evaluate, access)]
    print(f"{name:12} {expected:10} evaluate {each[0]:6.2f} µs   access {each[1]:6.2f} µs")


def main() -> None:
    key = ("k", ORGANIZATION, WORK)
    free = Row(7, (ORGANIZATION, WORK, "Queued", None, None, 0, 0))
    held = Row(8, (ORGANIZATION, WORK, "Queued", OWNER, NOW + 60_000_000, 1, 1))
    measure("CreateWork", OneRow(None), key, "Created")
    measure("ClaimWork", OneRow(free), (*key, OWNER, 60, 7), "Done")
    measure("ClaimWork", OneRow(held), (*key, OWNER, 60, 8), "Unavailable")
    measure("RenewWork", OneRow(held), (*key, OWNER, 1, 60, 8), "Done")
    measure("StartWork", OneRow(held), (*key, OWNER, 1, 8), "Done")


if __name__ == "__main__":
    main()
