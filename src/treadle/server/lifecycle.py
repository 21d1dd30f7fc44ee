"""Running a server: where it may listen, how it starts, how it stops."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any, Final

import uvicorn

from treadle.database import Database
from treadle.errors import ConfigError
from treadle.server import logs
from treadle.server.app import GROUPS, Application, create_app
from treadle.server.graph.warming import warm
from treadle.server.options import Options
from treadle.server.protocol import OPTIONS, Protocol

BACKLOG: Final = 512
COLLECT_AFTER: Final = (50_000, 20, 20)
"""When the garbage collector looks for cycles: requests make few, and looking took a fifth of the time."""


class Server(uvicorn.Server):
    """uvicorn's server, which stops at the first signal when what it does has ended, and at the second one
    at once. What was acknowledged is durable either way."""

    def __init__(self, config: uvicorn.Config, application: Application, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._application = application
        self._tell_started = started
        self._warming: asyncio.Future[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            service = self._application.service
            self._warming = asyncio.ensure_future(service.query_thread(partial(warm, service)))
            self._tell_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal to stop; kept from uvicorn's list, so that a clean stop ends with exit code 0."""
        self._application.service.draining = True
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True


def check_bind(database: Database, options: Options) -> None:
    """Raise `ConfigError` where the server would be open to others than it should be.

    Beyond loopback it needs tokens, and never takes callers without one.
    """
    if options.loopback:
        return
    if options.open_owner or options.throwaway is not None:
        raise ConfigError(
            f"server.bind: {options.host} is reachable from elsewhere, where callers without a token of the "
            "database are never taken; bind to 127.0.0.1"
        )
    now = database._engine.clock.now()
    if not any(token.valid(now) for token in database.tokens.list()):
        raise ConfigError(
            f"server.bind: {options.host} is reachable from elsewhere and there is no token; "
            "make one with `treadle token create`, or bind to 127.0.0.1"
        )


def listen(options: Options) -> socket.socket:
    """The listening socket. Raises `ConfigError` where the address cannot be had."""
    host = options.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, options.port))
        found.listen(BACKLOG)
        found.setblocking(False)
    except OSError as error:
        found.close()
        raise ConfigError(
            f"server.bind: cannot listen on {options.host}:{options.port}: {error.strerror or error}"
        ) from error
    return found


def address_of(options: Options, listener: socket.socket) -> str:
    """The address that a client uses, with the port that was given where it was 0."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    return f"http://{host}:{listener.getsockname()[1]}"


def configured(application: Application, options: Options) -> uvicorn.Config:
    """uvicorn's configuration for an application."""
    config = uvicorn.Config(
        application,
        loop=_loop(),
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=max(1, round(options.idle_seconds)),
        timeout_graceful_shutdown=max(1, round(options.drain_seconds)),
    )
    setattr(config, OPTIONS, options)
    return config


def _loop() -> Any:
    return "asyncio" if sys.implementation.name != "cpython" else "uvloop"


def serve(
    database: Database,
    options: Options,
    started: Callable[[str], None],
    *,
    groups: Sequence[str] = GROUPS,
) -> None:
    """Serve a database until a signal stops it. `started` is called with the address once it listens.

    Raises `ConfigError` for an address that cannot be had or that needs tokens.
    """
    check_bind(database, options)
    logs.set_up(sys.stderr, requests=options.log_requests)
    with listen(options) as listener:
        address = address_of(options, listener)
        application = create_app(database, options, groups)
        server = Server(configured(application, options), application, lambda: started(address))
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
        server.run(sockets=[listener])
    logs.event("stopped")
