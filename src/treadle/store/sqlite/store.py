"""The SQLite store: one file, one connection that writes, and as many that read as there are readers."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final

import apsw

from treadle.errors import Busy, OutcomeUnknown, StoreError, TreadleError, check
from treadle.ports.store import Capabilities
from treadle.store.handle import Lifetime, Turn, busy, deadline, remaining
from treadle.store.sqlite import copying, files, forks, schema
from treadle.store.sqlite.checkpoint import Checkpointer, flush_recovered, leaves_doubt, settle
from treadle.store.sqlite.failures import os_error, translated
from treadle.store.sqlite.lock import FileLock
from treadle.store.sqlite.transactions import Shared, SqliteRead, SqliteWrite

CAPABILITIES: Final = Capabilities(durable=True, processes=True, server_clock=False)

_IDLE_READERS: Final = 8
_SLICE_MS: Final = 250
"""How long SQLite's own waiting goes on at a time, so that an interrupt is heard."""


_BRIEF: Final = 1.0
"""Seconds that an act beside the transactions waits for its turn."""


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
        self._readers: set[apsw.Connection] = set()
        self._doubtful = False
        self._checkpointer = Checkpointer(place, self._brief_turn, self._doubt)
        weakref.finalize(self, self._checkpointer.end)
        forks.watch(self)

    @property
    def path(self) -> str:
        """The database's file."""
        return self._place.path

    def read(self) -> _ReadBlock:
        """A snapshot for the length of the block."""
        return _ReadBlock(self)

    def write(self, timeout: float | None = None) -> _WriteBlock:
        """The write transaction; raises `Busy` after `timeout` seconds of waiting for other writers."""
        return _WriteBlock(self, timeout)

    # Readers.

    def enter_read(self) -> tuple[apsw.Connection, SqliteRead]:
        self._life.check()
        if self._doubtful:
            self._settle_first()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._new_reader()
        try:
            connection.execute("BEGIN")
            # The snapshot begins with the first read.
            connection.execute("SELECT 1 FROM treadle_log LIMIT 1").fetchall()
        except apsw.Error as error:
            failure = translated(error, connection.system_errno)
            self._put_back(connection)
            raise failure from error
        return connection, SqliteRead(connection, self._shared)

    def _new_reader(self) -> apsw.Connection:
        connection = files.connect_reader(self._place)
        self._readers.add(connection)
        return connection

    def leave_read(self, connection: apsw.Connection, tx: SqliteRead) -> None:
        if not self._life.forked:
            tx.end()
            self._put_back(connection)

    def _put_back(self, connection: apsw.Connection) -> None:
        _roll_back(connection)
        # An iterator that was left in the middle keeps its snapshot open, and with it this connection's.
        spoiled = connection.txn_state("main") != apsw.SQLITE_TXN_NONE
        if spoiled or self._life.closed or len(self._idle) >= _IDLE_READERS:
            self._close_reader(connection)
            return
        self._idle.append(connection)
        if self._life.closed:  # while it was put back
            self._close_idle()

    def _close_reader(self, connection: apsw.Connection) -> None:
        self._readers.discard(connection)
        files.close_quietly(connection)

    def _close_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._close_reader(self._idle.pop())

    # The writer.

    def enter_write(self, timeout: float | None) -> SqliteWrite:
        self._life.check()
        until = deadline(timeout)
        self._take_turn(until)
        try:
            self._check_file()
            if self._doubtful:
                self._settle()
            self._begin(until)
            return SqliteWrite(self._writer, self._shared, self._commit)
        except BaseException:
            _roll_back(self._writer)
            self._give_turn()
            raise

    def _take_turn(self, until: float | None) -> None:
        """Wait for all other writers, of this process and of others."""
        self._turn.take(until)
        try:
            self._life.check()
            self._lock.acquire(until)
        except OSError as error:
            self._turn.give()
            raise os_error(error, "cannot wait for the write lock") from error
        except BaseException:
            self._turn.give()
            raise

    def _give_turn(self) -> None:
        try:
            self._lock.release()
        finally:
            self._turn.give()

    @contextmanager
    def _brief_turn(self) -> Iterator[None]:
        """A writer's turn without a transaction; raises `Busy` when it does not come soon."""
        self._take_turn(deadline(_BRIEF))
        try:
            yield
        finally:
            self._give_turn()

    def _check_file(self) -> None:
        """What is written to a file that has lost its name would be lost with it."""
        try:
            found = os.stat(self._place.path)
            moved = (found.st_dev, found.st_ino) != self._file
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
            except apsw.Error as error:
                raise translated(error, self._writer.system_errno) from error

    def _commit(self) -> None:
        check(not self._writer.get_autocommit(), "the transaction was committed before")
        try:
            self._writer.execute("COMMIT")
        except apsw.Error as error:
            system_errno = self._writer.system_errno
            failure = translated(error, system_errno)
            _roll_back(self._writer)
            if leaves_doubt(error, system_errno):
                self._doubt()
                self._settle_or_unknown(failure)
            raise failure from error
        self._checkpointer.wrote(self._writer.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE, True)[0])

    def leave_write(self, tx: SqliteWrite) -> None:
        if self._life.forked:
            return
        tx.end()
        try:
            _roll_back(self._writer)
            if self._checkpointer.overdue and not self._doubtful:
                self._begin_log_anew()
        finally:
            self._give_turn()

    def _begin_log_anew(self) -> None:
        """The thread for it did not come to it in time. What is committed stays durable whatever happens."""
        try:
            self._checkpointer.begin_anew(self._writer)
        except apsw.BusyError:
            pass  # another process is at it
        except apsw.Error as error:
            if leaves_doubt(error, self._writer.system_errno):
                self._doubt()

    # After a failed flush.

    def _doubt(self) -> None:
        """A flush failed: nothing is answered until `_settle` has brought everything to the disk."""
        self._doubtful = True

    def _settle(self) -> None:
        """Flush all that is committed, and overwrite what a failed commit may have left in the log.

        To be called in a writer's turn, outside a transaction. Raises `StoreError` while it cannot be done.
        """
        try:
            settle(self._writer)
        except apsw.BusyError as error:
            _roll_back(self._writer)
            raise Busy(
                "a flush to the disk failed; answers wait until open snapshots have ended and all is flushed"
            ) from error
        except apsw.Error as error:
            _roll_back(self._writer)
            raise StoreError(
                "a flush to the disk failed, and so did the next; nothing is answered until one succeeds. "
                "Check the disk"
            ) from error
        self._doubtful = False

    def _settle_first(self) -> None:
        """Settle before something is answered to a reader."""
        if self._turn.mine:
            raise StoreError("a flush to the disk failed; leave the write transaction, then ask again")
        with self._brief_turn():
            if self._doubtful:
                self._settle()

    def _settle_or_unknown(self, failure: TreadleError) -> None:
        """Find out whether a failed commit is certainly undone; raises `OutcomeUnknown` if not."""
        try:
            self._settle()
        except TreadleError as error:
            raise OutcomeUnknown(
                "the disk failed while the commit was being flushed; repeat the same key to learn the outcome"
            ) from error

    def checkpoint(self) -> None:
        """Move what is committed into the database file now, as far as open snapshots allow.

        It happens by itself; call it before the file is copied by other means. Raises `Busy` when another
        checkpoint is going on, or the error of the disk.
        """
        self._life.check()
        with self._brief_turn():
            if self._doubtful:
                self._settle()
            try:
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            except apsw.Error as error:
                if leaves_doubt(error, self._writer.system_errno):
                    self._doubt()
                raise translated(error, self._writer.system_errno) from error

    def copy(self, target: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Write one snapshot into the new file `target`; other processes and threads go on meanwhile.

        `progress` is called with pages copied and in all. Raises `DiskFull`, `StoreError` or `OSError`.
        """
        with self.read() as tx:
            copying.copy(tx.connection, target, progress)

    def vacuum(self, timeout: float | None = None) -> tuple[int, int]:
        """Write the database anew without its free pages, and shorten the file; its bytes before and after.

        It needs room for a second copy while it goes on, and is all or nothing. Snapshots that are open keep
        the old file's length; it shrinks when they have ended. Raises `Busy`, `DiskFull` or `StoreError`.
        """
        self._life.check()
        self._take_turn(deadline(timeout))
        try:
            self._check_file()
            if self._doubtful:
                self._settle()
            before = os.stat(self._place.path).st_size
            self._rewrite()
            return before, os.stat(self._place.path).st_size
        finally:
            self._give_turn()

    def _rewrite(self) -> None:
        try:
            self._writer.execute("VACUUM")
            with suppress(apsw.BusyError):  # an open snapshot: the next checkpoint does it
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as error:
            if leaves_doubt(error, self._writer.system_errno):
                self._doubt()
            raise translated(error, self._writer.system_errno) from error

    # The end.

    def connections(self) -> list[apsw.Connection]:
        """All open connections."""
        return [self._writer, *self._readers, *self._checkpointer.connections()]

    def let_go(self) -> None:
        """In a forked child: leave the writers' queue."""
        self._lock.close()

    def close(self) -> None:
        """Release everything; idempotent. Open snapshots end by themselves."""
        if self._life.forked or self._life.closed:
            return
        check(not self._turn.mine, "the database is closed inside a write transaction")
        self._turn.take(None)
        first = self._life.end()
        self._turn.give()
        if first:
            self._checkpointer.end()
            self._close_idle()
            files.close_quietly(self._writer)
            self._lock.close()


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
    if files.exists(place) and not os.path.exists(place.lock):
        _check_ours(place)
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
    connection = files.connect_writer(place)
    with files.being_opened(connection):
        schema.prepare(connection, create)
        flush_recovered(connection)
    return connection


def _check_ours(place: files.Place) -> None:
    """Refuse a file that is not ours before anything is put beside it."""
    connection = files.connect(place)
    with files.being_opened(connection):
        schema.check_marks(connection)
    files.close_quietly(connection)
