"""The writers' queue: an advisory lock on a file beside the database.

SQLite's own waiting is a sleeping back-off, in which a late comer can overtake for a long time. Here
writers of all processes wait in the kernel and are woken when their turn comes. SQLite's write lock
stays the authority; this one only decides who asks for it next.
"""

from __future__ import annotations

import fcntl
import os
import threading

from treadle.store.handle import busy, remaining


class FileLock:
    """An exclusive lock that processes share by the name of a file; held by one thread here at a time."""

    def __init__(self, path: str) -> None:
        """Open (or create, mode 0600) the lock's file. Raises `OSError`."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._waiter: _Waiter | None = None

    def acquire(self, until: float | None) -> None:
        """Wait for the lock until the monotonic time `until`, for ever if None; raises `Busy` after it."""
        if self._waiter is None and self._try():
            return
        if until is None and self._waiter is None:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        else:
            self._acquire_until(until)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _acquire_until(self, until: float | None) -> None:
        """Let a thread wait in the kernel, which has no waiting with an end, and wait for that thread.

        Who gives up leaves it waiting; the next to ask takes it over, so there is one at most.
        """
        waiter = self._waiter
        if waiter is None or not waiter.adopt():
            waiter = self._waiter = _Waiter(self._file)
        if waiter.wait(remaining(until)):
            self._waiter = None
            return
        raise busy()

    def release(self) -> None:
        """Let the next writer in."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file, and with it give up the lock; in a forked child the parent's lock stays.

        Closing twice is fine: by then the number may be another file's.
        """
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


class _Waiter:
    """A thread that waits for the lock on behalf of a caller with a deadline."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._state = threading.Lock()
        self._wanted = True
        self._over = threading.Event()
        self._error: OSError | None = None
        threading.Thread(target=self._run, name="treadle-write-lock", daemon=True).start()

    def _run(self) -> None:
        error = None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as failure:
            error = failure
        with self._state:
            self._error = error
            if not self._wanted and error is None:
                fcntl.flock(self._file, fcntl.LOCK_UN)
            self._over.set()

    def adopt(self) -> bool:
        """Take over a waiter that somebody gave up; false if it is over already."""
        with self._state:
            if self._over.is_set():
                return False
            self._wanted = True
            return True

    def wait(self, timeout: float | None) -> bool:
        """True when the lock is held; false when the caller gives up."""
        try:
            self._over.wait(timeout)
        except BaseException:
            if not self._leave():
                fcntl.flock(self._file, fcntl.LOCK_UN)
            raise
        return not self._leave()

    def _leave(self) -> bool:
        """Stop waiting; false if the lock is held already."""
        with self._state:
            if not self._over.is_set():
                self._wanted = False
                return True
            if self._error is not None:
                raise self._error
            return False
