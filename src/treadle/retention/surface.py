"""What an operator says: let go of receipts, of stubs, of the beginning of the log."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from treadle.access.caller import Caller
from treadle.engine import retained
from treadle.engine.core import Engine
from treadle.errors import InvalidInput
from treadle.ports.store import ReadTx
from treadle.retention.log import holding, prune_log
from treadle.retention.receipts import DropStubs, Progress, Pruned, PruneReceipts, receipts_of, steps

_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class Windowed(NamedTuple):
    """What went because it was older than its window; `held` says what keeps more of the log, or is ''."""

    receipts: Pruned
    log: Pruned
    held: str = ""


class Retention:
    """A database as one who looks after its size sees it; every act needs the `admin` permission.

    Nothing is ever pruned by itself. Each method can be called again after an interruption and goes on.
    With `dry_run` it says what would go and changes nothing.
    """

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self._engine = engine
        self._caller = caller

    def receipts(
        self,
        *,
        older_than: timedelta | None = None,
        before: int | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Pruned:
        """Make receipts stubs: of commands older than `older_than`, or of records before number `before`.

        From then on their keys are refused as `idempotency_key_expired`. `progress` is called with records
        done and in all. Raises `InvalidInput` unless exactly one bound is given, and `Denied`.
        """
        self._check()
        with self._engine.store.read() as tx:
            first, last = retained.receipts(tx), self._bound(tx, older_than, before)
            if dry_run:
                return Pruned(max(first, last), _count(tx, first + 1, last))
        return steps(
            self._engine, lambda: PruneReceipts(self._caller, last), first, max(first, last), progress
        )

    def stubs(self, *, before: datetime, dry_run: bool = False, progress: Progress | None = None) -> Pruned:
        """Drop the stubs of commands that were committed before a time: their keys execute again.

        The time must have a zone. What was pruned from the log itself keeps its stubs until all of it is
        before that time. Raises `InvalidInput` and `Denied`.
        """
        self._check()
        if before.tzinfo is None:
            raise InvalidInput("say the time zone, as in 2026-01-31T00:00:00+00:00", path="before")
        time = (before - _EPOCH) // _MICROSECOND
        with self._engine.store.read() as tx:
            first, last = retained.stubs(tx), self._last_stub(tx, time)
            if dry_run:
                return Pruned(max(first, last), tx.count_stubs(last))
        return steps(
            self._engine, lambda: DropStubs(self._caller, last, time), first, max(first, last), progress
        )

    def log(
        self,
        *,
        through: int | None = None,
        older_than: timedelta | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Pruned:
        """Drop the records of the log up to number `through`, or those that are older than `older_than`.

        The state they led to is kept, with a digest.

        Their receipts become stubs first. The history is verified up to there, and nothing is pruned where
        it does not agree. `progress` is called with records verified and in all. Events go before their
        records. Of the graph the state keeps which keys were registered when, so that signatures are judged
        by the keys of their time afterwards too.
        Raises `InvalidInput` where the log cannot begin there, `DatabaseCorrupt`, `Denied` and `Busy`.
        """
        self._check()
        if (through is None) == (older_than is None):
            raise InvalidInput("say through, or older_than: one of them", path="through")
        if through is None:
            with self._engine.store.read() as tx:
                through = min(self._bound(tx, older_than, None), tx.head().number - 1)
        return prune_log(self._engine, self._caller, through, dry_run=dry_run, progress=progress)

    def windows(
        self,
        *,
        receipts: timedelta | None = None,
        log: timedelta | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Windowed:
        """Keep receipts, and the log, for so long and no longer; None keeps them for ever.

        The log goes as far as events that are still in their streams allow, and `held` says so where that is
        short of its window. Made to be called again and again. Raises what `receipts` and `log` raise.
        """
        self._check()
        none = Pruned(0, 0)
        stubs = (
            none
            if receipts is None
            else self.receipts(older_than=receipts, dry_run=dry_run, progress=progress)
        )
        if log is None:
            return Windowed(stubs, none)
        with self._engine.store.read() as tx:
            through = min(self._bound(tx, log, None), tx.head().number - 1)
            held = holding(tx)
        if held is None or held.number > through:
            held = None
        else:
            through = held.number - 1
        gone = prune_log(self._engine, self._caller, through, dry_run=dry_run, progress=progress)
        return Windowed(stubs, gone, "" if held is None else str(held))

    def vacuum(self, timeout: float | None = None) -> tuple[int, int]:
        """Give the file's free space back to the system; its bytes before and after.

        It needs room for a second copy of the database while it goes on; writers wait, readers do not.
        `timeout` is how many seconds to wait for other writers. Raises `Denied`, `Busy`, `DiskFull`, and
        `StoreError` for a database that is no file.
        """
        self._check()
        return self._engine.store.vacuum(timeout)

    @property
    def begins(self) -> int:
        """The last record that was dropped from the log; 0 where all are kept."""
        with self._engine.store.read() as tx:
            return retained.floor(tx)

    def _check(self) -> None:
        self._engine.refresh().roles.check_permission(self._caller, "admin")

    def _bound(self, tx: ReadTx, older_than: timedelta | None, before: int | None) -> int:
        """The last record that a bound takes in."""
        head = tx.head().number
        if before is not None and older_than is None:
            if not 1 <= before <= head + 1:
                raise InvalidInput(f"name a record between 1 and {head + 1}", path="before")
            return before - 1
        if older_than is None or before is not None:
            raise InvalidInput("say older_than, or before: one of them", path="before")
        if older_than < timedelta(0):
            raise InvalidInput("an age is not negative", path="older_than")
        return retained.last_before(tx, self._engine.clock.now() - older_than // _MICROSECOND)

    def _last_stub(self, tx: ReadTx, time: int) -> int:
        snapshot = retained.snapshot(tx)
        if snapshot is not None and snapshot.time >= time:
            return 0
        return min(retained.last_before(tx, time), retained.receipts(tx))


def _count(tx: ReadTx, first: int, last: int) -> int:
    keys = 0
    while first <= last:
        end, found = receipts_of(tx, first, last)
        keys += len(found)
        first = end + 1
    return keys


__all__ = ["Retention", "Windowed"]
