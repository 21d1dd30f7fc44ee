"""What every store's handle does alike: refuse use after close or fork, let writers in one by one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence

from treadle.errors import Busy, Closed, ForkedHandle, InvariantBroken, check
from treadle.model.types import Optional
from treadle.ports.store import Head, LogEntry, Table

NO_RECORD = Head(0, 0, bytes(32))
"""The head of a database that has no log record yet."""


class Lifetime:
    """Whether a handle may be used: it was not closed, and this is the process that opened it."""

    __slots__ = ("_closed", "_process")

    def __init__(self) -> None:
        self._closed = False
        self._process = os.getpid()

    def check(self) -> None:
        """Raise `Closed` or `ForkedHandle` if the handle must not be used."""
        if self._process != os.getpid():
            raise ForkedHandle("this database was opened before a fork; open it again in the child process")
        if self._closed:
            raise Closed("this database handle was closed; open the database again")

    @property
    def forked(self) -> bool:
        return self._process != os.getpid()

    @property
    def closed(self) -> bool:
        return self._closed

    def end(self) -> bool:
        """Mark the handle as closed; false if it was already."""
        first = not self._closed
        self._closed = True
        return first


def deadline(timeout: float | None) -> float | None:
    """The monotonic time in seconds at which `timeout` ends, or None."""
    return None if timeout is None else time.monotonic() + timeout


def remaining(until: float | None) -> float | None:
    """Seconds until the deadline, never negative; None for no deadline."""
    return None if until is None else max(0.0, until - time.monotonic())


def busy() -> Busy:
    """The error of a writer whose turn did not come in time."""
    return Busy("another writer held the database for the whole time given; nothing happened, try again")


class Turn:
    """One writer at a time among the threads of this process."""

    __slots__ = ("_lock", "_owner")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    def take(self, until: float | None) -> None:
        """Wait for the turn; raises `Busy` when the deadline passes first."""
        check(self._owner != threading.get_ident(), "this thread already has a write transaction open")
        left = remaining(until)
        if not self._lock.acquire(timeout=-1 if left is None else left):
            raise busy()
        self._owner = threading.get_ident()

    def give(self) -> None:
        """End the turn."""
        self._owner = None
        self._lock.release()

    @property
    def mine(self) -> bool:
        """True in the thread whose turn it is."""
        return self._owner == threading.get_ident()


def ended() -> Closed:
    """The error of a transaction that is used after its block."""
    return Closed("this transaction has ended; use it only inside its `with` block")


class Ended:
    """Stands where a transaction's resources were once its block has been left: every use raises `Closed`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        raise ended()


ENDED = Ended()


def no_table(table: Table) -> InvariantBroken:
    """The error of a statement about a table that was never created."""
    return InvariantBroken(f"internal invariant broken: no table {table.name} was created")


def check_follows(head: Head, entries: Sequence[LogEntry]) -> None:
    """Raise unless the log records go on where the head stands, without a gap."""
    numbers = [entry.number for entry in entries]
    expected = list(range(head.number + 1, head.number + 1 + len(entries)))
    check(numbers == expected, "log records follow one another without a gap")


def check_successor(before: Table, after: Table) -> None:
    """Raise unless `after` has the columns of `before` and more optional ones, and other indexes at most."""
    same = before._replace(columns=(), indexes=()) == after._replace(columns=(), indexes=())
    check(same, f"table {before.name} may gain columns and indexes, nothing else")
    keys = before.columns[: before.key_count] == after.columns[: after.key_count]
    check(keys and set(before.columns) <= set(after.columns), f"the columns of table {before.name} changed")
    added = set(after.columns) - set(before.columns)
    check(all(isinstance(column.type, Optional) for column in added), "an added column is optional")
    kept = {spec.name: before.shape(spec) for spec in before.indexes}
    check(
        all(kept.get(spec.name, after.shape(spec)) == after.shape(spec) for spec in after.indexes),
        f"an index of table {before.name} changed",
    )


def check_built(before: Table, built: Table, after: Table) -> None:
    """Raise unless the hidden table `built` may take the place of `before` as `after`."""
    same = before._replace(columns=(), indexes=(), prefix="") == after._replace(
        columns=(), indexes=(), prefix=""
    )
    check(same, f"table {before.name} may get other columns and indexes, nothing else")
    form = built._replace(name=after.name, tombstones=after.tombstones, indexes=after.indexes)
    check(form == after, f"what was built for table {after.name} has its form")
    check(set(after.indexes) <= set(built.indexes), f"what was built for table {after.name} has its indexes")
    check(before.prefix != after.prefix, f"the new indexes of table {after.name} have names of their own")
