"""The same handle for asyncio: every method awaits, none blocks the loop.

Commands queue from the loop itself and are led on one executor thread, so a task never runs a batch.
Everything else runs on that executor through the ordinary handle; there is no second implementation.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from treadle import database, limits
from treadle.access.caller import Caller
from treadle.database import DEFAULT_JUMP, Acting, Command, Database
from treadle.engine.coordinator import Coordinator
from treadle.engine.core import Engine
from treadle.engine.job import Job
from treadle.engine.receipt import Receipt
from treadle.engine.request import Request
from treadle.engine.ticket import TaskTicket, Ticket
from treadle.errors import Cancelled, Closed, TreadleError
from treadle.ports.clock import Clock
from treadle.registry import load

if TYPE_CHECKING:
    from treadle.access.tokens import Token
    from treadle.engine.grants import Granted
    from treadle.graph.live.changes import Changed
    from treadle.graph.live.surface import Graph
    from treadle.graph.options import GraphOptions
    from treadle.graph.query import Rows, Triples
    from treadle.queries import Page
    from treadle.why import Why, WhyRun

Result = TypeVar("Result")

TURN: Final = 0.01
"""Seconds within which a turn of the loop is over, as a rule."""


class AsyncDatabase:
    """An open database for asyncio; see `treadle.Database` for what each method does."""

    def __init__(self, inner: Database) -> None:
        self.sync = inner
        self._leader = ThreadPoolExecutor(1, thread_name_prefix="treadle-lead")
        self._calls = ThreadPoolExecutor(4, thread_name_prefix="treadle-call")
        self._closed = False

    async def __aenter__(self) -> AsyncDatabase:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the handle, after what was taken has ended."""
        self._closed = True
        await asyncio.to_thread(self._leader.shutdown, True)
        await self._call(self.sync.close)
        self._calls.shutdown(wait=False)

    async def release(self) -> None:
        """End the threads, after what was taken has ended; the handle under this one stays open."""
        self._closed = True
        await asyncio.to_thread(self._leader.shutdown, True)
        self._calls.shutdown(wait=False)

    async def _call(self, function: Callable[..., Result], *args: Any, **options: Any) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._calls, lambda: function(*args, **options))

    async def deploy(self, contract: str | Path, **options: Any) -> int:
        """See `treadle.Database.deploy`."""
        return await self._call(self.sync.deploy, contract, **options)

    async def row(self, entity: str, key: Sequence[Any] | Any) -> Any:
        """See `treadle.Database.row`."""
        return await self._call(self.sync.row, entity, key)

    async def verify(self, **options: Any) -> Any:
        """See `treadle.Database.verify`."""
        return await self._call(self.sync.verify, **options)

    async def log(self, *args: Any, **options: Any) -> list[Any]:
        """See `treadle.Database.log`; returns the records as a list."""
        return await self._call(lambda: list(self.sync.log(*args, **options)))

    @property
    def tokens(self) -> AsyncTokens:
        """See `treadle.Database.tokens`."""
        return AsyncTokens(self)

    @property
    def graph(self) -> AsyncGraph:
        """See `treadle.Database.graph`."""
        return AsyncGraph(self, self.sync)

    def acting_as(self, principal: str, **options: Any) -> AsyncActing:
        """See `treadle.Database.acting_as`."""
        return AsyncActing(self, self.sync.acting_as(principal, **options).caller)

    async def run(
        self,
        command: str,
        input: Mapping[str, Any],
        *,
        principal: str,
        role: str | None = None,
        timeout: float | None = None,
    ) -> Receipt:
        """See `treadle.Database.run`."""
        return await self.acting_as(principal, role=role).run(command, input, timeout=timeout)

    async def query(
        self,
        name: str,
        parameters: Any = None,
        *,
        principal: str = "owner",
        role: str | None = None,
        **options: Any,
    ) -> Page:
        """See `treadle.Database.query`."""
        return await self.acting_as(principal, role=role).query(name, parameters, **options)

    def pages(
        self,
        name: str,
        parameters: Any = None,
        *,
        principal: str = "owner",
        role: str | None = None,
        **options: Any,
    ) -> AsyncIterator[Page]:
        """See `treadle.Database.pages`; `async for page in db.pages(…)`."""
        return self.acting_as(principal, role=role).pages(name, parameters, **options)

    async def why(
        self,
        entity: str,
        key: Sequence[Any] | Any,
        *,
        unmasked: bool = False,
        principal: str = "owner",
        role: str | None = None,
    ) -> Why:
        """See `treadle.Database.why`."""
        return await self.acting_as(principal, role=role).why(entity, key, unmasked=unmasked)

    async def why_run(
        self, run: str, graph: str | None = None, *, principal: str = "owner", role: str | None = None
    ) -> WhyRun:
        """See `treadle.Database.why_run`."""
        return await self.acting_as(principal, role=role).why_run(run, graph)

    async def submit(self, jobs: Sequence[Job], timeout: float | None) -> list[Any]:
        """Queue jobs for the running task; a cancelled task's queued jobs are withdrawn."""
        if self._closed:
            raise Closed("this handle was closed; open the database again")
        coordinator = self.sync._engine.coordinator
        loop = asyncio.get_running_loop()
        ticket = TaskTicket(len(jobs), loop, self._leader.submit)
        if coordinator.enqueue(jobs, ticket):
            _begin(coordinator, jobs, ticket)
        late = (
            None if timeout is None else loop.call_later(timeout, _expire, coordinator, jobs, ticket.future)
        )
        try:
            await ticket.future
        except asyncio.CancelledError:
            cancelled = Cancelled("the task was cancelled before the command was taken")
            coordinator.withdraw(jobs, cancelled)
            raise
        finally:
            if late is not None:
                late.cancel()
        return [job.answer for job in jobs]


