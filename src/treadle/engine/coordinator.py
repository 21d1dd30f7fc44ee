"""Group commit: callers queue jobs, the first to arrive leads, and one batch carries everyone waiting.

There is no thread of our own. A caller that finds nobody leading leads: it takes the waiting jobs
(bounded by count and bytes), runs them as one batch, wakes their callers and, if others wait by then,
passes the lead on. So a lone caller pays no thread switch, and many callers share one fsync.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from treadle import limits
from treadle.engine.job import Job
from treadle.engine.ticket import Ticket, notify
from treadle.errors import Busy, Cancelled, Closed, ForkedHandle, OverCapacity


class Coordinator:
    """The queue and its lead.

    `run_batch` runs the jobs it is given and sets each one's result or error, waiting for other writers at
    most the seconds it is given (None: as long as it takes), else it raises `TurnNotCome`. If it raises
    anything else, it says by `OutcomeUnknown` that the commit may have happened, else that nothing did.
    """

    def __init__(
        self,
        run_batch: Callable[[list[Job], float | None], None],
        *,
        queue_jobs: int = limits.QUEUE_COMMANDS,
        queue_bytes: int = limits.QUEUE_BYTES,
    ) -> None:
        self._run_batch = run_batch
        self._queue_jobs = queue_jobs
        self._queue_bytes = queue_bytes
        self._lock = threading.Lock()
        self._waiting: deque[Job] = deque()
        self._bytes = 0
        self._leading = False
        self._process = os.getpid()

    @property
    def depth(self) -> int:
        """How many jobs wait now."""
        return len(self._waiting)

    def run(self, jobs: Sequence[Job], timeout: float | None = None) -> None:
        """Queue `jobs` for the calling thread and return when each has a result or an error.

        After `timeout` seconds a job that still waits ends in `Busy`, one that was taken in
        `OutcomeUnknown`. Raises `OverCapacity` when the queue is full; then none was queued.
        """
        ticket = Ticket(len(jobs))
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            if self.enqueue(jobs, ticket):
                self.lead(ticket, deadline)
            self._wait(jobs, ticket, deadline)
        except ForkedHandle:
            raise  # nothing was queued, and no lock can be trusted
        except BaseException:
            self.leave(jobs, ticket, Cancelled("withdrawn before it was taken; nothing happened"))
            raise

    def _wait(self, jobs: Sequence[Job], ticket: Ticket, deadline: float | None) -> None:
        while ticket.pending > 0:
            left = None if deadline is None else deadline - time.monotonic()
            woken = ticket.wait(left)
            if ticket.lead:
                ticket.lead = False
                self.lead(ticket, deadline)
            elif not woken:
                self.expire(jobs)
                return

    def enqueue(self, jobs: Sequence[Job], ticket: Ticket) -> bool:
        """Queue `jobs` under `ticket`; True if the caller must now call `lead`.

        Raises `OverCapacity`, and `ForkedHandle` in a child process, where the lock may be held for ever by
        a thread that the fork did not copy.
        """
        if self._process != os.getpid():
            raise ForkedHandle("this database was opened before a fork; open it again in the child process")
        size = sum(job.size for job in jobs)
        with self._lock:
            # A request larger than the whole queue is let in when nobody waits: it is then the batch.
            full = len(self._waiting) + len(jobs) > self._queue_jobs or self._bytes + size > self._queue_bytes
            if full and self._waiting:
                raise OverCapacity("the waiting queue is full; try again in a moment")
            for job in jobs:
                job.ticket = ticket
            self._waiting.extend(jobs)
            self._bytes += size
            if self._leading:
                return False
            self._leading = True
            return True

    def withdraw(self, jobs: Sequence[Job], error: BaseException) -> int:
        """Take out of the queue those of `jobs` that nobody has taken; they end with `error`."""
        with self._lock:
            return self._withdraw(jobs, error)

    def _withdraw(self, jobs: Sequence[Job], error: BaseException) -> int:
        mine = {id(job) for job in jobs if not job.taken and not job.done}
        gone = [job for job in self._waiting if id(job) in mine] if mine else []
        if gone:
            self._waiting = deque(job for job in self._waiting if id(job) not in mine)
            self._bytes -= sum(job.size for job in gone)
        for job in gone:
            job.error = error
            job.done = True
            job.ticket.pending -= 1
        return len(gone)

    def leave(self, jobs: Sequence[Job], ticket: Ticket, error: BaseException) -> None:
        """Nobody waits for `ticket` any more: its queued jobs end, and a lead that it holds goes on."""
        with self._lock:
            self._withdraw(jobs, error)
            ticket.gone = True
            leads, ticket.lead = ticket.lead, False
        if leads:
            self._pass_on()

    def lead(self, ticket: Ticket, deadline: float | None = None) -> None:
        """Run batches until the jobs of `ticket` are done, then pass the lead on.

        Past `deadline` (as `time.monotonic` counts) the leader stops waiting for other writers: its own
        jobs end in `Busy`, the others stay queued for the next lead.
        """
        try:
            while ticket.pending > 0:
                batch = self._take()
                if not batch:
                    return
                self._run(batch, ticket, deadline)
        except BaseException:
            ticket.gone = True
            raise
        finally:
            self._pass_on()

    def _run(self, batch: list[Job], ticket: Ticket, deadline: float | None) -> None:
        """Run one batch; whatever happens, each of its jobs is answered or back in the queue."""
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            self._run_batch(batch, left)
        except TurnNotCome:
            self._put_back(batch, ticket, Busy("nothing happened in the time given; try again"))
        except Exception as error:  # every caller of the batch hears it; none may be left waiting
            self._finish(batch, error)
        except BaseException:
            if any(job.settled for job in batch):  # interrupted after COMMIT: what was decided stands
                notify(batch)
            else:
                why = Cancelled("the caller was interrupted before the commit; nothing happened")
                self._put_back(batch, ticket, why)
            raise
        else:
            notify(batch)

    @staticmethod
    def _finish(batch: list[Job], error: Exception) -> None:
        for job in batch:
            job.result = None
            job.error = error
        notify(batch)

    def _put_back(self, batch: list[Job], ticket: Ticket, error: Exception) -> None:
        """Nothing of the batch happened: the leader's own jobs end with `error`, the others wait again.

        A job whose caller has left ends too, and so do the leader's jobs that nobody had taken yet.
        """
        with self._lock:
            for job in reversed(batch):
                job.taken = False
                job.reset()
                if job.ticket is ticket or job.ticket.gone:
                    job.error = error
                    job.done = True
                    job.ticket.pending -= 1
                else:
                    self._waiting.appendleft(job)
                    self._bytes += job.size
            self._withdraw([job for job in self._waiting if job.ticket is ticket], error)
        ticket.settle()

    def _take(self) -> list[Job]:
        """The next batch: everyone waiting, in order, up to the bounds; an exclusive job comes alone."""
        with self._lock:
            waiting = self._waiting
            batch: list[Job] = []
            size = 0
            while waiting and len(batch) < limits.BATCH_COMMANDS:
                job = waiting[0]
                if batch and (job.exclusive or batch[-1].exclusive or size + job.size > limits.BATCH_BYTES):
                    break
                waiting.popleft()
                job.taken = True
                size += job.size
                batch.append(job)
            self._bytes -= size
            return batch

    def _pass_on(self) -> None:
        """Give the lead to the first who waits; who cannot take it any more is passed over."""
        while True:
            with self._lock:
                lost = [job for job in self._waiting if job.ticket.gone]
                self._withdraw(lost, Cancelled("nobody waits for it any more; nothing happened"))
                if not self._waiting:
                    self._leading = False
                    return
                heir: Ticket = self._waiting[0].ticket
                heir.lead = True
            try:
                heir.offer_lead(self.lead)
                return
            except RuntimeError:  # its threads or its loop have ended
                with self._lock:
                    heir.gone, heir.lead = True, False
                    jobs = [job for job in self._waiting if job.ticket is heir]
                    self._withdraw(jobs, Closed("the handle was closed before the command was taken"))
                heir.settle()

    def expire(self, jobs: Sequence[Job]) -> None:
        """Their caller stops waiting: jobs still queued end in `Busy`, taken ones are outcome unknown."""
        self.leave(jobs, jobs[0].ticket, Busy("nothing happened in the time given; try again"))
        for job in jobs:
            job.abandoned = not job.done


class TurnNotCome(Exception):
    """The store was not the leader's to write to in the time given; nothing was begun."""
