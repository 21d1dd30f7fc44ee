"""Ordered maps with snapshots: the ground on which the memory store stands.

Each key holds a chain of versions, newest first, each marked with the sequence number of the commit
that wrote it. A snapshot at sequence s sees, per key, the newest version that is not later than s. One
writer adds versions marked s + 1, which no reader sees until the commit moves the sequence on.

Readers take no lock. They rely on single operations of `dict` and `list` being atomic and on nodes
never changing once they are reachable.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any, Final, Generic, NamedTuple, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_CHUNK: Final = 256


class Node(NamedTuple):
    """One version: `value` is None where the key was removed."""

    sequence: int
    value: Any
    older: Node | None


def _trimmed(node: Node | None, floor: int) -> Node | None:
    """The chain without the versions that no snapshot at `floor` or later can see."""
    if node is None:
        return None
    if node.sequence <= floor:
        return node if node.older is None else node._replace(older=None)
    return node._replace(older=_trimmed(node.older, floor))


class VersionedMap(Generic[K, V]):
    """A map from sortable keys to values that are not None."""

    __slots__ = ("_gone", "_nodes", "_order")

    def __init__(self) -> None:
        self._nodes: dict[K, Node] = {}
        self._order: list[
            Any
        ] = []  # grows in place, shrinks by being replaced: a reader may be in the middle
        self._gone: set[K] = set()  # listed, but absent from the newest version on

    def get(self, key: K, sequence: int) -> V | None:
        """The value of `key` in the snapshot `sequence`."""
        node = self._nodes.get(key)
        while node is not None and node.sequence > sequence:
            node = node.older
        return None if node is None else node.value

    def items(self, sequence: int, start: K | None = None, after: K | None = None) -> Iterator[tuple[K, V]]:
        """Keys and values of a snapshot in key order, from `start` on or after `after`."""
        order = self._order
        at = bisect_left(order, start) if start is not None else 0
        last = after
        if last is not None:
            at = bisect_right(order, last)
        while chunk := order[at : at + _CHUNK]:
            for key in chunk:
                # An insertion between the search and the slice shows the last keys once more.
                if last is None or key > last:
                    last = key
                    value = self.get(key, sequence)
                    if value is not None:
                        yield key, value
            at = bisect_right(order, last)

    def items_down(self, sequence: int, below: K) -> Iterator[tuple[K, V]]:
        """Keys and values of a snapshot in falling key order, from before `below` on."""
        order = self._order
        last = below
        while at := bisect_left(order, last):
            chunk = order[max(0, at - _CHUNK) : at]
            if bisect_left(order, last) != at:
                continue  # an insertion in between has moved the greatest keys out of the slice
            for key in reversed(chunk):
                value = self.get(key, sequence)
                if value is not None:
                    yield key, value
            last = chunk[0]

    def last(self, sequence: int) -> V | None:
        """The value of the greatest key of a snapshot."""
        for key in reversed(list(self._order)):
            value = self.get(key, sequence)
            if value is not None:
                return value
        return None

    def put(self, key: K, value: V | None, sequence: int, floor: int) -> bool:
        """Write, as the one writer, a version for the commit `sequence`; None removes the key.

        `floor` is the oldest sequence of any snapshot in use. True if it is the commit's first for this key.
        """
        node = self._nodes.get(key)
        first = node is None or node.sequence != sequence
        older = node.older if node is not None and not first else node
        if node is None and not self._listed(key):
            insort(self._order, key)
        self._nodes[key] = Node(sequence, value, _trimmed(older, floor))
        if value is None:
            self._gone.add(key)
        else:
            self._gone.discard(key)
        return first

    def _listed(self, key: K) -> bool:
        at = bisect_left(self._order, key)
        return at < len(self._order) and bool(self._order[at] == key)

    def undo(self, key: K) -> None:
        """Take back the newest version of `key`."""
        older = self._nodes[key].older
        if older is None:
            del self._nodes[key]
        else:
            self._nodes[key] = older
        if older is None or older.value is None:
            self._gone.add(key)
        else:
            self._gone.discard(key)

    def sweep(self, floor: int) -> None:
        """Now and then, forget keys that are absent from all snapshots at `floor` and later."""
        if 8 * len(self._gone) < len(self._order) + _CHUNK:
            return
        gone = {key for key in self._gone if key not in self._nodes or self._nodes[key].sequence <= floor}
        for key in gone:
            self._nodes.pop(key, None)
        self._order = [key for key in self._order if key not in gone]
        self._gone -= gone
