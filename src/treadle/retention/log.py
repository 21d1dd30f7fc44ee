"""Letting go of the beginning of the log: its records go, the state they led to is kept, with its digest.

In this order, so that an interruption at any point leaves a database that verifies, and that the same call
brings to its end:

1. Receipts of the records become stubs (`receipts`): their answers go with the records.
2. The history is verified up to the record, and the state there is written beside everything else, part by
   part. Until the next step it means nothing.
3. One transaction says where the log begins now, and records it: number and hash of the last record that
   goes, and the state's digest.
4. The records go, and the state that the log began with before, step by step.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from treadle.access.caller import Caller
from treadle.engine import migration, retained
from treadle.engine import state as states
from treadle.engine.acts import ActJob
from treadle.engine.batch import Batch
from treadle.engine.core import Engine
from treadle.engine.retained import Snapshot
from treadle.errors import Busy, DatabaseCorrupt, InvalidInput
from treadle.limits import MIB
from treadle.ports.store import LogEntry, ReadTx
from treadle.retention.receipts import STEP, Progress, Pruned, PruneReceipts, receipts_of, steps
from treadle.verify import snapshot
from treadle.verify.walk import Walk

WRITE_BYTES: Final = 4 * MIB
"""Compressed bytes of a state that one transaction writes."""


class _Prepared(NamedTuple):
    """The state after the last record that is to go; its parts, compressed."""

    snapshot: Snapshot
    parts: Sequence[bytes]


class WriteParts(ActJob):
    """Some parts of a state that the log may begin with later."""

    __slots__ = ("entries",)

    def __init__(self, caller: Caller, entries: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__(caller)
        self.entries = entries

    def act(self, batch: Batch) -> None:
        batch.tx.write_entries(snapshot.SPACE, self.entries)
        batch.touched = True


class BeginLog(ActJob):
    """The log begins after a record from now on; the result is the number of the record that says so."""

    __slots__ = ("after", "snapshot")

    def __init__(self, caller: Caller, wanted: Snapshot, after: int) -> None:
        super().__init__(caller)
        self.snapshot = wanted
        self.after = after

    def act(self, batch: Batch) -> None:
        tx, wanted = batch.tx, self.snapshot
        if retained.floor(tx) != self.after:
            raise Busy("somebody else pruned the log meanwhile; nothing was changed")
        check_place(tx, wanted.number)
        for _ in snapshot.stored_parts(tx, wanted):
            pass  # whole, and what its digest says, or it raises
        tx.put_setting(retained.LOG, msgspec.json.encode(wanted))
        self.result = batch.append(self.entry(batch, retained.KIND, "log", retained.said(wanted)))


class Sweep(ActJob):
    """One step of removing what is behind the log's beginning; the result is how much was removed."""

    def act(self, batch: Batch) -> None:
        tx = batch.tx
        found = retained.snapshot(tx)
        number = found.number if found is not None else 0
        gone = tx.drop_log(number, STEP)
        parts = list(_other_parts(tx, number))
        if parts:
            tx.write_entries(snapshot.SPACE, [(key, None) for key in parts])
        self.result = gone + len(parts)
        batch.touched = bool(self.result)


def _other_parts(tx: ReadTx, number: int) -> Iterator[bytes]:
    """Some keys of parts of states other than the one after `number`."""
    kept = snapshot.part_key(number)[:8]
    after = None
    for _ in range(2):  # below the kept state, then above it
        page = tx.entries(snapshot.SPACE, b"", after, 16)
        found = [key for key, _ in page if key[:8] != kept]
        if found or len(page) < 16:
            yield from found
            return
        after = kept + b"\xff" * 4


def check_place(tx: ReadTx, through: int) -> None:
    """Raise `InvalidInput` where the log cannot begin after record `through` as things stand."""
    head = tx.head().number
    if not 0 < through < head:
        raise InvalidInput(f"name a record between 1 and {head - 1}; the last one stays", path="through")
    if migration.load(tx) is not None:
        raise InvalidInput("a migration is under way; finish or abandon it first", path="through")
    for name in sorted(_event_names(tx)):
        oldest = tx.events(name, None, (-1, 0), 1)
        if oldest and oldest[0].number <= through:
            raise InvalidInput(
                f"stream {name} holds an event of record {oldest[0].number}; events go before their records: "
                "give the stream a window and sweep it, or name an earlier record",
                path="through",
            )


