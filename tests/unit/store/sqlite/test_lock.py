"""The writers' queue on a file."""

from __future__ import annotations

import os
import stat
import threading
import time

import pytest

from treadle.errors import Busy
from treadle.store.handle import deadline
from treadle.store.sqlite.lock import FileLock


@pytest.fixture
def locks(tmp_path):
    """Two holders of one lock, as two processes are."""
    path = str(tmp_path / "x-lock")
    made = [FileLock(path), FileLock(path)]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    yield made
    for lock in made:
        lock.close()


def test_one_at_a_time(locks):
    first, second = locks
    first.acquire(None)
    with pytest.raises(Busy):
        second.acquire(deadline(0.02))
    first.release()
    second.acquire(deadline(5))
    second.release()


def test_who_gives_up_does_not_keep_it(locks):
    first, second = locks
    first.acquire(None)
    for _ in range(3):
        with pytest.raises(Busy):
            second.acquire(deadline(0.01))
    first.release()
    time.sleep(0.05)  # the thread that waited gets it now, and gives it back
    first.acquire(deadline(5))
    first.release()


def test_the_next_to_ask_takes_over_the_waiting(locks):
    first, second = locks
    first.acquire(None)
    before = threading.active_count()
    for _ in range(5):
        with pytest.raises(Busy):
            second.acquire(deadline(0.01))
    assert threading.active_count() == before + 1
    threading.Timer(0.05, first.release).start()
    second.acquire(None)
    with pytest.raises(Busy):
        first.acquire(deadline(0.01))
    second.release()
    first.acquire(deadline(5))
    first.release()


def test_waiting_without_end(locks):
    first, second = locks
    first.acquire(None)
    threading.Timer(0.05, first.release).start()
    started = time.monotonic()
    second.acquire(None)
    assert time.monotonic() - started >= 0.04
    second.release()
