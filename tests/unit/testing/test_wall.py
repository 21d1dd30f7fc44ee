"""A clock that Python shares: what moves, what does not, and that nothing is left of it afterwards."""

from __future__ import annotations

import asyncio
import datetime as dates
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from time import time as imported_early
from typing import Any

import pytest

import treadle
from tests.support import jobs
from treadle.errors import ConfigError
from treadle.store.memory import MemoryStore
from treadle.testing import START, ManualClock, run_until_idle

HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> Iterator[ManualClock]:
    real = time.time()
    with ManualClock(START).as_wall_clock() as moved:
        yield moved
    assert real <= time.time() < real + 120


def test_everything_that_tells_the_wall_clock_s_time_moves(clock: ManualClock) -> None:
    for step in (timedelta(0), timedelta(days=400, microseconds=1), -HOUR):
        clock.advance(step)
        now = clock.time
        assert datetime.now(UTC) == now == datetime.now(timezone(HOUR)) and dates.datetime.now(UTC) == now
        assert datetime.now() == now.astimezone().replace(tzinfo=None)
        assert date.today() == now.astimezone().date()
        assert time.time_ns() == clock.now() * 1000 and time.time() == imported_early() == now.timestamp()
        assert time.clock_gettime_ns(time.CLOCK_REALTIME) == time.time_ns()
        assert time.strftime("%Y-%m-%d %H:%M", time.gmtime()) == f"{now:%Y-%m-%d %H:%M}"
    clock.set(START + HOUR)
    assert datetime.now(UTC) == START + HOUR


def test_the_local_zone_stays(clock: ManualClock) -> None:
    there = {"TZ": "America/New_York"}
    program = (
        "import os, time\nfrom treadle.testing import *\nbefore = time.tzname\n"
        "with ManualClock(START).as_wall_clock():\n"
        "    assert time.tzname == before == ('EST', 'EDT')\n    assert time.localtime().tm_hour == 19\n"
    )
    subprocess.run([sys.executable, "-c", program], env=there, check=True, timeout=60)


def test_other_threads_see_it_and_tasks_too(clock: ManualClock) -> None:
    seen: list[float] = []
    thread = threading.Thread(target=lambda: seen.append(time.time()))
    thread.start()
    thread.join()

    async def look() -> float:
        clock.advance(HOUR)
        return time.time()

    assert seen == [START.timestamp()]
    assert asyncio.run(look()) == (START + HOUR).timestamp()


def test_what_waits_goes_on_as_ever(clock: ManualClock) -> None:
    begun = time.monotonic()
    time.sleep(0.01)
    with pytest.raises(queue.Empty):
        queue.Queue[int]().get(timeout=0.01)
    lock = threading.Lock()
    assert lock.acquire() and not lock.acquire(timeout=0.01) and not threading.Event().wait(0.01)

    async def jump() -> None:
        loop = asyncio.get_running_loop()
        moved = loop.create_future()
        loop.call_later(0.01, moved.set_result, None)
        clock.advance(timedelta(days=3650))
        async with asyncio.timeout(5):
            await moved
            clock.advance(timedelta(days=-7300))
            await asyncio.sleep(0.01)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.01)

    asyncio.run(jump())
    assert 0.05 <= time.monotonic() - begun < 30


def test_blocks_are_nested_and_left_in_any_order() -> None:
    real = time.time()
    outer, inner = ManualClock(START), ManualClock(START + HOUR)
    with outer.as_wall_clock(), outer.as_wall_clock():
        with inner.as_wall_clock():
            outer.advance(timedelta(minutes=5))
            assert datetime.now(UTC) == START + HOUR
        assert datetime.now(UTC) == START + timedelta(minutes=5)
    first, second = outer.as_wall_clock(), inner.as_wall_clock()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert datetime.now(UTC) == START + HOUR
    outer.advance(HOUR)
    assert datetime.now(UTC) == START + HOUR, "it moves Python no more"
    second.__exit__(None, None, None)
    assert real <= time.time() < real + 120


def test_an_error_in_the_block_ends_it_too() -> None:
    real = time.time()
    with pytest.raises(ZeroDivisionError), ManualClock(START).as_wall_clock():
        1 / 0  # noqa: B018
    assert real <= time.time() < real + 120


def test_several_threads_may_move_it(clock: ManualClock) -> None:
    def move() -> None:
        for _ in range(100):
            clock.advance(timedelta(seconds=1))

    threads = [threading.Thread(target=move) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert datetime.now(UTC) == clock.time == START + timedelta(seconds=400)


def test_without_time_machine_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "time_machine", None)
    clock = ManualClock(START)
    with pytest.raises(ConfigError, match=r"needs time-machine: pip install 'treadle\[testing\]'"):
        clock.as_wall_clock().__enter__()
    clock.advance(HOUR)
    assert clock.time == START + HOUR


def test_a_naive_time_and_one_beyond_the_calendar_change_nothing(clock: ManualClock) -> None:
    with pytest.raises(ValueError, match="needs a time with a zone"):
        clock.set(datetime(2031, 1, 1))
    with pytest.raises(OverflowError):
        clock.advance(timedelta(days=10_000 * 366))
    assert datetime.now(UTC) == clock.time == START


# With a database, its workers and its waiting calls.


def test_handlers_tell_the_store_s_time(clock: ManualClock) -> None:
    told: list[datetime] = []

    def plain(job: Mapping[str, Any], turn: treadle.workers.Turn) -> None:
        told.append(datetime.now(UTC))
        clock.advance(timedelta(seconds=30))
        assert turn.now() == datetime.now(UTC)

    async def later(job: Mapping[str, Any], turn: treadle.workers.Turn) -> None:
        await asyncio.sleep(0.01)
        told.append(datetime.now(UTC))

    with jobs.jobs(MemoryStore(), clock) as db:
        jobs.queue(db, [1, 2])
        run_until_idle(db, treadle.Worker(plain, name="plain", **jobs.FULL))
        jobs.queue(db, [3])
        run_until_idle(db, treadle.Worker(later, name="later", **jobs.FULL))
        assert told == [START + timedelta(seconds=seconds) for seconds in (0, 30, 60)]
        assert jobs.states(db, [1, 2, 3]) == {"Done": 3}
        assert db.verify().ok


def test_renewal_and_long_poll_go_by_real_time(clock: ManualClock) -> None:
    """The lease is five seconds of a clock that stands still: renewed all the same, and nothing hangs."""

    def slow(job: Mapping[str, Any], turn: treadle.workers.Turn) -> None:
        time.sleep(1.8)  # a third of five seconds, and some more

    with jobs.jobs(MemoryStore(), clock) as db:
        jobs.queue(db, [1])
        worker = treadle.Worker(slow, name="slow", **{**jobs.FULL, "lease": 5})
        assert run_until_idle(db, worker)["renewed"] >= 1
        consumer = db.acting_as("reader").consumer("JobQueued", "reader")
        consumer.ack(*consumer.pull(64))
        begun = time.monotonic()
        assert consumer.pull(1, wait=0.3) == []
        assert 0.25 < time.monotonic() - begun < 10

        def later() -> None:
            clock.advance(timedelta(days=30))
            jobs.queue(db, [2])

        timer = threading.Timer(0.1, later)
        timer.start()
        assert [one.fields["number"] for one in consumer.pull(1, wait=20)] == [2]
        timer.join()
