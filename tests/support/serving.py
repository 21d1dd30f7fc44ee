"""A real server in this process: uvicorn on a thread of its own, on loopback, on a port of its choice."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import treadle
from treadle.server.app import GROUPS, create_app
from treadle.server.lifecycle import Server, address_of, configured, listen
from treadle.server.options import Options


@contextmanager
def serving(
    database: treadle.Database, *, groups: Sequence[str] = GROUPS, port: int = 0, **options: Any
) -> Iterator[str]:
    """The address of a server of this database, which stops at the end; the database stays open."""
    chosen = Options(port=port, drain_seconds=1.0, **options)
    started = threading.Event()
    with listen(chosen) as listener:
        application = create_app(database, chosen, groups)
        server = Server(configured(application, chosen), application, started.set)
        thread = threading.Thread(target=lambda: server.run(sockets=[listener]), name="server")
        thread.start()
        try:
            if not started.wait(20):
                raise AssertionError("the server did not start")
            yield address_of(chosen, listener)
        finally:
            server.should_exit = True
            thread.join(20)
            if thread.is_alive():
                raise AssertionError("the server did not stop")