def _event_names(tx: ReadTx) -> set[str]:
    """The events of every contract that was ever deployed."""
    identities = [name.removeprefix(states.CONTRACT) for name in tx.settings(states.CONTRACT)]
    return {event.name for identity in identities for event in states.load_contract(tx, identity).events}


def prune_log(
    engine: Engine, caller: Caller, through: int, *, dry_run: bool, progress: Progress | None
) -> Pruned:
    """Drop the records up to `through`; see `Retention.log`."""
    if not dry_run:
        _sweep(engine, caller)
    with engine.store.read() as tx:
        after = retained.floor(tx)
        if through <= after:
            return Pruned(after, 0)
        check_place(tx, through)
        keys, size = _dropped(tx, after, through)
        prepared = _prepare(tx, through, progress)
    state_bytes = sum(map(len, prepared.parts))
    if dry_run:
        return Pruned(through, keys, (), size, state_bytes)
    pruned = steps(engine, lambda: PruneReceipts(caller, through), after, through, None)
    _write(engine, caller, prepared)
    number = _submit(engine, BeginLog(caller, prepared.snapshot, after))
    _sweep(engine, caller)
    return Pruned(through, pruned.keys, (*pruned.commits, number), size, state_bytes)


def _dropped(tx: ReadTx, after: int, through: int) -> tuple[int, int]:
    """How many receipts become stubs, and how many bytes of records go."""
    first, keys = max(after, retained.receipts(tx)) + 1, 0
    while first <= through:
        end, found = receipts_of(tx, first, through)
        first, keys = end + 1, keys + len(found)
    return keys, sum(len(entry.data) for entry in tx.log(after + 1, through))


def _prepare(tx: ReadTx, through: int, progress: Progress | None) -> _Prepared:
    """Verify the history up to a record and make the state there into parts."""
    last = next(tx.log(through, through), None)
    if last is None:
        raise DatabaseCorrupt(f"record {through} of the log is missing; run `treadle verify`")
    reached = _walked(tx, last, progress)
    digest, parts = snapshot.Digest(), []
    for part in snapshot.encoded(reached.replay, reached.receipts, reached.deployed):
        digest.add(part)
        parts.append(zlib.compress(part))
    contract = reached.deployed.identity if reached.deployed is not None else ""
    made = Snapshot(through, last.time, last.hash.hex(), digest.hex, len(parts), contract)
    return _Prepared(made, parts)


def _walked(tx: ReadTx, last: LogEntry, progress: Progress | None) -> Any:
    walk = Walk(tx, None, progress, last)
    walk.records()
    report, reached = walk.report(), walk.reached
    if not report.ok:
        raise DatabaseCorrupt(
            f"the history does not verify, so nothing of it is pruned: {report.problems[0]}"
        )
    if report.not_evaluated:
        raise InvalidInput(
            f"{report.not_evaluated} commands belong to rules that this release does not carry, so the state "
            "cannot be computed; prune with the release that made them",
            path="through",
        )
    if reached.migrating:
        raise InvalidInput(
            f"record {last.number} is in the middle of a migration; name another", path="through"
        )
    if reached.graph:
        raise InvalidInput(
            "the graph was changed or enrolled up to there, and its signatures are judged by its whole "
            "history; name a record before that",
            path="through",
        )
    return reached


def _write(engine: Engine, caller: Caller, prepared: _Prepared) -> None:
    """Write the parts, some in each transaction."""
    entries: list[tuple[bytes, bytes]] = []
    size = 0
    for place, part in enumerate(prepared.parts):
        entries.append((snapshot.part_key(prepared.snapshot.number, place), part))
        size += len(part)
        if size >= WRITE_BYTES:
            _submit(engine, WriteParts(caller, entries))
            entries, size = [], 0
    if entries:
        _submit(engine, WriteParts(caller, entries))


def _sweep(engine: Engine, caller: Caller) -> None:
    while _submit(engine, Sweep(caller)):
        pass


def _submit(engine: Engine, job: ActJob) -> Any:
    answer = engine.submit([job])[0]
    if isinstance(answer, BaseException):
        raise answer
    return answer
