"""A turn without a database, and a real one that loses its lease in the middle."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

import treadle
from tests.support import jobs
from treadle.errors import LeaseLost
from treadle.store.memory import MemoryStore
from treadle.testing import START, FakeTurn, ManualClock, lose_lease, run_until_idle
from treadle.workers import Turn


def test_it_has_what_a_handler_is_shown() -> None:
    turn = FakeTurn({"title": "Menu"}, fence=3, tries=2, answers={"Note": "noted"}, clock=ManualClock(START))
    assert (turn.row, turn.fence, turn.tries, turn.now()) == ({"title": "Menu"}, 3, 2, START)
    turn.check()
    assert turn.run("Note", {"text": "a"}) == "noted" == asyncio.run(turn.run_async("Note"))
    assert turn.ran == [("Note", {"text": "a"}), ("Note", {})]
    with pytest.raises(KeyError, match="say what Nte answers"):
        turn.run("Nte")


def test_it_loses_its_lease_when_told() -> None:
    turn, told = FakeTurn(), []
    turn.when_lost(lambda: told.append(1))
    turn.lose()
    turn.when_lost(lambda: told.append(2))
    assert turn.lost.is_set() and told == [1, 2]
    for call in (turn.check, lambda: turn.run("Note")):
        with pytest.raises(LeaseLost):
            call()


def test_it_stays_like_the_real_one() -> None:
    for name in ("check", "run", "run_async", "now", "when_lost"):
        assert inspect.signature(getattr(FakeTurn, name)).parameters.keys() == (
            inspect.signature(getattr(Turn, name)).parameters.keys()
        )


def test_a_lease_that_runs_out_in_the_middle_of_a_handler() -> None:
    clock = ManualClock(START)
    seen: list[Any] = []

    def slow(job: Mapping[str, Any], turn: Turn) -> Mapping[str, Any]:
        if turn.fence == 1:
            lose_lease(turn, clock)
            seen.append(turn.lost.is_set())
        return {"result": f"by {turn.fence}"}

    with jobs.jobs(MemoryStore(), clock) as db:
        jobs.queue(db, [1])
        worker = treadle.Worker(slow, name="slow", **jobs.FULL)
        counts = run_until_idle(db, worker, until=timedelta(minutes=5))
        assert (counts["lost"], counts["finished"], seen) == (1, 1, [True])
        assert jobs.job(db, 1)["result"] == "by 2" and db.verify().ok
