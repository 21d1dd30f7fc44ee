"""Letting go of the beginning of the log: its records go, the state they led to is kept, with its digest.

In this order, so that an interruption at any point leaves a database that verifies, and that the same call
brings to its end:

1. The history is verified up to the record, and the state there is written beside everything else, part by
   part as it is encoded. Until step 3 it means nothing.
2. Receipts of the records become stubs (`receipts`): their answers go with the records.
3. One transaction says where the log begins now, and records it: number and hash of the last record that
   goes, and the state's digests.
4. The records go, and the state that the log began with before, step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple

import msgspec

from treadle.access.caller import Caller
from treadle.engine import migration, parts, retained
from treadle.engine import state as states
from treadle.engine.acts import ActJob
from treadle.engine.batch import Batch
from treadle.engine.core import Engine
from treadle.engine.parts import Cutting
from treadle.engine.retained import Snapshot
from treadle.errors import Busy, DatabaseCorrupt, InvalidInput
from treadle.limits import MIB
from treadle.model.packing import pack
from treadle.ports.store import LogEntry, ReadTx
from treadle.registry import load
from treadle.retention.receipts import STEP, Progress, Pruned, PruneReceipts, receipts_of, steps
from treadle.streams.retention import kept
from treadle.verify import snapshot
from treadle.verify.walk import Reached, Walk

WRITE_BYTES: Final = 4 * MIB
"""Compressed bytes of a state that one transaction writes."""

Write = Callable[[Sequence[tuple[bytes, bytes]]], None]


class WriteParts(ActJob):
    """Some parts of a state that the log may begin with later."""

    __slots__ = ("entries",)

    def __init__(self, caller: Caller, entries: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__(caller)
        self.entries = entries

    def act(self, batch: Batch) -> None:
        batch.tx.write_entries(parts.SPACE, self.entries)
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
        if not parts.complete(tx, wanted):
            raise Busy("somebody else removed the state that was written; nothing was pruned, try again")
        tx.put_setting(retained.LOG, msgspec.json.encode(wanted))
        self.result = batch.append(self.entry(batch, retained.KIND, "log", retained.said(wanted)))


class Sweep(ActJob):
    """One step of removing what is behind the log's beginning; the result is how much was removed."""

    def act(self, batch: Batch) -> None:
        tx = batch.tx
        found = retained.snapshot(tx)
        number = found.number if found is not None else 0
        gone = tx.drop_log(number, STEP)
        gone += load("graph.stored").drop_changes(tx, number, STEP)
        others = list(_other_parts(tx, number))
        if others:
            tx.write_entries(parts.SPACE, [(key, None) for key in others])
        self.result = gone + len(others)
        batch.touched = bool(self.result)


def _other_parts(tx: ReadTx, number: int) -> Iterator[bytes]:
    """Some keys of parts of states other than the one after `number`."""
    kept = parts.part_key(number)[:8]
    after = None
    for _ in range(2):  # below the kept state, then above it
        page = tx.entries(parts.SPACE, b"", after, 16)
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
    held = holding(tx)
    if held is not None and held.number <= through:
        way = "give the stream a window and sweep it" if not held.kept else "that comes first"
        raise InvalidInput(
            f"{held}; events go before their records: {way}, or name an earlier record", path="through"
        )


class Held(NamedTuple):
    """The stream that has the earliest event of all, that event's record, and who keeps it (may be empty)."""

    stream: str
    number: int
    kept: str = ""

    def __str__(self) -> str:
        kept = f", {self.kept}" if self.kept else ""
        return f"stream {self.stream} holds an event of record {self.number}{kept}"


def holding(tx: ReadTx) -> Held | None:
    """What keeps the log from being pruned beyond a place: an event that is in its stream."""
    oldest = ((name, tx.events(name, None, (-1, 0), 1)) for name in sorted(_event_names(tx)))
    found = [(name, events[0]) for name, events in oldest if events]
    if not found:
        return None
    name, first = min(found, key=lambda one: one[1].number)
    return Held(name, first.number, kept(tx, first))


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
    state = _State(None if dry_run else lambda entries: _submit(engine, WriteParts(caller, entries)), through)
    with engine.store.read() as tx:
        after = retained.floor(tx)
        if through <= after:
            return Pruned(after, 0)
        check_place(tx, through)
        keys, size = _dropped(tx, after, through)
        made = _prepare(tx, through, progress, state)
    if dry_run:
        return Pruned(through, keys, (), size, state.bytes)
    _check_written(engine, made)
    pruned = steps(engine, lambda: PruneReceipts(caller, through), after, through, None)
    number = _submit(engine, BeginLog(caller, made, after))
    _sweep(engine, caller)
    return Pruned(through, pruned.keys, (*pruned.commits, number), size, state.bytes)


def _dropped(tx: ReadTx, after: int, through: int) -> tuple[int, int]:
    """How many receipts become stubs, and how many bytes of records go."""
    first, keys = max(after, retained.receipts(tx)) + 1, 0
    while first <= through:
        end, found = receipts_of(tx, first, through)
        first, keys = end + 1, keys + len(found)
    return keys, sum(len(entry.data) for entry in tx.log(after + 1, through))


class _State:
    """Writes the parts of a state as they come, some in each transaction; `bytes` counts them, compressed."""

    def __init__(self, write: Write | None, number: int) -> None:
        self._write = write
        self._number = number
        self._entries: list[tuple[bytes, bytes]] = []
        self._waiting = self._parts = self.bytes = 0

    def take(self, section: Cutting) -> Cutting:
        """Take the parts of a section."""
        for part in section:
            self.bytes += len(part)
            if self._write is not None:
                self._entries.append((parts.part_key(self._number, self._parts), part))
                self._waiting += len(part)
                if self._waiting >= WRITE_BYTES:
                    self.flush()
            self._parts += 1
        return section

    def flush(self) -> None:
        """Write what waits."""
        if self._write is not None and self._entries:
            self._write(self._entries)
        self._entries, self._waiting = [], 0


def _prepare(tx: ReadTx, through: int, progress: Progress | None, state: _State) -> Snapshot:
    """Verify the history up to a record, and write the state there."""
    last = next(tx.log(through, through), None)
    if last is None:
        raise DatabaseCorrupt(f"record {through} of the log is missing; run `treadle verify`")
    with closing(Walk(tx, None, progress, last)) as walk:
        reached = _walked(walk, last)
        deployed = reached.deployed
        items = snapshot.items(reached.replay, reached.receipts, deployed)
        rows, graph = state.take(Cutting(parts.ROWS, items)).section, parts.Section("", 0)
        if reached.graph is not None:
            graph = state.take(Cutting(parts.GRAPH, map(pack, reached.graph.items()))).section
        state.flush()
    contract = deployed.identity if deployed is not None else ""
    return Snapshot(through, last.time, last.hash.hex(), rows.digest, rows.parts, contract, *graph)


def _check_written(engine: Engine, made: Snapshot) -> None:
    """Read what was written: whole, and what its digests say, or it raises."""
    with engine.store.read() as tx:
        for domain in (parts.ROWS, parts.GRAPH) if made.graph else (parts.ROWS,):
            for _ in parts.stored(tx, made, domain):
                pass


def _walked(walk: Walk, last: LogEntry) -> Reached:
    walk.records()
    walk.place()
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
    return reached


def _sweep(engine: Engine, caller: Caller) -> None:
    while _submit(engine, Sweep(caller)):
        pass


def _submit(engine: Engine, job: ActJob) -> Any:
    answer = engine.submit([job])[0]
    if isinstance(answer, BaseException):
        raise answer
    return answer
