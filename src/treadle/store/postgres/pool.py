"""Connections for readers: as many as the URL allows, made when they are needed, kept for the next."""

from __future__ import annotations

import threading
from contextlib import suppress

from treadle.errors import Busy
from treadle.store.handle import Lifetime
from treadle.store.postgres.places import Place
from treadle.store.postgres.sessions import Session, connect


class Readers:
    """The readers' connections of one handle. Any number of threads may take one."""

    __slots__ = ("_free", "_idle", "_life", "_place")

    def __init__(self, place: Place, life: Lifetime) -> None:
        self._place = place
        self._life = life
        self._idle: list[Session] = []
        self._free = threading.BoundedSemaphore(place.readers)

    def take(self) -> tuple[Session, bool]:
        """A connection in no transaction, and whether it is a new one; raises `Busy` where none gets free."""
        if not self._free.acquire(timeout=self._place.wait):
            raise Busy(
                f"all {self._place.readers} connections of this handle were reading for "
                f"{self._place.wait:g} s; nothing happened. Try again, or raise pool in the URL"
            )
        try:
            with suppress(IndexError):
                return self._idle.pop(), False
            return connect(self._place), True
        except BaseException:
            self._free.release()
            raise

    def give(self, session: Session) -> None:
        """Take a connection back; one that broke, or that comes after the end, is closed."""
        session.roll_back()
        if session.idle and not self._life.closed:
            self._idle.append(session)
        else:
            session.close()
        self._free.release()
        if self._life.closed:  # while it was put back
            self.close()

    def close(self) -> None:
        """Close every idle connection."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()
