"""What an operator should know of a database's size: what takes room, and what would give some back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from treadle.engine import retained
from treadle.limits import MIB
from treadle.ports.sizes import Sized, Sizes
from treadle.ports.store import ReadTx
from treadle.retention.log import holding

LARGE: Final = 64 * MIB
"""From so many bytes on, what can go is worth a word."""

DAYS: Final = 90
"""A window to judge by, where an operator has stated none."""

_DAY: Final = 86_400_000_000
_SHARE: Final = 4
"""Free room pays for a vacuum from this part of the file on."""


class Advice(NamedTuple):
    """One thing to know, and what to do."""

    code: str
    what: str
    remedy: str


def advice(tx: ReadTx, now: int) -> Iterator[Advice]:
    """What is worth knowing at the time `now`, in microseconds; nothing of a store that is no file."""
    if not isinstance(tx, Sized):
        return
    sizes = tx.sizes()
    if sizes.log + sizes.receipts + sizes.events >= LARGE:
        yield from _history(tx, sizes, now)
    if sizes.free >= max(LARGE // _SHARE, sizes.total // _SHARE):
        yield Advice(
            "vacuum_pays",
            f"{_mib(sizes.free)} of {_mib(sizes.total)} in the file are free, for what is written next",
            "`treadle vacuum` gives them back; it needs room for a second copy meanwhile",
        )


def _history(tx: ReadTx, sizes: Sizes, now: int) -> Iterator[Advice]:
    """The log, its receipts and events: how big, and what a window of `DAYS` would free."""
    head, floor = tx.head().number, retained.floor(tx)
    bound = min(retained.last_before(tx, now - DAYS * _DAY), head - 1)
    records, (receipts, stubs) = head - floor, tx.count_receipts()
    old = sizes.log * max(0, bound - floor) // max(1, records)
    yield Advice(
        "log_size",
        f"of {_mib(sizes.total)} the log has {_mib(sizes.log)} in {records} records, {receipts} receipts and "
        f"{stubs} stubs {_mib(sizes.receipts)}, events {_mib(sizes.events)}; about {_mib(old)} of the log is "
        f"older than {DAYS} days",
        f"`treadle prune log --older-than {DAYS} --dry-run` says what would go, or state windows under "
        "[retention] for `treadle prune windows`",
    )
    held = holding(tx)
    if held is not None and held.number <= bound:
        yield Advice(
            "stream_holds_log",
            f"{held}, so the log cannot be pruned to a window of {DAYS} days",
            "let its consumers go on, give the stream a window, and sweep it",
        )


def _mib(size: int) -> str:
    return f"{size / MIB:.1f} MiB"
