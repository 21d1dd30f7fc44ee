"""Letting go of receipts, in steps: first each becomes a stub, later stubs are dropped.

A stub is the identity alone, 32 bytes and its record's number. It refuses its key as
`idempotency_key_expired`: what was executed once does not execute again. Only once the stub is dropped, by an
act of its own, the key is as good as new.

Each step is a transaction and a record of its own, so one that was interrupted has done so much and no more;
the same call again goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from treadle.access.caller import Caller
from treadle.engine import retained
from treadle.engine.acts import ActJob
from treadle.engine.batch import Batch
from treadle.engine.core import Engine
from treadle.errors import DatabaseCorrupt
from treadle.limits import MIB
from treadle.model import record
from treadle.ports.store import ReadTx

Progress = Callable[[int, int], None]
STEP: Final = 4_096
"""Records, or stubs, of one step."""
STEP_BYTES: Final = 64 * MIB


class Pruned(NamedTuple):
    """What was pruned, or would be: everything up to record `through`, `keys` idempotency keys in all.

    `commits` are the numbers of the records that say so, none of a dry run. Of a log, `bytes` are those of
    its records that go, and `state_bytes` those of the state that is kept in their place.
    """

    through: int
    keys: int
    commits: tuple[int, ...] = ()
    bytes: int = 0
    state_bytes: int = 0


class _Step(NamedTuple):
    through: int
    keys: int
    commit: int | None


class PruneReceipts(ActJob):
    """One step: the receipts of the next records, up to `through`, become stubs."""

    __slots__ = ("through",)

    def __init__(self, caller: Caller, through: int) -> None:
        super().__init__(caller)
        self.through = through

    def act(self, batch: Batch) -> None:
        done = retained.receipts(batch.tx)
        if done >= self.through:
            self.result = _Step(done, 0, None)
            return
        end, keys = receipts_of(batch.tx, done + 1, self.through)
        batch.tx.write_receipts([(identity, -number) for identity, number in keys])
        retained.put(batch.tx, retained.RECEIPTS, end)
        body = {"through": end, "keys": len(keys)}
        number = batch.append(self.entry(batch, retained.KIND, "receipts", body))
        self.result = _Step(end, len(keys), number)


class DropStubs(ActJob):
    """One step: the earliest stubs, up to record `through`, are dropped; `before` is the time that was
    said."""

    __slots__ = ("before", "through")

    def __init__(self, caller: Caller, through: int, before: int) -> None:
        super().__init__(caller)
        self.through = through
        self.before = before

    def act(self, batch: Batch) -> None:
        done = retained.stubs(batch.tx)
        last = min(self.through, retained.receipts(batch.tx))
        if done >= last:
            self.result = _Step(done, 0, None)
            return
        keys, end = batch.tx.drop_stubs(last, STEP)
        retained.put(batch.tx, retained.STUBS, end)
        body = {"through": end, "keys": keys, "before": self.before}
        number = batch.append(self.entry(batch, retained.KIND, "stubs", body))
        self.result = _Step(end, keys, number)


def receipts_of(tx: ReadTx, first: int, last: int) -> tuple[int, list[tuple[bytes, int]]]:
    """The receipts of a step's records from `first` on, and the last record that the step reaches."""
    found: list[tuple[bytes, int]] = []
    end, size = first, 0
    for entry in tx.log(first, min(last, first + STEP - 1)):
        end = entry.number
        size += len(entry.data)
        identity = record.decode(entry.data).identity
        if identity is not None:
            found.append((identity, entry.number))
        if size > STEP_BYTES:
            break
    known = tx.receipts([identity for identity, _ in found])
    for (_, number), bound in zip(found, known, strict=True):
        if bound != number:
            raise DatabaseCorrupt(f"the receipt of record {number} is not there; run `treadle verify`")
    return end, found


def steps(
    engine: Engine, job: Callable[[], ActJob], first: int, last: int, progress: Progress | None
) -> Pruned:
    """Run steps until one has nothing left to do; `first` and `last` bound the records, for the progress."""
    through, keys, commits = first, 0, list[int]()
    while True:
        answer = engine.submit([job()])[0]
        if isinstance(answer, BaseException):
            raise answer
        if answer.commit is None:
            return Pruned(max(through, answer.through), keys, tuple(commits))
        through, keys = answer.through, keys + answer.keys
        commits.append(answer.commit)
        if progress is not None:
            progress(through - first, last - first)
