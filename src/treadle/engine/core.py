"""The engine: one store, one queue, one state, and the batch that ties them together."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from treadle.engine import state as states
from treadle.engine.batch import Batch, ClockRule
from treadle.engine.command import CommandJob
from treadle.engine.coordinator import Coordinator, TurnNotCome
from treadle.engine.job import Job
from treadle.engine.request import Request, admit
from treadle.engine.state import Deployed, State
from treadle.errors import Busy, Internal, OutcomeUnknown, StoreError, TreadleError
from treadle.ports.clock import Clock, Ids
from treadle.ports.store import GaveWay, ReadTx, Store

_LOG: Final = logging.getLogger("treadle.engine")

_WAYS: Final = 5
"""How often a batch is run again that has to give way to others."""


class Engine:
    """Everything behind a handle. Safe for any number of threads; one for each process.

    `maximum_jump` bounds, in microseconds, how far the clock may be ahead of the last commit.
    """

    def __init__(self, store: Store, clock: Clock, ids: Ids, *, maximum_jump: int | None) -> None:
        self.store = store
        self.clock = clock
        self.ids = ids
        self._rule = ClockRule(clock, maximum_jump)
        self._loading = threading.Lock()
        self._contracts: dict[bytes, Deployed] = {}
        with store.write() as tx:
            states.initialise(tx, ids)
        with store.read() as tx:
            self._state = states.load(tx)
        self.coordinator = Coordinator(self.run_batch)

    @property
    def state(self) -> State:
        """The state as last seen; a batch or `refresh` may have found a newer one."""
        return self._state

    def check_clock(self) -> None:
        """Raise `ClockJumped` where the next command would, because the clock is too far ahead."""
        with self.store.read() as tx:
            self._rule.seal(tx.head(), self.clock.now())

    def refresh(self) -> State:
        """The state as of now, so that another process's deployment is seen without a write."""
        with self.store.read() as tx:
            return self.follow(tx)

    def follow(self, tx: ReadTx) -> State:
        """The state as of a transaction; a newer one than was seen before is kept."""
        known = self._state
        found = states.load(tx, known)
        if found is not known:
            with self._loading:
                if found.generation > self._state.generation:
                    self._state = found
        return found

    def command_job(self, request: Request) -> CommandJob:
        """Admit a request under the state last seen; what the caller must correct is raised here.

        A name or input that the state last seen does not know is tried once more against the newest state.
        """
        known = self._state
        try:
            admitted = admit(request, known, self.clock, self.ids)
        except TreadleError:
            if self.refresh() is known:
                raise
            admitted = admit(request, self._state, self.clock, self.ids)
        return CommandJob(request, admitted, self.clock, self.ids)

    def command_jobs(self, requests: Iterable[Request]) -> tuple[list[Any], list[tuple[int, Job]]]:
        """Admit many: a place for each answer, with the error where one is refused, and the jobs by place."""
        answers: list[Any] = []
        jobs: list[tuple[int, Job]] = []
        for place, request in enumerate(requests):
            try:
                jobs.append((place, self.command_job(request)))
                answers.append(None)
            except TreadleError as error:
                answers.append(error)
        return answers, jobs

    def submit(self, jobs: Sequence[Job], timeout: float | None = None) -> list[Any]:
        """Run jobs from the calling thread; for each, in order, its result or its error as an object."""
        self.coordinator.run(jobs, timeout)
        return [job.answer for job in jobs]

    def run_batch(self, jobs: list[Job], timeout: float | None = None) -> None:
        """One batch. If its writing fails, it is rolled back and each job is run again on its own.

        Raises `OutcomeUnknown` where the commit may have happened; the coordinator tells everyone. Raises
        `TurnNotCome` where other writers were in the way for `timeout` seconds.
        """
        failed = self._attempt(jobs, timeout)
        if failed is None:
            return
        for job in jobs:
            job.reset()
            if failed.writing and len(jobs) > 1:
                self._alone(job)
            else:
                _fail(job, failed.error)

    def _alone(self, job: Job) -> None:
        try:
            failed = self._attempt([job])
        except OutcomeUnknown as error:
            _fail(job, error)
            return
        if failed is not None:
            _fail(job, failed.error)

    def _attempt(self, jobs: list[Job], timeout: float | None = None) -> _Failed | None:
        """Run jobs as one transaction; None if it committed, else why nothing of it is stored.

        A transaction that gave way to another is run again, a few times.
        """
        failed = self._attempted(jobs, timeout)
        for _ in range(_WAYS):
            if failed is None or not isinstance(failed.error, GaveWay):
                break
            for job in jobs:
                job.reset()
            failed = self._attempted(jobs, timeout)
        return failed

    def _attempted(self, jobs: list[Job], timeout: float | None) -> _Failed | None:
        try:
            return self._transact(jobs, timeout)
        except (OutcomeUnknown, TurnNotCome):
            raise
        except Exception as error:
            if jobs[0].settled:
                _LOG.error("unexpected %s after a commit", type(error).__name__, exc_info=error)
                return None
            return _Failed(error, writing=False)  # nothing was written: everyone in the batch hears why

    def _transact(self, jobs: list[Job], timeout: float | None) -> _Failed | None:
        block = self.store.write(timeout)
        try:
            tx = block.__enter__()
        except Busy as error:
            if timeout is None:
                raise
            raise TurnNotCome from error
        with contextlib.ExitStack() as stack:
            stack.push(block.__exit__)
            state = self.follow(tx)
            rule = self._rule._replace(maximum_jump=None) if jobs[0].any_clock else self._rule
            batch = Batch(tx, state, rule, self._contracts)
            committed = False
            try:
                failed = _carried_out(jobs, batch)
                committed = failed is None
            finally:
                batch.ended(committed=committed)
        return failed


def _carried_out(jobs: list[Job], batch: Batch) -> _Failed | None:
    """Run jobs in a batch and commit it; None if there is nothing left to store."""
    for job in jobs:
        job.announce(batch)
    batch.load()
    for job in jobs:
        job.step(batch)
    if not batch.dirty:
        return None
    try:
        batch.write()
        batch.tx.commit()
        for job in jobs:
            job.settled = True
    except OutcomeUnknown:
        raise
    except Exception as error:  # writing failed: the transaction's block rolls back
        return _Failed(error, writing=True)
    return None


class _Failed(NamedTuple):
    """Why a batch is not stored; `writing` where it had been evaluated and its writing failed."""

    error: Exception
    writing: bool


def _fail(job: Job, error: Exception) -> None:
    job.result = None
    job.error = _as_treadle(error)


def _as_treadle(error: BaseException) -> TreadleError:
    if isinstance(error, TreadleError):
        return error
    if isinstance(error, OSError):
        wrapped: TreadleError = StoreError(f"the store failed: {error.strerror or type(error).__name__}")
    else:
        wrapped = Internal("an unexpected error; nothing was recorded and the key is free. Please report it")
    wrapped.__cause__ = error
    return wrapped
