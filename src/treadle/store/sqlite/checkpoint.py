"""Moving committed pages from the write-ahead log into the database file, beside the writers.

SQLite would do it inside some unlucky commit. Here a thread does it: it copies without a lock while
writers go on, and only when the log has become long does it take a writer's turn for the short rest,
after which the next writer begins the log anew. Nothing depends on it for durability: a commit is
durable once the log is flushed.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Final

import apsw

from treadle.errors import TreadleError
from treadle.store.sqlite import files, schema
from treadle.store.sqlite.failures import NO_ROOM

PAGES: Final = 4_000
"""So many pages written make a checkpoint worth while (16 MB): many of them are the same page again."""

PAGES_OF_SMALL: Final = 1_000
"""The same while commits are small: writing over a log that is short flushes faster than making it longer."""

SMALL_COMMIT: Final = 32
"""Commits of fewer pages than this, on average, are small."""

LONG_LOG: Final = 4
"""The log is to begin anew when it is so many times as long as what makes a checkpoint worth while."""


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
        self._commits = 0
        self._long = LONG_LOG * PAGES
        self._wake = threading.Event()
        self._ending = False
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._process = os.getpid()

    def wrote(self, pages: int) -> None:
        """Note that a commit wrote so many pages; wakes the thread when there is enough to do."""
        self._written += pages
        self._commits += 1
        if self._written >= PAGES_OF_SMALL:
            small = self._written < SMALL_COMMIT * self._commits
            if small or self._written >= PAGES:
                self._due(PAGES_OF_SMALL if small else PAGES)

    def _due(self, pages: int) -> None:
        self._written, self._commits = 0, 0
        self._long = LONG_LOG * pages
        self._wake.set()
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self._ending:
                self._thread = threading.Thread(target=self._run, name="treadle-checkpoint", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            if self._ending:
                break
            self._wake.clear()
            try:
                if self._connection is None:
                    self._connection = files.connect_writer(self._place)
                self._checkpoint(self._connection)
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

    def _checkpoint(self, connection: apsw.Connection) -> None:
        pages, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        turn = self._turn()
        if pages >= self._long and moved and turn is not None:
            with turn():
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

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
    # It marks the first page as changed, though it says what stands there.
    connection.execute(f"BEGIN IMMEDIATE; PRAGMA user_version = {schema.FORMAT}; COMMIT")


def flush_recovered(connection: apsw.Connection) -> None:
    """At opening: flush what is in the log.

    A process may have been killed between writing a commit and flushing it. Recovery finds the commit
    whole, and would show as durable what the disk may not have. If others have the database open, the
    first of them saw to it.
    """
    with suppress(apsw.BusyError):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