def _begin(coordinator: Coordinator, jobs: Sequence[Job], ticket: TaskTicket) -> None:
    """Lead on the leader's thread; where that has ended, the jobs end and the lead goes on.

    Tasks that are ready in this turn of the loop join the batch. A loop that is stopped meanwhile has no
    next turn, and threads that share the handle need the lead: it waits for the turn's end so long only.
    """
    ended = threading.Event()
    ticket.loop.call_soon(ended.set)

    def lead(holder: Ticket) -> None:
        ended.wait(TURN)
        coordinator.lead(holder)

    try:
        ticket.offer_lead(lead)
    except RuntimeError:
        ticket.lead = True
        coordinator.leave(jobs, ticket, Closed("the handle was closed before the command was taken"))
        ticket.settle()


def _expire(coordinator: Coordinator, jobs: Sequence[Job], waiting: asyncio.Future[None]) -> None:
    """The time given is over: what is still queued ends in `Busy`, what was taken in `OutcomeUnknown`."""
    if not waiting.done():
        coordinator.expire(jobs)
        waiting.set_result(None)


class AsyncTokens:
    """The tokens of a database, for asyncio; see `treadle.engine.grants.Tokens`."""

    def __init__(self, owner: AsyncDatabase) -> None:
        self._owner = owner

    async def create(self, principal: str, *, role: str, **options: Any) -> Granted:
        """See `treadle.engine.grants.Tokens.create`."""
        return await self._owner._call(self._owner.sync.tokens.create, principal, role=role, **options)

    async def list(self) -> list[Token]:
        """See `treadle.engine.grants.Tokens.list`."""
        return await self._owner._call(self._owner.sync.tokens.list)

    async def revoke(self, id: str, **options: Any) -> Token:
        """See `treadle.engine.grants.Tokens.revoke`."""
        return await self._owner._call(self._owner.sync.tokens.revoke, id, **options)

    async def rotate(self, id: str, **options: Any) -> Granted:
        """See `treadle.engine.grants.Tokens.rotate`."""
        return await self._owner._call(self._owner.sync.tokens.rotate, id, **options)


