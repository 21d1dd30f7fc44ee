"""SQLite's errors as Treadle's: once, here, so that no caller ever sees a driver's exception."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

import apsw

from treadle.errors import (
    Busy,
    Closed,
    DatabaseCorrupt,
    DiskFull,
    ForkedHandle,
    InvariantBroken,
    ReadOnly,
    StoreError,
    TooLarge,
    TreadleError,
)

P = ParamSpec("P")
R = TypeVar("R")

NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED: Final = {errno.EROFS, errno.EACCES, errno.EPERM}

_DISK_FULL: Final = "the disk is full; nothing was changed. Make room and try again"
_READ_ONLY: Final = (
    "the database, its folder or the disk cannot be written; check their owner and permissions"
)
_CORRUPT: Final = "the database file is damaged; restore a backup, or salvage it with `sqlite3 FILE .recover`"
_BUSY: Final = "another program kept the database locked; nothing happened, try again"

_OWN: Final = ("no such column", "no such table: treadle_")
"""How SQLite complains where the definitions of our own tables are not what was made."""

_BY_CLASS: Final[dict[type[BaseException], tuple[type[TreadleError], str]]] = {
    apsw.FullError: (DiskFull, _DISK_FULL),
    apsw.BusyError: (Busy, _BUSY),
    apsw.LockedError: (Busy, _BUSY),
    apsw.ReadOnlyError: (ReadOnly, _READ_ONLY),
    apsw.PermissionsError: (ReadOnly, _READ_ONLY),
    apsw.CorruptError: (DatabaseCorrupt, _CORRUPT),
    apsw.NotADBError: (DatabaseCorrupt, "this file is not a Treadle database; choose another file"),
    apsw.TooBigError: (TooLarge, "a value is larger than SQLite can hold"),
    apsw.ConnectionClosedError: (Closed, "this database handle was closed; open the database again"),
    apsw.ForkingViolationError: (
        ForkedHandle,
        "this database was opened before a fork; open it again in the child process",
    ),
}


def _name(error: apsw.Error) -> str:
    """SQLite's name of the error, such as SQLITE_IOERR_FSYNC."""
    mappings = (apsw.mapping_extended_result_codes, apsw.mapping_result_codes)
    code = getattr(error, "extendedresult", getattr(error, "result", None))
    return next((str(names[code]) for names in mappings if code in names), type(error).__name__)


def translated(error: apsw.Error | UnicodeDecodeError, system_errno: int = 0) -> TreadleError:
    """The error to raise for one of SQLite's, or for text that is none; `system_errno` is the operating
    system's, if it is known."""
    if isinstance(error, UnicodeDecodeError) or str(error).startswith(_OWN):
        return DatabaseCorrupt(_CORRUPT)
    known = _BY_CLASS.get(type(error))
    if known is not None:
        return known[0](known[1])
    if isinstance(error, apsw.IOError | apsw.CantOpenError):
        if system_errno in NO_ROOM:
            return DiskFull(_DISK_FULL)
        if system_errno in _DENIED:
            return ReadOnly(_READ_ONLY)
        return StoreError(
            f"the disk failed ({_name(error)}); nothing was changed. Check the disk and try again"
        )
    # A constraint, a wrong statement, a connection used by two threads: our own mistakes.
    return InvariantBroken(f"internal invariant broken: SQLite answered {_name(error)}")


def guarded(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with SQLite's errors translated."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (apsw.Error, UnicodeDecodeError) as error:
            raise translated(error) from error

    return wrapper


def os_error(error: OSError, doing: str) -> TreadleError:
    """The error to raise for one of the operating system's; `doing` says what failed."""
    if error.errno in NO_ROOM:
        return DiskFull(f"{doing}: the disk is full. Make room and try again")
    if error.errno in _DENIED:
        return ReadOnly(
            f"{doing}: permission denied. Check the owner and permissions of the file and its folder"
        )
    return StoreError(f"{doing}: {error.strerror or type(error).__name__}")
