"""Moving committed pages from the write-ahead log into the database file, beside the writers.

SQLite would do it inside some unlucky commit. Here a thread does it: it copies without a lock while
writers go on, and only when the log has become long does it take a writer's turn for the short rest,
and begins the log anew. If the thread does not come to that in time, whatever keeps it, the writer who made
the log too long does it in its own turn: so the log is bounded wherever no open snapshot needs it. Nothing
depends on it for durability: a commit is durable once the log is flushed.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Final

import apsw

from treadle import limits
from treadle.errors import TreadleError
from treadle.store.sqlite import files, schema
from treadle.store.sqlite.failures import NO_ROOM

PAGES: Final = 4_000
"""So many pages written make a checkpoint worth while (16 MB): many of them are the same page again."""

LONG_LOG: Final = 8_000
"""From so many pages on, the log is to begin anew."""

BUSY_PAGES: Final = 500
"""Once so many pages were written, the log is given room ahead."""

FRAME: Final = schema.PAGE_BYTES + 24
ROOM: Final = (LONG_LOG + PAGES) * FRAME
"""How much (49 MB): a commit flushes twice as fast when it does not make the file longer."""

_flush: Final = getattr(os, "fdatasync", os.fsync)  # macOS has but the latter
_PIECE: Final = bytes(1 * limits.MIB)
_PLENTY: Final = 20
"""Room is made ahead only while the disk has this many times as much left."""

LET_GO_MS: Final = 25
"""How long beginning the log anew waits for readers, most of whom are about to end."""

_SETTLE_MS: Final = 500
"""How long settling waits for open snapshots at a time."""


class Checkpointer:
    """A thread that checkpoints when it is woken, started when it is first needed.

    `turn` gives a writer's turn for the length of a block. `failed` is called when a flush failed.
    """

    def __init__(
        self,
        place: files.Place,
        turn: Callable[[], AbstractContextManager[None]],
        failed: Callable[[], None],
    ) -> None:
        self._place = place
        # Weak, so that a store that nobody holds any more ends, and this thread with it.
        self._turn = weakref.WeakMethod(turn)
        self._failed = weakref.WeakMethod(failed)
        self._connection: apsw.Connection | None = None
        self._written = 0
        self._length = 0  # pages that were written since the log began anew; who has a turn changes it
        self._tried = 0  # how long it was when a snapshot kept it from beginning anew
        self._stuck = (
            -1
        )  # how much of it could be moved then: as long as that is all, it is the same snapshot
        self._copying = threading.Lock()  # SQLite lets nobody wait for another's checkpoint
        self._has_room = place.vfs is not None  # another VFS's files are not ours to touch
        self._wake = threading.Event()
        self._ending = False
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._process = os.getpid()

    def wrote(self, pages: int) -> None:
        """Note that a commit wrote so many pages; wakes the thread when there is enough to do."""
        self._written += pages
        self._length += pages
        if self._written >= PAGES or (self._written >= BUSY_PAGES and not self._has_room):
            self._wake.set()
            if self._thread is None:
                self._start()

    @property
    def overdue(self) -> bool:
        """Whether the log is so long that the writer who has the turn must begin it anew."""
        most = LONG_LOG + 2 * PAGES
        return self._length >= max(most, self._tried + PAGES)

    def begin_anew(self, connection: apsw.Connection) -> int:
        """In a writer's turn: move what is left, and begin the log anew; its length where a snapshot keeps it
        from that, else 0. Raises apsw's errors."""
        with self._copying:
            pages, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            anew = moved != self._stuck and _restarted(connection)
        self._stuck = -1 if anew else moved
        self._length = 0 if anew else max(pages, self._length)
        self._tried = self._length
        return 0 if anew else pages

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self._ending:
                thread = threading.Thread(target=self._run, name="treadle-checkpoint", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    return  # no thread to be had now: the commit stands, and the next one tries again
                self._thread = thread

    def _run(self) -> None:
        while True:
            self._wake.wait()
            if self._ending:
                break
            self._wake.clear()
            try:
                if self._connection is None:
                    self._connection = files.connect_writer(self._place)
                self._work(self._connection)
            except apsw.BusyError:
                pass  # another process is at it
            except apsw.Error as error:
                self._report(error)
            except TreadleError:
                pass  # the store was closed meanwhile
        if self._connection is not None:
            files.close_quietly(self._connection)

    def _report(self, error: apsw.Error) -> None:
        system_errno = 0 if self._connection is None else self._connection.system_errno
        failed = self._failed()
        if failed is not None and leaves_doubt(error, system_errno):
            failed()

    def connections(self) -> list[apsw.Connection]:
        """The connection that it has, if it has one."""
        return [] if self._connection is None else [self._connection]

    def _work(self, connection: apsw.Connection) -> None:
        if not self._has_room:
            self._has_room = True
            self._make_room(connection, ROOM)
        if self._written >= PAGES:
            self._written = 0
            pages = self._checkpoint(connection)
            if pages >= LONG_LOG and self._place.vfs is None:
                self._make_room(connection, (pages + 2 * PAGES) * FRAME)

    def _checkpoint(self, connection: apsw.Connection) -> int:
        """Checkpoint; the length of the log if it cannot begin anew, because a snapshot is open, else 0."""
        with self._copying:  # not in a turn, and none is taken meanwhile: who has one waits for this
            pages, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        turn = self._turn()
        if pages >= LONG_LOG and moved and turn is not None:
            with turn():
                return self.begin_anew(connection)
        return 0 if moved == pages else pages

    def _make_room(self, connection: apsw.Connection, room: int) -> None:
        """Make the log's file as long as `room` bytes, by zeros, which mean nothing to SQLite.

        It is done piece by piece, between writers. Only who has SQLite's write lock makes the log longer, so
        nobody else does meanwhile.
        """
        with suppress(OSError):
            disk = os.statvfs(self._place.path)
            if disk.f_bavail * disk.f_frsize < _PLENTY * room:
                return
            file = os.open(self._place.path + "-wal", os.O_WRONLY | os.O_CLOEXEC)
            try:
                while self._grow(connection, file, room):
                    _flush(file)
            finally:
                os.close(file)

    def _grow(self, connection: apsw.Connection, file: int, room: int) -> bool:
        """Append one piece; false if there is room enough."""
        turn = self._turn()
        if turn is None or self._ending:
            return False
        with turn():
            connection.execute("BEGIN IMMEDIATE")
            try:
                size = os.fstat(file).st_size
                if size < room:
                    os.pwrite(file, _PIECE, size)
            finally:
                connection.execute("ROLLBACK")
        return size < room

    def end(self) -> None:
        """Stop the thread and wait for it. A forked child has none, and must not touch its locks."""
        if self._process != os.getpid():
            return
        self._ending = True
        with self._starting:
            thread = self._thread
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()


def _restarted(connection: apsw.Connection) -> bool:
    """Move what is left and begin the log anew; false where a reader that needs it does not end soon.

    Without waiting a little, readers that overlap one another could keep the log from it for ever. Nobody
    writes meanwhile, so new readers see the newest state, and once all is moved they find it in the file.
    """
    connection.set_busy_timeout(LET_GO_MS)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    except apsw.BusyError:
        return False
    finally:
        connection.set_busy_timeout(files.BUSY_MS)
    return True


def leaves_doubt(error: apsw.Error, system_errno: int) -> bool:
    """Whether, after this error, it is open what is on the disk.

    After a failed flush the system may have dropped what it was to flush, and a failed commit may be whole
    on the disk all the same. A write that was refused for want of room did certainly not happen.
    """
    if not isinstance(error, apsw.IOError):
        return False
    code = getattr(error, "extendedresult", None)
    refused = code == apsw.SQLITE_IOERR_WRITE and system_errno in NO_ROOM
    return not refused


def settle(connection: apsw.Connection) -> None:
    """After a failed flush: bring all that is committed to the disk, and end all doubt about the rest.

    A full checkpoint writes the committed pages anew (the system may have dropped what it could not
    flush) and flushes them. The frames of a commit that failed may still be whole in the log, and a
    crash would bring it to life: one small durable commit is written over them. Raises apsw's errors,
    `BusyError` while a snapshot that is older than the last commit is open.
    """
    connection.set_busy_timeout(_SETTLE_MS)
    pages, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
    if moved < pages:
        raise apsw.BusyError("the checkpoint is not complete")
    connection.execute("BEGIN IMMEDIATE")
    # It marks the first page as changed, though it says what stands there.
    connection.pragma("user_version", int(connection.pragma("user_version")))
    connection.execute("COMMIT")


def flush_recovered(connection: apsw.Connection) -> None:
    """At opening: flush what is in the log.

    A process may have been killed between writing a commit and flushing it. Recovery finds the commit
    whole, and would show as durable what the disk may not have. If others have the database open, the
    first of them saw to it.
    """
    with suppress(apsw.BusyError):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
