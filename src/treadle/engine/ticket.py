"""How a caller waits: a ticket counts the jobs it waits for, and wakes its caller once.

A thread's ticket is a raw lock, the cheapest thing a thread can sleep on. A task's ticket posts to its
event loop, one call for all its jobs that end in one batch.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from treadle.engine.job import Job


class Ticket:
    """The wait of one thread for `pending` jobs.

    The coordinator sets, under its lock, `lead` when the lead is this waiter's, and `gone` when nobody
    waits any more: a ticket that is gone is never given the lead.
    """

    __slots__ = ("_lock", "gone", "lead", "pending")

    def __init__(self, pending: int) -> None:
        self.pending = pending
        self.lead = False
        self.gone = False
        self._lock = _thread.allocate_lock()
        self._lock.acquire()

    def done(self, count: int) -> None:
        """The leader says that `count` of the jobs have ended; the last one wakes the waiter."""
        self.pending -= count
        if self.pending <= 0:
            self._wake()

    def offer_lead(self, lead: Callable[[Ticket], None]) -> None:
        """Wake the waiter so that it leads the next batch; `lead` is unused: the waiter knows how."""
        self._wake()

    def settle(self) -> None:
        """Wake the waiter if nothing is left to wait for, after jobs were taken out of the queue."""
        self.done(0)

    def wait(self, timeout: float | None) -> bool:
        """Sleep until woken; False if `timeout` seconds pass first."""
        return self._lock.acquire(timeout=-1 if timeout is None else max(0.0, timeout))

    def _wake(self) -> None:
        if self._lock.locked():
            self._lock.release()


class TaskTicket(Ticket):
    """The wait of one asyncio task. A task never leads: its lead is run by `run_lead`, on a thread."""

    __slots__ = ("_loop", "_run_lead", "future")

    def __init__(
        self,
        pending: int,
        loop: asyncio.AbstractEventLoop,
        run_lead: Callable[[Callable[[], None]], object],
    ) -> None:
        super().__init__(pending)
        self._loop = loop
        self._run_lead = run_lead
        self.future: asyncio.Future[None] = loop.create_future()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def done(self, count: int) -> None:
        self.pending -= count

    def offer_lead(self, lead: Callable[[Ticket], None]) -> None:
        self._run_lead(lambda: lead(self))

    def settle(self) -> None:
        if self.pending <= 0:
            with contextlib.suppress(RuntimeError):  # a loop that was closed has nobody left to hear
                self._loop.call_soon_threadsafe(_resolve, [self])


def notify(jobs: list[Job]) -> None:
    """Wake everyone whose jobs are in `jobs`: threads one by one, each event loop with one call."""
    counts: dict[Any, int] = {}
    for job in jobs:
        ticket = job.ticket
        job.done = True
        counts[ticket] = counts.get(ticket, 0) + 1
    loops: dict[asyncio.AbstractEventLoop, list[TaskTicket]] = {}
    for ticket, count in counts.items():
        ticket.done(count)
        if isinstance(ticket, TaskTicket) and ticket.pending <= 0:
            loops.setdefault(ticket.loop, []).append(ticket)
    for loop, tickets in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve, tickets)
        except RuntimeError:  # the loop was closed while its tasks waited: nobody is left to hear
            continue


def _resolve(tickets: list[TaskTicket]) -> None:
    for ticket in tickets:
        if not ticket.future.done():
            ticket.future.set_result(None)
