"""The SQLite store: one file, one connection that writes, and as many that read as there are readers."""

from __future__ import annotations

import time
from contextlib import suppress
from types import TracebackType
from typing import Final

import apsw

from treadle.errors import StoreError, TreadleError, check
from treadle.ports.store import Capabilities
from treadle.store.handle import Lifetime, Turn, busy, deadline, remaining
from treadle.store.sqlite import files, schema
from treadle.store.sqlite.failures import os_error, translated
from treadle.store.sqlite.lock import FileLock
from treadle.store.sqlite.transactions import Shared, SqliteRead, SqliteWrite

CAPABILITIES: Final = Capabilities(durable=True, processes=True, server_clock=False)

_IDLE_READERS: Final = 8
_SLICE_MS: Final = 250
"""How long SQLite's own waiting goes on at a time, so that an interrupt is heard."""


class _ReadBlock:
    """`with store.read()`: begins a snapshot, and ends it."""

    __slots__ = ("_connection", "_store", "_tx")

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def __enter__(self) -> SqliteRead:
        self._connection, self._tx = self._store.enter_read()
        return self._tx

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.leave_read(self._connection, self._tx)


class _WriteBlock:
    """`with store.write()`: begins the write transaction, and rolls back what was not committed."""

    __slots__ = ("_store", "_timeout", "_tx")

    def __init__(self, store: SqliteStore, timeout: float | None) -> None:
        self._store = store
        self._timeout = timeout

    def __enter__(self) -> SqliteWrite:
        self._tx = self._store.enter_write(self._timeout)
        return self._tx

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.leave_write(self._tx)


class SqliteStore:
    """An open database file. Safe for any number of threads; other processes may have it open too."""

    capabilities = CAPABILITIES

    def __init__(self, place: files.Place, lock: FileLock, writer: apsw.Connection) -> None:
        self._place = place
        self._lock = lock
        self._writer = writer
        self._file = files.identity(place)
        self._life = Lifetime()
        self._turn = Turn()
        self._shared = Shared()
        self._idle: list[apsw.Connection] = []

    def read(self) -> _ReadBlock:
        """A snapshot for the length of the block."""
        return _ReadBlock(self)

    def write(self, timeout: float | None = None) -> _WriteBlock:
        """The write transaction; raises `Busy` after `timeout` seconds of waiting for other writers."""
        return _WriteBlock(self, timeout)

    def enter_read(self) -> tuple[apsw.Connection, SqliteRead]:
        self._life.check()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._new_reader()
        try:
            connection.execute("BEGIN")
            # The snapshot begins with the first read.
            connection.execute("SELECT 1 FROM treadle_log LIMIT 1").fetchall()
        except apsw.Error as error:
            self._put_back(connection)
            raise translated(error) from error
        return connection, SqliteRead(connection, self._shared)

    def _new_reader(self) -> apsw.Connection:
        try:
            return files.connect_reader(self._place)
        except apsw.Error as error:
            raise translated(error) from error

    def leave_read(self, connection: apsw.Connection, tx: SqliteRead) -> None:
        tx.end()
        if not self._life.forked:
            self._put_back(connection)

    def _put_back(self, connection: apsw.Connection) -> None:
        _roll_back(connection)
        if self._life.closed or len(self._idle) >= _IDLE_READERS or not connection.get_autocommit():
            connection.close(True)
        else:
            self._idle.append(connection)

    def enter_write(self, timeout: float | None) -> SqliteWrite:
        self._life.check()
        until = deadline(timeout)
        self._turn.take(until)
        try:
            self._life.check()
            self._lock.acquire(until)
        except BaseException:
            self._turn.give()
            raise
        try:
            self._check_file()
            self._begin(until)
            return SqliteWrite(self._writer, self._shared, self._commit)
        except BaseException:
            _roll_back(self._writer)
            self._release()
            raise

    def _check_file(self) -> None:
        """What is written to a file that has lost its name would be lost with it."""
        try:
            moved = files.identity(self._place) != self._file
        except FileNotFoundError:
            moved = True
        except OSError as error:
            raise os_error(error, "cannot look at the database file") from error
        if moved:
            raise StoreError(
                "the database file was moved, replaced or deleted while it was open; "
                "nothing was changed. Put it back, or open the database again"
            )

    def _begin(self, until: float | None) -> None:
        """Get SQLite's own write lock: only programs that do not use the writers' queue can be in the way."""
        while True:
            left = remaining(until)
            self._writer.set_busy_timeout(_SLICE_MS if left is None else min(_SLICE_MS, int(left * 1000)))
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                return
            except apsw.BusyError:
                if left is not None and left <= 0:
                    raise busy() from None
                time.sleep(0)
            except apsw.Error as error:
                raise translated(error, self._writer.system_errno) from error

    def _commit(self) -> None:
        check(not self._writer.get_autocommit(), "the transaction was committed before")
        try:
            self._writer.execute("COMMIT")
        except apsw.Error as error:
            failure = translated(error, self._writer.system_errno)
            _roll_back(self._writer)
            raise failure from error

    def leave_write(self, tx: SqliteWrite) -> None:
        tx.end()
        if self._life.forked:
            return
        try:
            _roll_back(self._writer)
        finally:
            self._release()

    def _release(self) -> None:
        self._lock.release()
        self._turn.give()

    def close(self) -> None:
        """Release everything; idempotent."""
        if self._life.forked or not self._life.end():
            return
        self._turn.take(None)
        try:
            while self._idle:
                self._idle.pop().close(True)
            self._writer.close(True)
            self._lock.close()
        finally:
            self._turn.give()


def _roll_back(connection: apsw.Connection) -> None:
    """End a transaction, if one is open; it may have ended itself at an error."""
    with suppress(apsw.Error):
        if not connection.get_autocommit():
            connection.execute("ROLLBACK")


def open_database(where: str, *, create: bool = True, vfs: str | None = None) -> SqliteStore:
    """Open the SQLite database in the file `where`; a missing one is created if `create`.

    `vfs` names the SQLite VFS that does the reading and writing; None is the system's. Raises
    `DatabaseMissing`, `DatabaseNewer`, `DatabaseCorrupt` (also for a file that is not ours), `ReadOnly`,
    `DiskFull` or `StoreError`.
    """
    place = files.locate(where, vfs)
    if not create and not files.exists(place):
        raise files.missing(place)
    try:
        lock = FileLock(place.lock)
    except OSError as error:
        raise os_error(error, f"cannot open {place.lock}") from error
    try:
        return _open_locked(place, lock, create)
    except BaseException:
        lock.close()
        raise


def _open_locked(place: files.Place, lock: FileLock, create: bool) -> SqliteStore:
    """Open with the lock held: one process creates or recovers, the others find it done."""
    lock.acquire(None)
    try:
        files.ensure_file(place, create)
        return SqliteStore(place, lock, _open_writer(place, create))
    finally:
        lock.release()


def _open_writer(place: files.Place, create: bool) -> apsw.Connection:
    connection: apsw.Connection | None = None
    try:
        connection = files.connect_writer(place)
        schema.prepare(connection, create)
    except apsw.Error as error:
        failure: TreadleError = translated(error, connection.system_errno if connection else 0)
        if connection is not None:
            connection.close(True)
        raise failure from error
    except BaseException:
        if connection is not None:
            connection.close(True)
        raise
    return connection
