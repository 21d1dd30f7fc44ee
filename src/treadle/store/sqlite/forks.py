"""What a forked child does with its parent's connections: nothing, ever.

SQLite forbids to use a connection across a fork, and closing counts as use: a lock that another
thread of the parent held at the fork would never be released in the child. So the child keeps the
connections alive without touching them and lets go of the writers' queue, whose lock would otherwise
outlive a killed parent.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterable
from typing import Final, Protocol

import apsw


class Forkable(Protocol):
    """Something open that a fork copies."""

    def connections(self) -> Iterable[apsw.Connection]:
        """All its connections."""

    def let_go(self) -> None:
        """Close, in the child, the file of the writers' queue."""


_open: Final[weakref.WeakSet[Forkable]] = weakref.WeakSet()


def watch(store: Forkable) -> None:
    """Take care of a store if the process forks."""
    _open.add(store)


def _in_child() -> None:
    for store in _open:
        for connection in store.connections():
            # One reference more than there are: neither the collector nor the interpreter's end closes it.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        store.let_go()


os.register_at_fork(after_in_child=_in_child)
