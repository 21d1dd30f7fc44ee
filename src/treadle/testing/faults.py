"""A store that fails on demand, to see what your program does then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from treadle.errors import Busy, DiskFull, OutcomeUnknown, StoreError, TreadleError
from treadle.ports.store import Capabilities, ReadTx, Store, WriteTx


def disk_failed() -> TreadleError:
    """What a store raises when its disk fails: nothing happened."""
    return StoreError("the disk failed on purpose; nothing was changed")


def answer_lost() -> TreadleError:
    """What a store raises when nobody can say whether a commit happened."""
    return OutcomeUnknown("the answer was lost on purpose; repeat the same key to learn the outcome")


def disk_full() -> TreadleError:
    """What a store raises when there is no room: nothing happened."""
    return DiskFull("the disk is full on purpose; nothing was changed")


def busy() -> TreadleError:
    """What a store raises when somebody else keeps it for too long: nothing happened."""
    return Busy("another writer kept the database on purpose; nothing was changed")


class Crashed(BaseException):
    """The process that ran this has ended, as far as the test is concerned.

    Raised by a store after `FaultStore.crash`, or by a handler that is to die in the middle: nothing that
    would tidy up after an error runs. `reopen` then gives the database as the next process finds it.
    """


class FaultStore:
    """A store around another one, whose n-th operation from `arm` on fails.

    An operation is entering a `read` or `write` block, or calling a method of the transaction, `commit`
    among them. `seen` lists the names of those since `arm`, `fired` says whether one failed.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.arm(None)

    def arm(
        self, at: int | str | None, error: Callable[[], Exception] = disk_failed, *, afterwards: bool = False
    ) -> None:
        """Let operation `at` (from 1, or the first of a name, such as "commit") raise `error()`.

        It is not done then, or, with `afterwards`, it is done and raises.
        None lets nothing fail. A commit that is done and then raises should raise `answer_lost`.
        """
        self._at = at
        self._error: Callable[[], BaseException] = error
        self._afterwards = afterwards
        self._crashing = False
        self.seen: list[str] = []
        self.fired = False

    def crash(self, at: int | str = "commit", *, afterwards: bool = False) -> None:
        """Let the process die in operation `at`, not done or, with `afterwards`, done: it raises `Crashed`.

        So does every operation after it, until `reopen`, or `arm`.
        """
        self.arm(None)
        self._at, self._error, self._afterwards, self._crashing = at, Crashed, afterwards, True

    def perform(self, name: str, act: Callable[[], Any]) -> Any:
        """Do an operation, or fail it."""
        self.seen.append(name)
        if self.fired and self._crashing:
            raise Crashed
        due = not self.fired and self._at in (len(self.seen), name)
        self.fired |= due
        if due and not self._afterwards:
            raise self._error()
        result = act()
        if due:
            raise self._error()
        return result

    @property
    def capabilities(self) -> Capabilities:
        return self._store.capabilities

    @contextmanager
    def read(self) -> Iterator[ReadTx]:
        """A snapshot whose methods count."""
        self.perform("read", lambda: None)
        with self._store.read() as tx:
            yield cast(ReadTx, _Counted(self, tx))

    @contextmanager
    def write(self, timeout: float | None = None) -> Iterator[WriteTx]:
        """A write transaction whose methods count."""
        self.perform("write", lambda: None)
        with self._store.write(timeout) as tx:
            yield cast(WriteTx, _Counted(self, tx))

    def copy(self, target: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy the store within; an operation like the others."""
        self.perform("copy", lambda: self._store.copy(target, progress))

    def vacuum(self, timeout: float | None = None) -> tuple[int, int]:
        """Vacuum the store within; an operation like the others."""
        done: tuple[int, int] = self.perform("vacuum", lambda: self._store.vacuum(timeout))
        return done

    def close(self) -> None:
        """Close the store within; it never fails."""
        self._store.close()


class _Counted:
    """A transaction whose every method is an operation of its store."""

    __slots__ = ("_store", "_tx")

    def __init__(self, store: FaultStore, tx: ReadTx) -> None:
        self._store = store
        self._tx = tx

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._tx, name)
        return lambda *args, **kwargs: self._store.perform(name, lambda: method(*args, **kwargs))
