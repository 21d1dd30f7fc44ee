"""A fork: the child may open its own database, and does nothing to the parent's, nor to any other file."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import treadle
from tests.support.engines import SOURCE, claim, create


def in_child(act: Callable[[], bool]) -> bool:
    """Whether `act` is true in a forked child, which ends at once."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs is killed, and was wrong
        try:
            os._exit(0 if act() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_handle_from_before_the_fork_is_refused_in_the_child_and_serves_the_parent(tmp_path: Path) -> None:
    with treadle.open(tmp_path / "work.db") as db:
        db.deploy(SOURCE)

        def refused() -> bool:
            with pytest.raises(treadle.StoreError) as caught:
                db.run(*create(0), principal="tests")
            with treadle.open(tmp_path / "work.db") as own:
                return caught.value.code == "forked" and own.run(*create(1), principal="tests").ok

        assert in_child(refused)
        assert db.run(*create(2), principal="tests").ok
        assert db.run(*claim(1), principal="tests").ok
        assert db.verify().ok


@pytest.mark.parametrize("while_queueing", [False, True])
def test_a_fork_while_another_thread_leads_is_refused_at_once(tmp_path: Path, while_queueing: bool) -> None:
    """The child has the queue as it was, and no thread that would ever answer or let its lock go."""
    with treadle.open(tmp_path / "work.db") as db:
        db.deploy(SOURCE)
        coordinator = db._engine.coordinator
        coordinator._leading = True  # as another thread has it in the middle of a batch
        if while_queueing:
            coordinator._lock.acquire()

        def refused() -> bool:
            with pytest.raises(treadle.StoreError) as caught:
                db.run(*create(0), principal="tests")
            return caught.value.code == "forked"

        assert in_child(refused)
        coordinator._leading = False
        if while_queueing:
            coordinator._lock.release()
        assert db.run(*create(2), principal="tests").ok


def test_a_handle_that_was_closed_before_the_fork_takes_nothing_of_the_child(tmp_path: Path) -> None:
    """Its files' numbers may be others' by then."""
    closed = treadle.open(tmp_path / "work.db")
    closed.close()
    held = [os.open(tmp_path, os.O_RDONLY) for _ in range(8)]
    try:
        assert in_child(lambda: all(os.fstat(file) for file in held))
        assert closed.url
    finally:
        for file in held:
            os.close(file)
