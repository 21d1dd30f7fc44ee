"""What is answered and what is stored is the same, byte for byte, wherever the database lives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support import postgres
from tests.support.engines import ORGANIZATION, SOURCE, START, claim, create, work_id
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.errors import TreadleError
from treadle.ports.clock import Ids
from treadle.store import open_store
from treadle.store.ids import SystemIds
from treadle.testing import ManualClock


class Counted:
    """The same ids each time."""

    def __init__(self) -> None:
        self._drawn = 0

    def draw(self, size: int) -> bytes:
        self._drawn += 1
        return self._drawn.to_bytes(8, "big").rjust(size, b"\0")[-size:]

    def ids(self) -> Ids:
        return SystemIds(self.draw)


def told(url: str) -> tuple[list[Any], list[bytes], list[Any]]:
    """What a story of commands is answered: receipts or errors, the log's records, the rows."""
    clock = ManualClock(START)
    with Database(Engine(open_store(url), clock, Counted().ids(), maximum_jump=None), "test") as db:
        db.deploy(SOURCE)
        calls: list[Any] = [create(number) for number in (3, 1, 2, 1)]
        calls += [claim(1), claim(2), claim(2), claim(9), claim(3, revision=2**64 - 1)]
        calls += [claim(3, key="nul\0"), claim(3, key="lone \ud800"), claim(3, key="Ünï \U0010ffff")]
        calls += [(name, {**given, "duration": 2**63}) for name, given in (claim(1, key="long"),)]
        answers = [_answer(db, *call) for call in calls]
        answers += [_shown(each) for each in db.run_many([create(n) for n in range(5, 40)], principal="t")]
        rows = [db.row("WorkItem", (ORGANIZATION, work_id(number))) for number in range(40)]
        with db._engine.store.read() as tx:
            records = [entry.data for entry in tx.log(1, 1_000)]
        assert db.verify().ok
    return answers, records, [None if row is None else (row.revision, row.fields) for row in rows]


def _answer(db: Database, name: str, given: dict[str, Any]) -> Any:
    try:
        return _shown(db.run(name, given, principal="t"))
    except TreadleError as error:
        return _shown(error)


def _shown(answer: Any) -> Any:
    return (
        (answer.code, str(answer))
        if isinstance(answer, TreadleError)
        else msgspec.json.encode(answer.to_json())
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_receipts_and_records_are_those_of_the_memory_store(kind: str, tmp_path: Path) -> None:
    url = str(tmp_path / "work.db") if kind == "sqlite" else postgres.fresh_url()
    assert told(url) == told(":memory:")
