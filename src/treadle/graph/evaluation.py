"""Threads for SPARQL: a deep stack, a deadline, and a count of those that were given up.

An evaluation that has begun cannot be stopped from outside.  It is run on a thread of its own; when its time
is over the caller goes on, and the thread is *abandoned*: it ends by itself at the next row, or runs on
between rows.  Abandoned threads are counted, and past a bound new work is refused until some have ended.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from treadle.errors import Internal, OverCapacity, SparqlError

STACK_BYTES: Final = 64 * 1024 * 1024
ABANDONED: Final = 16
_IDLE_THREADS: Final = 8

T = TypeVar("T")

Stopped = Callable[[], bool]
"""Answers whether nobody waits for an evaluation any more."""

_starting = threading.Lock()


def never() -> bool:
    """For an evaluation that somebody always waits for."""
    return False


def given_up() -> SparqlError:
    """What an evaluation ends with when its time is over."""
    return SparqlError("the evaluation took longer than it may; narrow the pattern", code="deadline")


def release(problem: BaseException) -> None:
    """Frees what the frames of an exception hold, on this thread.

    The store's answers may be dropped only on the thread that made them, and an exception that is handed to
    another thread would carry them there.
    """
    seen: BaseException | None = problem
    while seen is not None:
        traceback.clear_frames(seen.__traceback__)
        seen = seen.__context__


class _Task(Generic[T]):
    """One piece of work, its answer, and whether anybody still waits."""

    def __init__(self, work: Callable[[Stopped], T]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._left = False
        self._value: list[T] = []
        self._problem: BaseException | None = None

    def run(self) -> bool:
        """Does the work, on the worker's thread; true if the caller had left before it ended."""
        try:
            self._value.append(self._work(lambda: self._left))
        except BaseException as problem:  # handed over whole: the caller's thread raises it again
            release(problem)
            self._problem = problem
        with self._lock:
            self._ended.set()
            return self._left

    def wait(self, timeout: float | None) -> bool:
        """Whether it ended in time; if not, the caller has left it."""
        if self._ended.wait(timeout):
            return True
        with self._lock:
            self._left = not self._ended.is_set()
            return not self._left

    def result(self) -> T:
        """The answer, or the exception."""
        problem = self._problem
        if problem is not None:
            if type(problem).__name__ == "PanicException":
                raise Internal(f"the SPARQL evaluator failed: {problem}") from problem
            raise problem
        return self._value[0]


class _Worker:
    """A thread that does one task at a time and waits for the next."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._task: _Task[Any] | None = None
        self._wake = threading.Semaphore(0)
        with _starting:
            before = threading.stack_size(STACK_BYTES)
            try:
                threading.Thread(target=self._loop, name="treadle-sparql", daemon=True).start()
            finally:
                threading.stack_size(before)

    def give(self, task: _Task[Any] | None) -> None:
        """The next task; None ends the thread."""
        self._task = task
        self._wake.release()

    def _loop(self) -> None:
        while True:
            self._wake.acquire()
            task, self._task = self._task, None
            if task is None:
                return
            left = task.run()
            del task
            if not self._evaluator._back(self, left=left):
                return


class Evaluator:
    """Runs evaluations; any number of threads may call it.

    Args:
        abandoned: how many given-up evaluations may be running before new ones are refused.
    """

    def __init__(self, abandoned: int = ABANDONED) -> None:
        self._most = abandoned
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._abandoned = 0
        self._process = os.getpid()

    @property
    def abandoned(self) -> int:
        """How many given-up evaluations are still running."""
        return self._abandoned

    def run(self, work: Callable[[Stopped], T], *, timeout: float | None = None) -> T:
        """Does some work on a thread with a deep stack and gives its answer.

        Args:
            work: called with a function that says whether to stop; it should ask between rows.
            timeout: seconds to wait; None waits for ever.

        Raises:
            SparqlError: code `deadline`, the time is over.
            OverCapacity: too many given-up evaluations are still running.
            Internal: the evaluator failed.
            BaseException: what the work raised.
        """
        task: _Task[T] = _Task(work)
        self._worker().give(task)
        try:
            in_time = task.wait(timeout)
        except BaseException:  # an interrupt while waiting: nobody will ask for the answer
            if not task.wait(0):
                self._abandon()
            raise
        if not in_time:
            self._abandon()
            raise given_up()
        return task.result()

    def close(self) -> None:
        """Ends the threads that wait for work."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.give(None)

    def _worker(self) -> _Worker:
        with self._lock:
            if self._process != os.getpid():  # threads do not survive a fork
                self._process, self._idle, self._abandoned = os.getpid(), [], 0
            if self._abandoned >= self._most:
                raise OverCapacity("too many slow SPARQL evaluations are still running; try again later")
            if self._idle:
                return self._idle.pop()
        return _Worker(self)

    def _abandon(self) -> None:
        with self._lock:
            self._abandoned += 1

    def _back(self, worker: _Worker, *, left: bool) -> bool:
        """A worker is free; false ends it."""
        with self._lock:
            self._abandoned -= left
            if len(self._idle) >= _IDLE_THREADS:
                return False
            self._idle.append(worker)
            return True
