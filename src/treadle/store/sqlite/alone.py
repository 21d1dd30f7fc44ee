"""Holding a database's file alone, to put another in its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from treadle.errors import Busy
from treadle.store.sqlite.failures import translated
from treadle.store.sqlite.files import close_quietly, connect, locate


@contextmanager
def alone(name: str) -> Iterator[str]:
    """For the length of the block nobody else has the database open; gives the file's path.

    The write-ahead log is folded into the file first, so that the file alone is the database. Who opens the
    file during the block and writes once it has been moved is told so by SQLite. Raises `Busy` where another
    process, or another handle of this one, has it open.
    """
    place = locate(name, None)
    connection = connect(place)
    try:
        connection.set_busy_timeout(0)
        try:
            if connection.pragma("journal_mode", "delete") != "delete":
                raise apsw.BusyError("the write-ahead log is in use")
            connection.pragma("locking_mode", "exclusive")
            connection.execute("BEGIN EXCLUSIVE")
        except (apsw.BusyError, apsw.LockedError) as error:
            raise Busy("another process has the database open; stop it, and try again") from error
        except apsw.Error as error:
            raise translated(error) from error
        yield place.path
    finally:
        close_quietly(connection)
