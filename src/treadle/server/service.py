"""What all routes share: the database, who callers are, the threads for what blocks, and the counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from treadle import limits
from treadle.access.caller import Caller
from treadle.access.roles import Permission, Roles
from treadle.asynchronous import AsyncDatabase
from treadle.database import Database
from treadle.engine import grants
from treadle.engine.command import CommandJob
from treadle.engine.job import Job
from treadle.engine.receipt import Receipt
from treadle.engine.request import Request, admit
from treadle.engine.state import State
from treadle.errors import TreadleError
from treadle.server.auth import Authenticator
from treadle.server.metrics import Metrics, Process
from treadle.server.options import Options
from treadle.server.sampling import Sampler, wal_path
from treadle.server.tracing import Tracer, tracer

Result = TypeVar("Result")
READERS: Final = 8


class Service(Process):
    """A database that is served. One for each application; `close` leaves the database open.

    `draining` is set once the server stops: it is then no longer ready. `in_flight` counts requests.
    """

    def __init__(self, database: Database, options: Options) -> None:
        self.database = database
        self.engine = database._engine
        self.options = options
        self.metrics = Metrics()
        self.metrics.observe(Sampler(self.engine, wal_path(database.url)), self)
        self.tracer: Tracer | None = tracer()
        self.draining = False
        self.in_flight = 0
        self.kept: dict[Any, Any] = {}
        """What routes made from a state of the database and may use again; cleared when it grows."""
        self._auth = Authenticator(
            self.engine, throwaway=options.throwaway, open_owner=options.open_owner and options.loopback
        )
        self._queue = AsyncDatabase(database)
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="treadle-read")
        self._query_threads = ThreadPoolExecutor(READERS, thread_name_prefix="treadle-query")
        self._held = 0

    async def close(self) -> None:
        """End the threads, after what they do now has ended."""
        await asyncio.to_thread(self._threads.shutdown, True)
        await asyncio.to_thread(self._query_threads.shutdown, True)
        await self._queue.release()

    # Who calls.

    @property
    def roles(self) -> Roles:
        """The roles as last seen; what writes is checked again in its batch, what reads in `read`."""
        return self.engine.state.roles

    async def caller_of(self, authorization: bytes | None) -> Caller:
        """Who sends an Authorization header. Raises `Denied` or `Malformed`, both `unauthenticated`."""
        caller = self._auth.quick(authorization)
        return await self.thread(self._auth.look_up, authorization) if caller is None else caller

    # What blocks, on a thread.

    async def thread(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Run what may block on a thread of the server's."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    async def query_thread(self, function: Callable[[], Result]) -> Result:
        """Run a query on a thread of its own kind: queries may wait for a commit, other reads do not."""
        return await asyncio.get_running_loop().run_in_executor(self._query_threads, function)

    async def read(
        self, caller: Caller, function: Callable[[State], Result], permission: Permission | None = None
    ) -> Result:
        """Run a read on a thread for a caller whose token is still valid and whose role permits it."""

        def confirmed() -> Result:
            state = grants.confirm(self.engine, caller, self.engine.clock.now())
            if permission is not None:
                state.roles.check_permission(caller, permission)
            return function(state)

        return await self.thread(confirmed)

    def keep(self, key: Any, make: Callable[[], Result]) -> Result:
        """What `make` gives, made once for `key`."""
        found: Result | None = self.kept.get(key)
        if found is None:
            if len(self.kept) >= 64:
                self.kept.clear()
            found = self.kept[key] = make()
        return found

    # Commands.

    async def job(self, request: Request, *, large: bool = False) -> CommandJob:
        """Admit a request, on the loop where that is quick, else on a thread; raises as admission does."""
        engine = self.engine
        if large:
            return await self.thread(engine.command_job, request)
        try:
            admitted = admit(request, engine.state, engine.clock, engine.ids)
        except TreadleError:  # it may be that only the state last seen does not know it
            return await self.thread(engine.command_job, request)
        return CommandJob(request, admitted, engine.clock, engine.ids)

    async def submit(self, jobs: Sequence[Job], timeout: float | None = None) -> list[Any]:
        """Queue jobs and wait for them: for each, in order, its result or its error as an object."""
        return await self._queue.submit(jobs, self.options.request_seconds if timeout is None else timeout)

    async def run(self, request: Request, timeout: float | None = None, *, large: bool = False) -> Receipt:
        """Run one command; raises its error."""
        job = await self.job(request, large=large)
        answer = (await self.submit([job], timeout))[0]
        self.metrics.answered(request.command, answer)
        if isinstance(answer, BaseException):
            raise answer
        receipt: Receipt = answer
        return receipt

    def hold(self, size: int) -> bool:
        """Count `size` bytes more (or less) that requests make the server hold; False where it may not."""
        if size > 0 and self._held + size > limits.HTTP_HELD_BYTES:
            return False
        self._held += size
        return True

    def gauges(self) -> dict[str, tuple[str, float]]:
        """What the process holds now, for the metrics."""
        return {
            "http_requests_in_flight": ("Requests that are being answered.", self.in_flight),
            "http_held_bytes": ("Bytes of requests that the server holds.", self._held),
            "queue_jobs": ("Commands that wait for a batch.", self.engine.coordinator.depth),
        }
