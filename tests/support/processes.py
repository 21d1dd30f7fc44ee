"""Real second processes for tests: started from a server that has everything imported, in milliseconds.

What a process runs must be a function of a module, and everything it is given must be picklable. Processes
are ended by their own id, never by name.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any

_PRELOAD = [
    "tests.support.work",
    "treadle.store.sqlite",
    "treadle.riff",
    "treadle.verify",
    "sim.processes.serving",
]
_context: ForkServerContext | None = None


def context() -> ForkServerContext:
    """The context whose processes start with the database's modules imported."""
    global _context
    if _context is None:
        _context = multiprocessing.get_context("forkserver")
        _context.set_forkserver_preload(_PRELOAD)
    return _context


def start(function: Callable[..., Any], *args: Any) -> ForkServerProcess:
    """A running process; join or kill it."""
    process = context().Process(target=function, args=args, daemon=True)
    process.start()
    return process
