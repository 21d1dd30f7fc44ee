"""Where a PostgreSQL database is: the URL, less what is said to Treadle and not to PostgreSQL.

    postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=treadle&pool=8&pool_timeout=30

Everything else in the URL is PostgreSQL's own (sslmode, target_session_attrs, several hosts …).
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from treadle.errors import ConfigError

SCHEMA: Final = "treadle"
READERS: Final = 8
READER_SECONDS: Final = 30.0
MOST_READERS: Final = 1_000
_NAME_BYTES: Final = 63

_FORM: Final = (
    "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME; "
    "characters such as @ / ? in a password are written as %40 %2F %3F"
)

_DEFAULTS: Final[dict[str, Any]] = {
    "application_name": "treadle",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "client_encoding": "UTF8",
}
"""What holds where the URL says nothing: a server that vanished is noticed within half a minute."""


class Place:
    """A schema of a PostgreSQL database, and how many connections may read at once.

    `parameters` are libpq's, the password among them: nothing shows them.
    """

    __slots__ = ("parameters", "readers", "schema", "wait")

    def __init__(self, parameters: dict[str, Any], schema: str, readers: int, wait: float) -> None:
        self.parameters = parameters
        self.schema = schema
        self.readers = readers
        self.wait = wait

    def __repr__(self) -> str:
        return f"<Place schema={self.schema!r}>"


def read_place(url: str) -> Place:
    """A URL as a place; raises `ConfigError` without showing what may be secret."""
    base, _, query = url.partition("?")
    own: dict[str, str] = {}
    others = []
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        if name in ("schema", "pool", "pool_timeout"):
            own[name] = unquote(value)
        else:
            others.append(pair)
    try:
        parameters = conninfo_to_dict(f"{base}?{'&'.join(others)}" if others else base)
    except psycopg.Error:  # its message may hold a part of the password
        raise ConfigError(f"the PostgreSQL URL cannot be read; {_FORM}") from None
    return Place(
        {**_DEFAULTS, **parameters},
        _schema(own.get("schema", SCHEMA)),
        int(_number("pool", own.get("pool", str(READERS)), 1, MOST_READERS, whole=True)),
        _number("pool_timeout", own.get("pool_timeout", str(READER_SECONDS)), 0, 3_600),
    )


def _schema(name: str) -> str:
    if not 0 < len(name.encode()) <= _NAME_BYTES or "\0" in name:
        raise ConfigError(f"schema: a name of at most {_NAME_BYTES} bytes")
    if name == "public" or name.startswith("pg_") or name == "information_schema":
        raise ConfigError(
            f"schema: {name} is not Treadle's to use; choose one for Treadle alone, such as {SCHEMA}"
        )
    return name


def _number(key: str, text: str, least: float, most: float, *, whole: bool = False) -> float:
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise ConfigError(f"{key}: a number from {least:g} to {most:g}")
    return value
