"""A database in memory: nothing survives the process. For tests, trials and `:memory:`.

It keeps the same promises about transactions as the other stores, durability apart. Everything stands
in ordered maps with snapshots (`versions`); keys are packed cells, whose bytes sort like the cells.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Final

from treadle.errors import StoreError, check
from treadle.model.facts import Cells, Key, Range, Row, RowChange, UniqueRef
from treadle.model.packing import pack
from treadle.ports.store import (
    Capabilities,
    Head,
    IndexSpec,
    LogEntry,
    QuadText,
    StoredEvent,
    Table,
    is_stub,
)
from treadle.store.handle import (
    ENDED,
    NO_RECORD,
    Lifetime,
    Turn,
    check_built,
    check_follows,
    check_successor,
    deadline,
    ended,
    no_table,
)
from treadle.store.memory_queries import MemoryWalks
from treadle.store.versions import VersionedMap

CAPABILITIES: Final = Capabilities(durable=False, processes=False, server_clock=False)


class _EntityData:
    """The rows of one entity table, and its indexes."""

    __slots__ = ("indexes", "rows", "table")

    def __init__(self, table: Table) -> None:
        self.table = table
        self.rows: VersionedMap[bytes, Row] = VersionedMap()
        self.indexes: dict[str, VersionedMap[bytes, Key]] = {
            spec.name: VersionedMap() for spec in table.indexes
        }


class _Data:
    """All maps of a database."""

    __slots__ = (
        "entities",
        "entries",
        "events",
        "graphs",
        "log",
        "partitions",
        "quads",
        "receipts",
        "sequence",
        "settings",
        "tombstones",
        "uniques",
    )

    def __init__(self) -> None:
        self.sequence = 0
        self.entities: VersionedMap[str, _EntityData] = VersionedMap()
        self.tombstones: VersionedMap[tuple[str, bytes], int] = VersionedMap()
        self.settings: VersionedMap[str, bytes] = VersionedMap()
        self.log: VersionedMap[int, LogEntry] = VersionedMap()
        self.receipts: VersionedMap[bytes, int] = VersionedMap()
        self.uniques: VersionedMap[tuple[str, str, bytes], Key] = VersionedMap()
        self.events: VersionedMap[tuple[str, int, int], StoredEvent] = VersionedMap()
        self.partitions: VersionedMap[tuple[str, bytes, int, int], StoredEvent] = VersionedMap()
        self.entries: VersionedMap[tuple[str, bytes], bytes] = VersionedMap()
        self.quads: VersionedMap[QuadText, bool] = VersionedMap()
        self.graphs: VersionedMap[str, bool] = VersionedMap()


def _index_key(spec: IndexSpec, cells: Cells, key: bytes) -> bytes | None:
    """The row's entry in an index, or None where a field of `presence` is absent."""
    if any(cells[position] is None for position in spec.presence):
        return None
    return pack(tuple(cells[position] for position in spec.positions)) + key


