"""Where a database lives: `memory`, `sqlite`, `postgres`, all behind `treadle.ports.store`.

Each store renders its own tables and statements; one conformance suite (tests/conformance) runs on
all of them. `open_store` finds the store for a database's URL and imports only that one.

Reading order: `handle` (what all handles do alike), `versions` and `memory`, then the package
`sqlite`. `clock` and `ids` are the operating system's clock and dice.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from treadle.errors import ConfigError
from treadle.ports.clock import Clock
from treadle.ports.store import Store, Timed
from treadle.store.clock import SystemClock

MEMORY: Final = ":memory:"

_OPENERS: Final = {
    "memory": "treadle.store.memory",
    "sqlite": "treadle.store.sqlite",
    "postgresql": "treadle.store.postgres",
}
"""Which module opens the URLs of a scheme: each has a function `open_database(where, create)`."""

_SERVERS: Final = {"postgresql": "postgresql", "postgres": "postgresql"}
"""Schemes of URLs that name a server's database; libpq knows both spellings."""

_PASSWORD: Final = re.compile(r"(?i)(^[a-z]+://[^/?#@:]*:)[^?#]*(?=@)|([?&](?:ssl)?password=)[^&]*")
"""A password before the host, or as a parameter; what may be a part of it is taken for it."""

_FORMS: Final = "write a file name, sqlite:///NAME, postgresql://HOST/DATABASE or :memory:"


def open_store(url: str | Path, *, create: bool = True) -> Store:
    """Open the database at `url`: a file name, `sqlite:///name`, `postgresql://host/name` or `:memory:`.

    A missing database is created unless `create` is false. Raises `ConfigError` for a URL that names no
    store, and what the store raises: `DatabaseMissing`, `DatabaseNewer`, `DatabaseCorrupt`, `ReadOnly`,
    `DiskFull`, `Busy`.
    """
    scheme, where = split_url(str(url))
    try:
        module = import_module(_OPENERS[scheme])
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        raise ConfigError("PostgreSQL needs one package more: pip install 'treadle[postgres]'") from error
    store: Store = module.open_database(where, create=create)
    return store


def clock_of(store: Store) -> Clock:
    """The clock that a database goes by: its server's where it has one, else this machine's."""
    if store.capabilities.server_clock and isinstance(store, Timed):
        return store.clock
    return SystemClock()


def shown_url(url: str) -> str:
    """A database's URL without its password."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}•••", url)


def alone(name: str) -> AbstractContextManager[str]:
    """Hold a database's file alone; see `treadle.store.sqlite.alone`."""
    found: AbstractContextManager[str] = import_module("treadle.store.sqlite.alone").alone(name)
    return found


def split_url(url: str) -> tuple[str, str]:
    """A database's URL as the store's name and what that store opens: a path, a whole URL, or nothing."""
    if url == MEMORY:
        return "memory", ""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return "sqlite", _file_name(url, url)
    if scheme == "sqlite":
        return "sqlite", _file_name(_sqlite_path(url, rest), url)
    if scheme in _SERVERS:
        return _SERVERS[scheme], url
    raise ConfigError(f"no store for {scheme}:// databases; {_FORMS}")


def _sqlite_path(url: str, rest: str) -> str:
    """`sqlite:///work.db` is a relative path, `sqlite:////srv/work.db` an absolute one."""
    parts = urlsplit(url)
    if not rest.startswith("/") or parts.query or parts.fragment:
        raise ConfigError("write sqlite:///NAME for a file beside you, sqlite:////PATH for an absolute path")
    return unquote(parts.path[1:])


def _file_name(name: str, url: str) -> str:
    if not name or "\0" in name or name == MEMORY:
        raise ConfigError(f"{url!r} names no file; write a file name, such as work.db, or :memory:")
    return name
