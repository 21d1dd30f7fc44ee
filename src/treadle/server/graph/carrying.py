"""Changes of the graph from the event loop: what is free is done there, what may take long on a thread."""

from __future__ import annotations

import asyncio
from functools import partial

from treadle.errors import OutcomeUnknown
from treadle.graph.live.attempts import Attempts, Text
from treadle.graph.live.changes import Changed
from treadle.graph.live.core import Core
from treadle.server.call import Call


async def core_of(call: Call) -> Core:
    """The graph of the served database."""
    database = call.service.database
    if database.graph_is_open:
        return database.graph_core()
    return await call.service.thread(database.graph_core)


async def update(call: Call, wanted: Text) -> Changed:
    """Run a SPARQL update as the caller."""
    core = await core_of(call)
    return await settle(call, core.update(call.caller, wanted))


async def settle(call: Call, attempts: Attempts) -> Changed:
    """Carry a change out, in as many tries as it takes; see `treadle.graph.live.core.Core.settle`."""
    service, loop = call.service, asyncio.get_running_loop()
    until = loop.time() + service.options.request_seconds
    while True:
        left = max(0.001, until - loop.time())
        if attempts.free:
            job = attempts.job(left)
        else:
            job = await service.query_thread(partial(attempts.job, left))
        answer = (await service.submit([job], max(0.001, until - loop.time())))[0]
        if isinstance(answer, OutcomeUnknown):
            raise answer
        done = attempts.take(answer)
        if done is not None:
            return done