class MemoryRead(MemoryWalks):
    """A snapshot of a memory database."""

    __slots__ = ("_data", "_sequence")

    def __init__(self, data: _Data, sequence: int) -> None:
        self._data: Any = data
        self._sequence = sequence

    def end(self) -> None:
        """Refuse every later use."""
        self._data = ENDED

    def _entity(self, table: Table) -> _EntityData:
        entity: _EntityData | None = self._data.entities.get(table.name, self._sequence)
        if entity is None:
            raise no_table(table)
        return entity

    def integrity(self) -> list[str]:
        return []

    def head(self) -> Head:
        last = self._data.log.last(self._sequence)
        return NO_RECORD if last is None else Head(last.number, last.time, last.hash)

    def setting(self, name: str) -> bytes | None:
        value: bytes | None = self._data.settings.get(name, self._sequence)
        return value

    def settings(self, prefix: str) -> dict[str, bytes]:
        found = {}
        for name, value in self._data.settings.items(self._sequence, start=prefix):
            if not name.startswith(prefix):
                break
            found[name] = value
        return found

    def rows(self, table: Table, keys: Sequence[Key]) -> list[Row | None]:
        rows = self._entity(table).rows
        return [rows.get(pack(key), self._sequence) for key in keys]

    def last_revisions(self, table: Table, keys: Sequence[Key]) -> list[int]:
        tombstones = self._data.tombstones
        return [tombstones.get((table.name, pack(key)), self._sequence) or 0 for key in keys]

    def holders(self, uniques: Sequence[UniqueRef]) -> list[Key | None]:
        entries = self._data.uniques
        return [entries.get((entity, name, pack(values)), self._sequence) for entity, name, values in uniques]

    def probe(self, table: Table, range_: Range) -> list[Key]:
        prefix = pack(range_.values)
        found: list[Key] = []
        for entry, key in self._entity(table).indexes[range_.index].items(self._sequence, start=prefix):
            # FF goes on with the last cell's bytes: a longer cell, and all that follow are longer ones too.
            if len(found) >= range_.limit or not entry.startswith(prefix) or entry[len(prefix)] == 0xFF:
                break
            found.append(key)
        return found

    def scan(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        rows = self._entity(table).rows
        found: list[Row] = []
        for _, row in rows.items(self._sequence, after=None if after is None else pack(after)):
            if len(found) >= limit:
                break
            found.append(row)
        return found

    def receipts(self, identities: Sequence[bytes]) -> list[int | None]:
        return [self._data.receipts.get(identity, self._sequence) for identity in identities]

    def count_receipts(self) -> tuple[int, int]:
        numbers = [number for _, number in self._data.receipts.items(self._sequence)]
        stubs = sum(map(is_stub, numbers))
        return len(numbers) - stubs, stubs

    def count_stubs(self, last: int) -> int:
        return sum(-last <= number < 0 for _, number in self._data.receipts.items(self._sequence))

    def stubs(self, last: int) -> Iterator[tuple[bytes, int]]:
        for identity, number in self._each(self._data.receipts.items(self._sequence)):
            if -last <= number < 0:
                yield identity, -number

    def log(self, first: int, last: int) -> Iterator[LogEntry]:
        for number, entry in self._each(self._data.log.items(self._sequence, start=first)):
            if number > last:
                break
            yield entry

    def _each(self, items: Iterator[Any]) -> Iterator[Any]:
        """The items, one at a time; asking for one after the block's end raises `Closed`."""
        for item in items:
            yield item
            self._check_open()

    def _check_open(self) -> None:
        """Raise `Closed` after the block's end."""
        if self._data is ENDED:
            raise ended()

    def events(
        self, name: str, partition: bytes | None, after: tuple[int, int], limit: int
    ) -> list[StoredEvent]:
        events: VersionedMap[Any, StoredEvent] = self._data.events
        begin: tuple[Any, ...] = (name,)
        if partition is not None:
            events, begin = self._data.partitions, (name, partition)
        found: list[StoredEvent] = []
        for key, event in events.items(self._sequence, after=(*begin, *after)):
            if len(found) >= limit or key[: len(begin)] != begin:
                break
            found.append(event)
        return found

    def entries(
        self, space: str, prefix: bytes, after: bytes | None, limit: int
    ) -> list[tuple[bytes, bytes]]:
        entries: VersionedMap[tuple[str, bytes], bytes] = self._data.entries
        found: list[tuple[bytes, bytes]] = []
        last = None if after is None or after < prefix else (space, after)
        for (owner, key), value in entries.items(self._sequence, start=(space, prefix), after=last):
            if len(found) >= limit or owner != space or not key.startswith(prefix):
                break
            found.append((key, value))
        return found

    def entries_at(self, space: str, keys: Sequence[bytes]) -> list[bytes | None]:
        entries = self._data.entries
        return [entries.get((space, key), self._sequence) for key in keys]

    def quads(self) -> Iterator[QuadText]:
        for quad, _ in self._each(self._data.quads.items(self._sequence)):
            yield quad

    def graphs(self) -> list[str]:
        return [name for name, _ in self._data.graphs.items(self._sequence)]


class MemoryWrite(MemoryRead):
    """The write transaction of a memory database: new versions at the next sequence number."""

    __slots__ = ("_floor", "_undo", "committed")

    def __init__(self, data: _Data, floor: int) -> None:
        super().__init__(data, data.sequence + 1)
        self._floor = floor
        self._undo: list[tuple[VersionedMap[Any, Any], Any]] = []
        self.committed = False

    def _put(self, map_: VersionedMap[Any, Any], key: Any, value: Any) -> None:
        if map_.put(key, value, self._sequence, self._floor):
            self._undo.append((map_, key))

    def write_rows(self, table: Table, changes: Sequence[RowChange], commit: Sequence[int]) -> None:
        entity = self._entity(table)
        for change, number in zip(changes, commit, strict=True):
            self._write_row(entity, change, number)

    def _write_row(self, entity: _EntityData, change: RowChange, number: int) -> None:
        key = pack(change.key)
        before = entity.rows.get(key, self._sequence)
        check((before is None) == (change.before is None), "a row is not as it was read")
        after = None if change.cells is None else Row(change.revision, change.cells, number)
        self._put(entity.rows, key, after)
        self._move_entries(entity, change.key, before, after)
        if entity.table.tombstones:
            gone = change.revision if change.cells is None else None
            if gone is not None or change.before is None:
                self._put(self._data.tombstones, (entity.table.name, key), gone)

    def _move_entries(self, entity: _EntityData, key: Key, before: Row | None, after: Row | None) -> None:
        packed = pack(key)
        for spec in entity.table.indexes:
            old = None if before is None else _index_key(spec, before.cells, packed)
            new = None if after is None else _index_key(spec, after.cells, packed)
            if old != new:
                entries = entity.indexes[spec.name]
                if old is not None:
                    self._put(entries, old, None)
                if new is not None:
                    self._put(entries, new, key)

    def write_uniques(self, released: Sequence[UniqueRef], taken: Sequence[tuple[UniqueRef, Key]]) -> None:
        for entity, name, values in released:
            self._put(self._data.uniques, (entity, name, pack(values)), None)
        for (entity, name, values), key in taken:
            entry = (entity, name, pack(values))
            check(self._data.uniques.get(entry, self._sequence) is None, "a unique entry is taken twice")
            self._put(self._data.uniques, entry, key)

    def append_log(self, entries: Sequence[LogEntry]) -> None:
        check_follows(self.head(), entries)
        for entry in entries:
            self._put(self._data.log, entry.number, entry)

    def drop_log(self, last: int, limit: int) -> int:
        gone = [entry.number for entry in islice(self.log(0, last), limit)]
        for number in gone:
            self._put(self._data.log, number, None)
        return len(gone)

    def write_receipts(self, receipts: Sequence[tuple[bytes, int]]) -> None:
        for identity, number in receipts:
            known = self._data.receipts.get(identity, self._sequence)
            check(known is None or is_stub(number), "an idempotency identity is bound twice")
            self._put(self._data.receipts, identity, number)

    def drop_stubs(self, last: int, limit: int) -> tuple[int, int]:
        receipts = self._data.receipts.items(self._sequence)
        stubs = sorted((-number, identity) for identity, number in receipts if -last <= number < 0)
        for _, identity in stubs[:limit]:
            self._put(self._data.receipts, identity, None)
        return min(len(stubs), limit), last if len(stubs) <= limit else stubs[limit - 1][0]

    def append_events(self, events: Sequence[StoredEvent]) -> None:
        for event in events:
            self._put(self._data.events, (event.name, event.number, event.ordinal), event)
            self._put(
                self._data.partitions, (event.name, event.partition, event.number, event.ordinal), event
            )

    def remove_events(self, events: Sequence[StoredEvent]) -> None:
        for event in events:
            place = (event.number, event.ordinal)
            self._put(self._data.events, (event.name, *place), None)
            self._put(self._data.partitions, (event.name, event.partition, *place), None)

    def write_entries(self, space: str, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        for key, value in changes:
            self._put(self._data.entries, (space, key), value)

    def put_setting(self, name: str, value: bytes | None) -> None:
        self._put(self._data.settings, name, value)

    def create_table(self, table: Table, *, hidden: bool = False) -> None:
        known = self._data.entities.get(table.name, self._sequence)
        check(known is None, f"table {table.name} exists already")
        self._put(self._data.entities, table.name, _EntityData(table))

    def alter_table(self, before: Table, after: Table) -> None:
        old = self._entity(before)
        check_successor(before, after)
        new = _EntityData(after)
        places = [before.columns.index(one) if one in before.columns else -1 for one in after.columns]
        for key, row in old.rows.items(self._sequence):
            cells = (*row.cells, None)
            widened = row._replace(cells=tuple(cells[place] for place in places))
            self._put(new.rows, key, widened)
            self._move_entries(new, row.cells[: after.key_count], None, widened)
        self._put(self._data.entities, after.name, new)

    def replace_table(self, before: Table, built: Table, after: Table) -> None:
        check_built(before, built, after)
        made = self._entity(built)
        new = _EntityData(after)
        new.rows = made.rows
        new.indexes = {spec.name: made.indexes[spec.name] for spec in after.indexes}
        self._put(self._data.entities, built.name, None)
        self._put(self._data.entities, after.name, new)

    def drop_table(self, table: Table) -> None:
        check(self._entity(table), "a dropped table is there")
        self._put(self._data.entities, table.name, None)

    def drop_uniques(self, entity: str, name: str, limit: int) -> int:
        found: list[tuple[str, str, bytes]] = []
        for entry, _ in self._data.uniques.items(self._sequence, start=(entity, name, b"")):
            if entry[:2] != (entity, name) or len(found) >= limit:
                break
            found.append(entry)
        for entry in found:
            self._put(self._data.uniques, entry, None)
        return len(found)

    def write_quads(self, removed: Sequence[QuadText], added: Sequence[QuadText]) -> None:
        for quad in removed:
            self._put(self._data.quads, quad, None)
        for quad in added:
            self._put(self._data.quads, quad, True)

    def write_graphs(self, removed: Sequence[str], added: Sequence[str]) -> None:
        for name in removed:
            self._put(self._data.graphs, name, None)
        for name in added:
            self._put(self._data.graphs, name, True)

    def raise_format(self, version: int) -> None:
        """Nothing outlives the process, so no other release will ever read it."""

    def commit(self) -> None:
        check(not self.committed, "the transaction was committed before")
        self._data.sequence = self._sequence
        self.committed = True

    def roll_back(self) -> None:
        """Take back everything that was written."""
        for map_, key in reversed(self._undo):
            map_.undo(key)

    def sweep(self, floor: int) -> None:
        """Forget what nobody can see any more."""
        for map_ in {id(map_): map_ for map_, _ in self._undo}.values():
            map_.sweep(floor)


class _ReadBlock:
    """`with store.read()`: takes a snapshot, and gives it back."""

    __slots__ = ("_store", "_tx")

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def __enter__(self) -> MemoryRead:
        self._tx = self._store.enter_read()
        return self._tx

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.leave_read(self._tx)


class _WriteBlock:
    """`with store.write()`: waits for the turn, and takes back what was not committed."""

    __slots__ = ("_store", "_timeout", "_tx")

    def __init__(self, store: MemoryStore, timeout: float | None) -> None:
        self._store = store
        self._timeout = timeout

    def __enter__(self) -> MemoryWrite:
        self._tx = self._store.enter_write(self._timeout)
        return self._tx

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.leave_write(self._tx)


class MemoryStore:
    """A database that lives in this process's memory."""

    capabilities = CAPABILITIES

    def __init__(self) -> None:
        self._data = _Data()
        self._life = Lifetime()
        self._turn = Turn()
        self._snapshots: dict[int, int] = {}  # id of the transaction → its sequence
        self._registering = threading.Lock()

    def read(self) -> _ReadBlock:
        """A snapshot for the length of the block."""
        return _ReadBlock(self)

    def write(self, timeout: float | None = None) -> _WriteBlock:
        """The write transaction; raises `Busy` after `timeout` seconds of waiting for other writers."""
        return _WriteBlock(self, timeout)

    def enter_read(self) -> MemoryRead:
        self._life.check()
        with self._registering:
            tx = MemoryRead(self._data, self._data.sequence)
            self._snapshots[id(tx)] = self._data.sequence
        return tx

    def leave_read(self, tx: MemoryRead) -> None:
        self._snapshots.pop(id(tx), None)
        tx.end()

    def _floor(self) -> int:
        with self._registering:
            return min(self._snapshots.values(), default=self._data.sequence)

    def enter_write(self, timeout: float | None) -> MemoryWrite:
        self._life.check()
        self._turn.take(deadline(timeout))
        try:
            self._life.check()
            return MemoryWrite(self._data, self._floor())
        except BaseException:
            self._turn.give()
            raise

    def leave_write(self, tx: MemoryWrite) -> None:
        try:
            if not tx.committed:
                tx.roll_back()
            tx.sweep(self._floor())
            tx.end()
        finally:
            self._turn.give()

    def copy(self, target: str, progress: Callable[[int, int], None] | None = None) -> None:
        """A memory database is no file: always `StoreError`."""
        raise StoreError("a memory database has no file to copy; export its rows instead")

    def vacuum(self, timeout: float | None = None) -> tuple[int, int]:
        raise StoreError("a memory database has no file that could get smaller")

    def close(self) -> None:
        """End the database; what it held is gone."""
        self._life.end()


def open_database(where: str, *, create: bool = True) -> MemoryStore:
    """A new, empty database in memory; there is nothing that it could be missing."""
    return MemoryStore()
