"""The index of the graph, built when the server starts instead of at the first request that needs it."""

from __future__ import annotations

import time
from typing import Final

from treadle.errors import Closed, TreadleError
from treadle.graph.live.stored import head_of
from treadle.server import logs
from treadle.server.service import Service

TOLD_EVERY: Final = 1.0
"""Seconds after which, and between which, the log is told how far it is."""


def warm(service: Service) -> None:
    """Build the index of a database that has a graph; until then only what needs the graph waits for it."""
    try:
        with service.engine.store.read() as tx:
            if not head_of(tx).number:
                return
        _build(service)
    except Closed:
        return
    except TreadleError as error:  # the first request that needs the graph gets it as its answer
        logs.event("graph_not_ready", code=error.code)


def _build(service: Service) -> None:
    began = told = time.monotonic()

    def progress(done: int, whole: int) -> None:
        nonlocal told
        if service.draining:
            raise Closed("the server stops")
        if time.monotonic() - told >= TOLD_EVERY:
            told = time.monotonic()
            logs.event("graph_building", statements=done, of=whole)

    statements = service.database.graph_core().ready(progress)
    took = time.monotonic() - began
    if took >= TOLD_EVERY:
        logs.event("graph_ready", statements=statements, seconds=round(took, 1))
