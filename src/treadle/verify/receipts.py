"""Receipts in a history: each names its record, is a stub, or is gone, exactly as the prune records say."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any
from zlib import crc32

from treadle.engine import retained
from treadle.model import canonical
from treadle.model.record import LogRecord
from treadle.ports.store import ReadTx


class ReceiptCheck:
    """Follows the idempotency keys of a history. Each method gives what does not agree, as sentences.

    `keys` are the numbers of the records that have a key, in order, `sums` the CRC-32 of their identities;
    `pruned` and `dropped` the records up to
    which receipts became stubs and stubs were dropped, as far as the log has said it.
    """

    def __init__(self, tx: ReadTx) -> None:
        self._tx = tx
        self._pruned = retained.receipts(tx)
        self._dropped = retained.stubs(tx)
        self.keys = array("Q")
        self.sums = array("Q")
        self._begun = 0
        self.pruned = 0
        self.dropped = 0

    def begin(self, pruned: int, dropped: int) -> None:
        """Go on from a state that a log begins with, of which `add` tells the keys."""
        self.pruned, self.dropped = pruned, dropped

    def add(self, *keys: int) -> None:
        """Keys of records that are no part of the log any more: a number, a sum, and so on."""
        self.keys.extend(keys[::2])
        self.sums.extend(keys[1::2])
        self._begun = len(self.keys)

    def after(self, number: int) -> Iterator[tuple[int, int]]:
        """The keys of records after a number, each with its sum."""
        first = bisect_right(self.keys, number)
        return zip(self.keys[first:], self.sums[first:], strict=True)

    def judge(self, stored: LogRecord) -> Iterator[str]:
        """A record: its own receipt, and what it says was pruned."""
        if stored.identity is not None:
            self.keys.append(stored.number)
            self.sums.append(crc32(stored.identity))
            if not self._right(stored.number, self._tx.receipts([stored.identity])[0]):
                yield "its idempotency receipt is missing or names another record"
        if stored.kind == retained.KIND and stored.name in ("receipts", "stubs"):
            yield from self._prune(stored)

    def _right(self, number: int, found: int | None) -> bool:
        if number <= self._dropped:
            return found is None or abs(found) > number  # the key may have executed again
        return found == (-number if number <= self._pruned else number)

    def _prune(self, stored: LogRecord) -> Iterator[str]:
        body: Any = canonical.decode(stored.body or b"")
        through, keys = body["through"], body["keys"]
        if stored.name == "receipts":
            before, limit = self.pruned, stored.number - 1
            self.pruned = through
        else:
            before, limit = self.dropped, self.pruned
            self.dropped = through
        if not before < through <= limit:
            yield f"it cannot have pruned {stored.name} up to record {through}"
        elif self._between(before, through) != keys:
            yield f"it did not prune as many {stored.name} as it says"

    def _between(self, before: int, through: int) -> int:
        """How many of the records after `before` up to `through` have a key."""
        return bisect_right(self.keys, through) - bisect_right(self.keys, before)

    def rest(self) -> Iterator[str]:
        """After the last record: the marks, and how many receipts and stubs there are."""
        if (self._pruned, self._dropped) != (self.pruned, self.dropped):
            yield "receipts are marked as pruned up to another record than the log says"
        stubs = self._between(self.dropped, self.pruned)
        receipts = len(self.keys) - bisect_right(self.keys, self.pruned)
        yield from self._without_records()
        found = self._tx.count_receipts()
        if found != (receipts, stubs):
            yield f"{found[0]} receipts and {found[1]} stubs are stored, the log gives {receipts} and {stubs}"

    def _without_records(self) -> Iterator[str]:
        """The stubs whose records are gone: only the state that the log begins with vouches for them."""
        if not self._begun:
            return
        known = dict(zip(self.keys[: self._begun], self.sums, strict=False))
        for identity, number in self._tx.stubs(self.keys[self._begun - 1]):
            if known.get(number) != crc32(identity):
                yield f"the stub of record {number}, which was pruned, is not that of its key"
                return
