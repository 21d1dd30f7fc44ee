"""What `serve` and `dev` share: the server's settings as it takes them, and what is said when it starts."""

from __future__ import annotations

from typing import Any

import treadle
from treadle.config import Config
from treadle.errors import ConfigError
from treadle.registry import load


def library() -> Any:
    """The server's modules. Raises `ConfigError` where the extra is not installed."""
    try:
        return load("server.lifecycle")
    except ImportError as error:
        raise ConfigError(
            f"the server needs more packages ({error.name} is missing): pip install 'treadle[server]'"
        ) from error


def options(wanted: Config, *, open_owner: bool = False, throwaway: str | None = None) -> Any:
    """The settings as the server takes them."""
    host, _, port = wanted["server.bind"].rpartition(":")
    return load("server.options").Options(
        host=host.strip("[]"),
        port=int(port),
        open_owner=open_owner,
        throwaway=throwaway,
        hosts=tuple(wanted["server.hosts"]),
        origins=tuple(wanted["server.origins"]),
        max_body=wanted["server.max_body_bytes"],
        max_connections=wanted["server.max_connections"],
        request_seconds=wanted["server.request_seconds"],
        idle_seconds=wanted["server.idle_seconds"],
        drain_seconds=wanted["server.drain_seconds"],
        log_requests=wanted["server.log_requests"],
    )


def has_tokens(database: treadle.Database) -> bool:
    """Whether any token is valid now."""
    now = database._engine.clock.now()
    return any(token.valid(now) for token in database.tokens.list())
