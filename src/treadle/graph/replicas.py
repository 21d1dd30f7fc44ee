"""Copies of the index's store to try updates in.

An update of several operations is tried in a store before its delta is known.  A store lets one writer in at
a time and cannot be told to stop, so trying it in the index's own store would keep every commit waiting for
the slowest pattern.  It is tried in a replica instead, which is made when it is first needed and then follows
the index delta by delta.  An update that was given up keeps its replica until it ends; others get another.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pyoxigraph as ox

from treadle.errors import SparqlError
from treadle.graph.delta import Delta
from treadle.graph.evaluation import Stopped, given_up
from treadle.graph.writing import write_delta

REPLICAS: Final = 2
_FEW: Final = 10_000
_WAIT_SECONDS: Final = 0.01


class Replica:
    """A copy of a store.

    Attributes:
        store: the copy; whoever borrows it takes back what it writes.
        spent: how many statements were written and are dead now; the borrower adds its own.
    """

    def __init__(self, size: int) -> None:
        self.store = ox.Store()
        self.spent = 0
        self._most = max(_FEW, size // 2)
        self._pending: list[Delta] = []
        self._behind = 0

    @property
    def worn(self) -> bool:
        """Whether a new copy would serve better: much of it is dead, or it is far behind."""
        return self.spent + self._behind > self._most

    def follow(self, delta: Delta) -> None:
        """Notes a delta to be applied before the next use."""
        self._pending.append(delta)
        self._behind += len(delta.removed) + len(delta.added)

    def catch_up(self) -> None:
        """Applies what was noted; a delta that the copy holds already does no harm."""
        pending, self._pending = self._pending, []
        self.spent, self._behind = self.spent + self._behind, 0
        for delta in pending:
            write_delta(self.store, delta)


class Replicas:
    """The replicas of one index, at most `REPLICAS` in use; one is kept for the next user."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._idle: Replica | None = None
        self._used: list[Replica] = []

    def follow(self, delta: Delta) -> None:
        """Notes a delta of the index for every replica, before readers of the index can rely on it."""
        with self._change:
            for replica in self._used:
                replica.follow(delta)
            if self._idle is not None:
                self._idle.follow(delta)
                self._idle = None if self._idle.worn else self._idle

    @contextmanager
    def borrowed(self, source: ox.Store, size: int, stopped: Stopped) -> Iterator[Replica]:
        """A replica in the state of the index.

        Args:
            source: the index's store.
            size: how many statements it has, roughly.
            stopped: asked while waiting whether to give up.

        Raises:
            SparqlError: code `deadline`, `stopped` said so.
        """
        replica, new = self._take(size, stopped)
        fit = False
        try:
            if new:
                _copy(source, replica.store)
            with self._change:
                replica.catch_up()
            fit = True
            yield replica
        except SparqlError:
            raise
        except BaseException:
            fit = False  # who knows what it holds
            raise
        finally:
            self._give_back(replica, fit=fit)

    def _take(self, size: int, stopped: Stopped) -> tuple[Replica, bool]:
        """A replica for one user, and whether it is still empty."""
        with self._change:
            while True:
                new = self._idle is None
                if not new or len(self._used) < REPLICAS:
                    replica = self._idle or Replica(size)
                    self._idle = None
                    self._used.append(replica)
                    return replica, new
                if stopped():
                    raise given_up()
                self._change.wait(_WAIT_SECONDS)

    def _give_back(self, replica: Replica, *, fit: bool) -> None:
        with self._change:
            self._used.remove(replica)
            if fit and not replica.worn and self._idle is None:
                self._idle = replica
            self._change.notify()


def _copy(source: ox.Store, target: ox.Store) -> None:
    target.bulk_extend(source.quads_for_pattern(None, None, None))
    for name in source.named_graphs():
        target.add_graph(name)
