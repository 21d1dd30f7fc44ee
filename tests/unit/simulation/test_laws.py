"""Each law finds the record that breaks it, and nothing in one that does not."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.shared import ROOT
from treadle.history import Entry, Written
from treadle.riff import compile_contract
from treadle.simulation.drawing import Row, Rows
from treadle.simulation.laws import Laws

NOW = datetime(2026, 1, 1, tzinfo=UTC)
READER, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
KEY = ("north", 1)
CONTRACT = compile_contract((ROOT / "tests/data/library.riff").read_bytes(), "library.riff").contract
FREE = {"state": "Shelved", "reader": None, "reader_until": None, "fence": 3}
HELD = {"state": "Shelved", "reader": READER, "reader_until": NOW + timedelta(seconds=9), "fence": 3}


def entry(*rows: Written, success: bool = True) -> Entry:
    return Entry(
        number=7,
        time=NOW,
        kind="command",
        name="Take",
        principal="p",
        role=None,
        instance=None,
        outcome="Took",
        success=success,
        failure=None,
        constraint=None,
        input={},
        fields={},
        revisions=(),
        rows=rows,
        events=(),
        contract_version=1,
        body=None,
        hash="",
    )


def found(before: dict[str, Any] | None, after: dict[str, Any] | None, revision: int = 5) -> list[str]:
    rows = Rows()
    if before is not None:
        rows.of("Book")[KEY] = Row(KEY, 4, before)
    assert CONTRACT is not None
    return list(Laws(CONTRACT, rows).broken(entry(Written("Book", list(KEY), revision, 4, after))))


GOOD = [
    (FREE, HELD | {"fence": 4}, 5),
    (HELD, HELD, 5),
    (HELD, FREE, 5),
    (HELD | {"reader_until": NOW}, HELD | {"reader": OTHER, "fence": 4}, 5),
    (FREE, FREE | {"state": "Lent"}, 5),
    (None, FREE, 1),
    (FREE, None, 4),
]
BAD = [
    (HELD, HELD | {"reader": OTHER, "fence": 4}, 5, "claimed while it was held"),
    (FREE, HELD, 5, "another owner under the same fencing token"),
    (HELD, FREE | {"fence": 2}, 5, "fencing token fell"),
    (FREE | {"state": "Lent"}, FREE, 5, "no transition declares"),
    (None, FREE | {"state": "Lost"}, 1, "began as Lost, not Shelved"),
    (FREE, FREE, 4, "revision 4 follows, 5 should"),
    (FREE, FREE, 6, "revision 6 follows, 5 should"),
    (None, FREE, 2, "revision 2 follows, 1 should"),
    (FREE, None, 5, "revision 5 follows, 4 should"),
]


@pytest.mark.parametrize(("before", "after", "revision"), GOOD)
def test_what_may_be(before: Any, after: Any, revision: int) -> None:
    assert found(before, after, revision) == []


@pytest.mark.parametrize(("before", "after", "revision", "what"), BAD)
def test_what_may_not_be(before: Any, after: Any, revision: int, what: str) -> None:
    (problem,) = found(before, after, revision)
    assert what in problem and "record 7" in problem


def test_a_row_that_was_deleted_goes_on_above_its_last_revision() -> None:
    rows = Rows()
    rows.gone["Book", KEY] = 9
    rows.gone["Branch", ("north",)] = 9
    assert CONTRACT is not None
    laws = Laws(CONTRACT, rows)
    assert not list(laws.broken(entry(Written("Book", list(KEY), 10, 0, FREE))))
    assert list(laws.broken(entry(Written("Book", list(KEY), 1, 0, FREE))))
    assert not list(laws.broken(entry(Written("Branch", ["north"], 1, 0, {"name": "x"}))))


def test_a_refused_command_writes_nothing() -> None:
    assert CONTRACT is not None
    (problem,) = Laws(CONTRACT, Rows()).broken(entry(Written("Book", list(KEY), 1, 0, FREE), success=False))
    assert "no success and wrote rows" in problem
