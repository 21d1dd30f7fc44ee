"""PostgreSQL's errors as Treadle's: once, here, so that no caller ever sees a driver's exception.

What PostgreSQL says about an error may hold values of rows, so nothing of it is passed on but its code.
"""

from __future__ import annotations

import re
from typing import Final

import psycopg

from treadle.errors import (
    Busy,
    DatabaseCorrupt,
    DiskFull,
    InvalidInput,
    InvariantBroken,
    ReadOnly,
    StoreError,
    TooLarge,
    TreadleError,
)
from treadle.ports.store import GaveWay


class Lost(StoreError):
    """The connection broke; what was not committed did not happen."""


_LOST: Final = "the connection to PostgreSQL was lost; nothing was changed. Try again"

_STANDBY: Final = (
    "this PostgreSQL server only reads; connect to the primary (target_session_attrs=read-write in the URL)"
)

_BY_STATE: Final[dict[str, tuple[type[TreadleError], str]]] = {
    "0A000": (ReadOnly, _STANDBY),
    "25006": (ReadOnly, _STANDBY),
    "25P03": (
        Lost,
        "idle_in_transaction_session_timeout ended the transaction; nothing was changed. Raise it",
    ),
    "2BP01": (
        StoreError,
        "objects of your own depend on an entity's view or table; drop them, and make them anew afterwards",
    ),
    "40001": (GaveWay, "another transaction was in the way; nothing happened, try again"),
    "40P01": (GaveWay, "another transaction was in the way; nothing happened, try again"),
    "42501": (
        ReadOnly,
        "the role may not do this: it has to own the schema, or have CREATE on the database to make it",
    ),
    "53100": (DiskFull, "PostgreSQL's disk is full; nothing was changed. Make room and try again"),
    "53200": (Busy, "PostgreSQL is out of memory; nothing happened. Try again, or give it more"),
    "53300": (
        Busy,
        "PostgreSQL has no connection left; nothing happened. Raise max_connections, or lower pool",
    ),
    "54000": (
        TooLarge,
        "a key or an indexed value is larger than PostgreSQL can index (about 2,600 bytes in one entry)",
    ),
    "55P03": (Busy, "another transaction held a lock for the whole time given; nothing happened, try again"),
    "57014": (
        Busy,
        "statement_timeout or an operator ended a statement; nothing happened. Raise it, or try again",
    ),
}

_CORRUPT: Final = "PostgreSQL found damaged data; restore a backup (pg_restore, docs/howto/postgresql.md)"

_CLASSES: Final[dict[str, tuple[type[TreadleError], str]]] = {
    "08": (Lost, _LOST),
    "54": (TooLarge, "PostgreSQL has a bound that this passes: 1,600 columns, 32 in one index"),
    "53": (DiskFull, "PostgreSQL is out of a resource; nothing was changed. Look at its log"),
    "57": (Lost, "PostgreSQL was stopped or restarted; nothing was changed. Try again"),
    "58": (StoreError, "PostgreSQL's disk failed; nothing was changed. Look at its log"),
    "XX": (DatabaseCorrupt, _CORRUPT),
}

_UNKNOWN: Final = frozenset(("42P01", "42703", "3F000"))
"""A table, a column or a schema is not there: somebody changed the schema."""


def translated(error: psycopg.Error | UnicodeError, *, lost: bool = False) -> TreadleError:
    """The error to raise for one of the driver's; `lost` where the connection is of no use any more."""
    if isinstance(error, UnicodeError):
        return InvalidInput("a text holds what UTF-8 cannot spell")
    state = getattr(error, "sqlstate", None) or ""
    known = _BY_STATE.get(state) or _CLASSES.get(state[:2])
    if known is not None:
        return known[0](known[1])
    if lost or isinstance(error, psycopg.OperationalError):
        return Lost(_LOST)
    if state in _UNKNOWN:
        return DatabaseCorrupt("a table or a column of the database is missing; restore a backup")
    if state.startswith("22"):
        return InvalidInput(f"PostgreSQL cannot hold a value (SQLSTATE {state}); nothing was changed")
    # A constraint, a wrong statement, a connection used by two threads: our own mistakes.
    return InvariantBroken(
        f"internal invariant broken: PostgreSQL answered SQLSTATE {state or type(error).__name__}"
    )


_REFUSALS: Final = (
    (
        re.compile("password|authentication|pg_hba|no encryption|certificate", re.IGNORECASE),
        "PostgreSQL refused the user, the password or the way of connecting; check the URL and pg_hba.conf",
    ),
    (
        re.compile('database ".*" does not exist'),
        "the PostgreSQL server has no such database; create it (createdb), or check the URL",
    ),
    (re.compile('role ".*" does not exist'), "the PostgreSQL server has no such role; check the URL's user"),
    (re.compile("too many|remaining connection slots"), _BY_STATE["53300"][1]),
    (re.compile("starting up|shutting down|recovery"), "PostgreSQL is starting or stopping; try again soon"),
    (
        re.compile("session is (read-only|not read-only)|not in hot standby|server is in hot standby"),
        "no server of the URL is of the kind that target_session_attrs asks for",
    ),
    (
        re.compile("invalid .*(option|value|sslmode|integer)|service", re.IGNORECASE),
        "PostgreSQL's client does not know a parameter of the URL; check its spelling",
    ),
)


def refused(error: psycopg.Error) -> TreadleError:
    """Why there is no connection. The server's own words name users and hosts, so they are not repeated."""
    text = str(error)
    for pattern, message in _REFUSALS:
        if pattern.search(text):
            return StoreError(message)
    return Lost("no PostgreSQL server answers; check that it runs, and the host and port of the URL")


__all__ = ["Lost", "refused", "translated"]