class AsyncGraph:
    """The graph of a database, for asyncio; what an operator does there is `db.sync.graph`'s."""

    def __init__(self, owner: AsyncDatabase, of: Database | Acting) -> None:
        self._owner = owner
        self._of = of

    async def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of the graph, which is opened on the thread too."""

        def call() -> Any:
            graph: Graph = self._of.graph
            return getattr(graph, name)(*arguments, **options)

        return await self._owner._call(call)

    async def update(self, text: str, *arguments: Any, **options: Any) -> Changed:
        """See `treadle.graph.live.surface.Graph.update`."""
        done: Changed = await self._call("update", text, *arguments, **options)
        return done

    async def load(self, text: str | bytes, *arguments: Any, **options: Any) -> Changed:
        """See `treadle.graph.live.surface.Graph.load`."""
        done: Changed = await self._call("load", text, *arguments, **options)
        return done

    async def query(self, text: str, *arguments: Any, **options: Any) -> Rows | bool | Triples:
        """See `treadle.graph.live.surface.Graph.query`."""
        found: Rows | bool | Triples = await self._call("query", text, *arguments, **options)
        return found

    async def export(self, *arguments: Any, **options: Any) -> str:
        """See `treadle.graph.live.surface.Graph.export`."""
        text: str = await self._call("export", *arguments, **options)
        return text

    async def graphs(self, **options: Any) -> list[Any]:
        """See `treadle.graph.live.surface.Graph.graphs`."""
        found: list[Any] = await self._call("graphs", **options)
        return found

    async def capabilities(self) -> dict[str, Any]:
        """See `treadle.graph.live.surface.Graph.capabilities`."""
        found: dict[str, Any] = await self._call("capabilities")
        return found


class AsyncActing:
    """A database as one principal sees it, for asyncio; see `treadle.database.Acting`."""

    def __init__(self, owner: AsyncDatabase, caller: Caller) -> None:
        self._owner = owner
        self.caller = caller

    @property
    def graph(self) -> AsyncGraph:
        """See `treadle.database.Acting.graph`."""
        return AsyncGraph(self._owner, Acting(self._owner.sync, self.caller))

    async def run(
        self,
        command: str,
        input: Mapping[str, Any],
        *,
        timeout: float | None = None,
        history: str | None = None,
        contract: str | None = None,
    ) -> Receipt:
        """See `treadle.database.Acting.run`. A cancelled call that was taken already runs to its end."""
        job = self._owner.sync._engine.command_job(Request(command, input, self.caller, history, contract))
        answer = (await self._owner.submit([job], timeout))[0]
        if isinstance(answer, BaseException):
            raise answer
        receipt: Receipt = answer
        return receipt

    async def run_many(
        self, commands: Sequence[Command], *, timeout: float | None = None, **relies: Any
    ) -> list[Receipt | TreadleError]:
        """See `treadle.database.Acting.run_many`."""
        engine = self._owner.sync._engine
        answers, jobs = engine.command_jobs(Request(*one, self.caller, **relies) for one in commands)
        if jobs:
            results = await self._owner.submit([job for _, job in jobs], timeout)
            for (position, _), answer in zip(jobs, results, strict=True):
                answers[position] = answer
        return answers

    async def query(
        self,
        name: str,
        parameters: Any = None,
        *,
        at_least: int | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Page:
        """See `treadle.database.Acting.query`. A commit is waited for without holding a thread."""
        allowed = limits.QUERY_SECONDS if timeout is None else min(timeout, limits.QUERY_SECONDS)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + allowed
        while at_least and not await self._owner._call(_ready, self._owner.sync._engine, at_least):
            if loop.time() >= deadline:
                break
            await asyncio.sleep(min(_PAUSE, max(0.0, deadline - loop.time())))
        acting = Acting(self._owner.sync, self.caller)
        left = None if timeout is None else max(0.0, deadline - loop.time())
        options |= {"at_least": at_least, "timeout": left}
        return await self._owner._call(acting.query, name, parameters, **options)

    async def pages(
        self, name: str, parameters: Any = None, *, at_least: int | None = None, **options: Any
    ) -> AsyncIterator[Page]:
        """See `treadle.database.Acting.pages`."""
        after: str | None = None
        while True:
            page = await self.query(name, parameters, after=after, at_least=at_least, **options)
            yield page
            if page.next is None:
                return
            after, at_least = page.next, page.commit

    async def why(self, entity: str, key: Sequence[Any] | Any, *, unmasked: bool = False) -> Why:
        """See `treadle.database.Acting.why`."""
        acting = Acting(self._owner.sync, self.caller)
        return await self._owner._call(acting.why, entity, key, unmasked=unmasked)

    async def why_run(self, run: str, graph: str | None = None) -> WhyRun:
        """See `treadle.database.Acting.why_run`."""
        return await self._owner._call(Acting(self._owner.sync, self.caller).why_run, run, graph)


_PAUSE: Final = 0.01
"""Seconds between two looks for a commit that is waited for."""


def _ready(engine: Engine, at_least: int) -> bool:
    found: bool = load("queries").ready(engine, at_least)
    return found


def open_async(
    url: str | Path,
    *,
    create: bool = True,
    clock: Clock | None = None,
    max_clock_jump: timedelta | None = DEFAULT_JUMP,
    graph: GraphOptions | None = None,
) -> AsyncDatabase:
    """Open a database for asyncio; arguments and errors as `treadle.open`. Use with `async with`."""
    return AsyncDatabase(
        database.open(url, create=create, clock=clock, max_clock_jump=max_clock_jump, graph=graph)
    )


__all__ = ["AsyncActing", "AsyncDatabase", "AsyncGraph", "open_async"]
