"""What can be said inside a transaction: each method is a prepared statement, run for all rows at once."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Final
from zlib import crc32

import apsw

from treadle.errors import DatabaseCorrupt, check
from treadle.model.facts import Key, Range, Row, RowChange, UniqueRef
from treadle.model.packing import pack, unpack
from treadle.ports.sizes import Sizes
from treadle.ports.store import Head, LogEntry, QuadText, StoredEvent, Table
from treadle.ports.tallies import Places, Tally
from treadle.store.handle import ENDED, NO_RECORD, check_built, check_follows, check_successor
from treadle.store.sqlite.cells import decode_u64, encode_u64
from treadle.store.sqlite.failures import guarded, translated
from treadle.store.sqlite.queries import SqliteWalks
from treadle.store.sqlite.schema import note_schema, schema_sum
from treadle.store.sqlite.sizes import sizes
from treadle.store.sqlite.statements import (
    Mask,
    TableStatements,
    alteration,
    definition,
    drop_view,
    replacement,
)
from treadle.store.sqlite.tallies import tally
from treadle.store.sqlite.views import quoted

_HEAD: Final = "SELECT number, time, hash FROM treadle_log ORDER BY number DESC LIMIT 1"
_SETTING: Final = "SELECT value, sum FROM treadle_settings WHERE name = ?"
_SETTINGS: Final = "SELECT name, value, sum FROM treadle_settings WHERE name >= ? ORDER BY name"
_TOMBSTONE: Final = "SELECT ?, revision FROM treadle_tombstones WHERE entity = ? AND key = ?"
_HOLDER: Final = "SELECT ?, key FROM treadle_uniques WHERE entity = ? AND name = ? AND entry = ?"
_RECEIPT: Final = "SELECT ?, number FROM treadle_receipts WHERE identity = ?"
_DROP_LOG: Final = (
    "DELETE FROM treadle_log WHERE number IN "
    "(SELECT number FROM treadle_log WHERE number <= ? ORDER BY number LIMIT ?)"
)
_RECEIPTS: Final = "SELECT count(*), count(*) FILTER (WHERE number < 0) FROM treadle_receipts"
_STUB: Final = (
    "SELECT -number FROM treadle_receipts "
    "WHERE number BETWEEN -? AND -1 ORDER BY number DESC LIMIT 2 OFFSET ?"
)
_STUBS: Final = "SELECT count(*) FROM treadle_receipts WHERE number BETWEEN -? AND -1"
_ALL_STUBS: Final = "SELECT identity, -number FROM treadle_receipts WHERE number BETWEEN -? AND -1"
_DROP_STUBS: Final = "DELETE FROM treadle_receipts WHERE number BETWEEN -? AND -1"
_LOG: Final = "SELECT number, time, hash, data FROM treadle_log WHERE number BETWEEN ? AND ? ORDER BY number"
_EVENTS: Final = (
    "SELECT number, ordinal, name, partition, data FROM treadle_events "
    "WHERE name = ? AND (number, ordinal) > (?, ?) ORDER BY number, ordinal LIMIT ?"
)
_PARTITION: Final = (
    "SELECT number, ordinal, name, partition, data "
    "FROM treadle_events INDEXED BY treadle_events_by_partition "
    "WHERE name = ? AND partition = ? AND (number, ordinal) > (?, ?) ORDER BY number, ordinal LIMIT ?"
)
_ENTRIES: Final = (
    "SELECT key, value, sum FROM treadle_entries WHERE space = ? AND key >= ? ORDER BY key LIMIT ?"
)
_ENTRY: Final = "SELECT ?, key, value, sum FROM treadle_entries WHERE space = ? AND key = ?"
_SUMS: Final = (
    "SELECT CAST(name AS BLOB), value, sum FROM treadle_settings "
    "UNION ALL SELECT key, value, sum FROM treadle_entries"
)
_QUADS: Final = "SELECT subject, predicate, object, graph FROM treadle_quads"
_GRAPHS: Final = "SELECT name FROM treadle_graphs ORDER BY name"

_BURY: Final = "INSERT OR REPLACE INTO treadle_tombstones (entity, key, revision) VALUES (?, ?, ?)"
_UNBURY: Final = "DELETE FROM treadle_tombstones WHERE entity = ? AND key = ?"
_RELEASE: Final = "DELETE FROM treadle_uniques WHERE entity = ? AND name = ? AND entry = ?"
_CLEAR: Final = (
    "DELETE FROM treadle_uniques WHERE entity = ?1 AND name = ?2 AND entry IN "
    "(SELECT entry FROM treadle_uniques WHERE entity = ?1 AND name = ?2 ORDER BY entry LIMIT ?3)"
)
_TAKE: Final = "INSERT INTO treadle_uniques (entity, name, entry, key) VALUES (?, ?, ?, ?)"
_APPEND: Final = "INSERT INTO treadle_log (number, time, hash, data) VALUES (?, ?, ?, ?)"
_BIND: Final = "INSERT INTO treadle_receipts (identity, number) VALUES (?, ?)"
_PRUNE: Final = "INSERT OR REPLACE INTO treadle_receipts (identity, number) VALUES (?, ?)"
_EMIT: Final = "INSERT INTO treadle_events (number, ordinal, name, partition, data) VALUES (?, ?, ?, ?, ?)"
_UNEMIT: Final = "DELETE FROM treadle_events WHERE name = ? AND number = ? AND ordinal = ?"
_ENTER: Final = "INSERT OR REPLACE INTO treadle_entries (space, key, value, sum) VALUES (?, ?, ?, ?)"
_LEAVE: Final = "DELETE FROM treadle_entries WHERE space = ? AND key = ?"
_PUT: Final = "INSERT OR REPLACE INTO treadle_settings (name, value, sum) VALUES (?, ?, ?)"
_DROP: Final = "DELETE FROM treadle_settings WHERE name = ?"
_ADD_QUAD: Final = (
    "INSERT OR IGNORE INTO treadle_quads (subject, predicate, object, graph) VALUES (?, ?, ?, ?)"
)
_REMOVE_QUAD: Final = (
    "DELETE FROM treadle_quads WHERE subject = ? AND predicate = ? AND object = ? AND graph = ?"
)
_ADD_GRAPH: Final = "INSERT OR IGNORE INTO treadle_graphs (name) VALUES (?)"
_REMOVE_GRAPH: Final = "DELETE FROM treadle_graphs WHERE name = ?"


def _sum(name: bytes, value: bytes) -> int:
    """The checksum that a setting or an entry is stored with: no other part of the file vouches for it."""
    return crc32(value, crc32(name))


def _sound(name: bytes, value: bytes, stored: int) -> bytes:
    """The value, if it is what was stored under the name; raises `DatabaseCorrupt`."""
    if not _holds(name, value, stored):
        raise _damaged(_shown(name))
    return value


def _holds(name: Any, value: Any, stored: Any) -> bool:
    """Whether a value is what was stored under a name; damage can make anything of either."""
    return isinstance(name, bytes) and isinstance(value, bytes) and _sum(name, value) == stored


def _damaged(what: str) -> DatabaseCorrupt:
    return DatabaseCorrupt(f"{what} is not as it was written: the file is damaged; restore a backup")


def _shown(name: Any) -> str:
    """A setting's name, or an entry's key, as a message calls it."""
    if not isinstance(name, bytes):
        return "a setting or an entry"
    return ascii(name[:40].decode("latin-1"))


class Shared:
    """What all transactions of a store share: the statements of its entity tables."""

    __slots__ = ("_tables",)

    def __init__(self) -> None:
        self._tables: dict[str, TableStatements] = {}

    def statements(self, table: Table) -> TableStatements:
        """The statements of a table, made anew when its declaration changed."""
        known = self._tables.get(table.name)
        if known is None or (known.table is not table and known.table != table):
            known = self._tables[table.name] = TableStatements(table)
        return known


class SqliteRead(SqliteWalks):
    """A snapshot of a SQLite database."""

    __slots__ = ("_cursors", "_db", "_shared")

    def __init__(self, connection: apsw.Connection, shared: Shared) -> None:
        self._db: Any = connection
        self._shared = shared
        self._cursors: weakref.WeakSet[apsw.Cursor] | None = None

    def end(self) -> None:
        """Refuse every later use, and end what is still being iterated: it would keep the snapshot open."""
        self._db = ENDED
        for cursor in self._cursors or ():
            cursor.close(True)

    def _stepped(self, text: str, bindings: Sequence[Any]) -> apsw.Cursor:
        """A statement whose rows are fetched one by one, while the caller does other things."""
        cursor: apsw.Cursor = self._db.execute(text, bindings)
        if self._cursors is None:
            self._cursors = weakref.WeakSet()
        self._cursors.add(cursor)
        return cursor

    @property
    def connection(self) -> apsw.Connection:
        """The connection that the snapshot is open on."""
        connection: apsw.Connection = self._db
        return connection

    @guarded
    def integrity(self) -> list[str]:
        found = [text for (text,) in self._db.execute("PRAGMA integrity_check(20)") if text != "ok"]
        sums = self._db.execute("SELECT sum FROM treadle_schema").fetchall()
        if sums != [(schema_sum(self._db),)]:
            found.append("the definitions of tables, indexes and views are not those that were made")
        for name, value, stored in self._db.execute(_SUMS):
            if not _holds(name, value, stored) and len(found) < 20:
                found.append(f"{_shown(name)} is not as it was written")
        return found

    @guarded
    def head(self) -> Head:
        for row in self._db.execute(_HEAD):
            if tuple(map(type, row)) != (int, int, bytes):
                raise _damaged("the log's last record")
            return Head(*row)
        return NO_RECORD

    @guarded
    def setting(self, name: str) -> bytes | None:
        found: tuple[bytes, int] | None = self._db.execute(_SETTING, (name,)).fetchone()
        return None if found is None else _sound(name.encode(), *found)

    @guarded
    def settings(self, prefix: str) -> dict[str, bytes]:
        found = {}
        for name, value, stored in self._db.execute(_SETTINGS, (prefix,)):
            if type(name) is not str:
                raise _damaged("a setting")
            if not name.startswith(prefix):
                break
            found[name] = _sound(name.encode(), value, stored)
        return found

    @guarded
    def rows(self, table: Table, keys: Sequence[Key]) -> list[Row | None]:
        statements = self._shared.statements(table)
        encode, decode = statements.key_codec.encode, statements.codec.decode
        found: list[Row | None] = [None] * len(keys)
        bindings = [(place, *encode(key)) for place, key in enumerate(keys)]
        for row in self._db.executemany(statements.fetch, bindings).fetchall():
            found[row[0]] = Row(decode_u64(row[1]), decode(row[3:]), row[2])
        return found

    @guarded
    def last_revisions(self, table: Table, keys: Sequence[Key]) -> list[int]:
        found = [0] * len(keys)
        bindings = [(place, table.name, pack(key)) for place, key in enumerate(keys)]
        for place, revision in self._db.executemany(_TOMBSTONE, bindings):
            found[place] = decode_u64(revision)
        return found

    @guarded
    def holders(self, uniques: Sequence[UniqueRef]) -> list[Key | None]:
        found: list[Key | None] = [None] * len(uniques)
        bindings = [
            (place, entity, name, pack(values)) for place, (entity, name, values) in enumerate(uniques)
        ]
        for place, key in self._db.executemany(_HOLDER, bindings):
            found[place] = unpack(key)
        return found

    @guarded
    def probe(self, table: Table, range_: Range) -> list[Key]:
        statements = self._shared.statements(table)
        bindings = (*statements.probe_values(range_), range_.limit)
        decode = statements.key_codec.decode
        return [decode(key) for key in self._db.execute(statements.probe(range_), bindings)]

    @guarded
    def scan(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        statements = self._shared.statements(table)
        decode = statements.codec.decode
        if after is None:
            cursor = self._db.execute(statements.scan, (limit,))
        else:
            cursor = self._db.execute(statements.scan_after, (*statements.key_codec.encode(after), limit))
        return [Row(decode_u64(row[0]), decode(row[2:]), row[1]) for row in cursor]

    @guarded
    def tally(self, table: Table, places: Places, now: int) -> list[Tally]:
        return tally(self._db, table, places, now)

    @guarded
    def sizes(self) -> Sizes:
        return sizes(self._db)

    @guarded
    def receipts(self, identities: Sequence[bytes]) -> list[int | None]:
        found: list[int | None] = [None] * len(identities)
        for place, number in self._db.executemany(_RECEIPT, list(enumerate(identities))):
            found[place] = number
        return found

    @guarded
    def count_receipts(self) -> tuple[int, int]:
        ((count, stubs),) = self._db.execute(_RECEIPTS)
        return count - stubs, stubs

    @guarded
    def count_stubs(self, last: int) -> int:
        ((count,),) = self._db.execute(_STUBS, (last,))
        return int(count)

    def stubs(self, last: int) -> Iterator[tuple[bytes, int]]:
        yield from self._each(_ALL_STUBS, (last,))

    def log(self, first: int, last: int) -> Iterator[LogEntry]:
        for row in self._each(_LOG, (first, last)):
            yield LogEntry(*row)

    def _each(self, text: str, bindings: tuple[Any, ...] = ()) -> Iterator[Any]:
        """The rows of a statement, one at a time; asking for one after the block's end raises `Closed`."""
        try:
            for row in self._stepped(text, bindings):
                yield row
                self._db.get_autocommit()  # raises `Closed` after the end of the block
        except (apsw.Error, UnicodeDecodeError) as error:
            raise translated(error) from error

    @guarded
    def events(
        self, name: str, partition: bytes | None, after: tuple[int, int], limit: int
    ) -> list[StoredEvent]:
        if partition is None:
            cursor = self._db.execute(_EVENTS, (name, *after, limit))
        else:
            cursor = self._db.execute(_PARTITION, (name, partition, *after, limit))
        return [StoredEvent(*row) for row in cursor]

    @guarded
    def entries(
        self, space: str, prefix: bytes, after: bytes | None, limit: int
    ) -> list[tuple[bytes, bytes]]:
        # The least key after `after` is it and a zero byte.
        first = prefix if after is None or after < prefix else after + b"\x00"
        found = []
        for key, value, stored in self._db.execute(_ENTRIES, (space, first, limit)):
            if type(key) is not bytes:
                raise _damaged("an entry")
            if not key.startswith(prefix):
                break
            found.append((key, _sound(key, value, stored)))
        return found

    @guarded
    def entries_at(self, space: str, keys: Sequence[bytes]) -> list[bytes | None]:
        found: list[bytes | None] = [None] * len(keys)
        bindings = [(place, space, key) for place, key in enumerate(keys)]
        for place, key, value, stored in self._db.executemany(_ENTRY, bindings):
            found[place] = _sound(key, value, stored)
        return found

    def quads(self) -> Iterator[QuadText]:
        yield from self._each(_QUADS)

    @guarded
    def graphs(self) -> list[str]:
        return [name for (name,) in self._db.execute(_GRAPHS)]


class SqliteWrite(SqliteRead):
    """The write transaction of a SQLite database."""

    __slots__ = ("_commit", "_number")

    def __init__(self, connection: apsw.Connection, shared: Shared, commit: Any) -> None:
        super().__init__(connection, shared)
        self._commit = commit
        self._number: int | None = None  # of the last log record, once it is known

    def _run(self, text: str, bindings: Sequence[tuple[Any, ...]], complaint: str) -> None:
        """Run a statement for each binding; each must change exactly one row."""
        before = self._db.total_changes()
        self._db.executemany(text, bindings)
        check(self._db.total_changes() - before == len(bindings), complaint)

    @guarded
    def write_rows(self, table: Table, changes: Sequence[RowChange], commit: Sequence[int]) -> None:
        statements = self._shared.statements(table)
        inserted: list[tuple[Any, ...]] = []
        deleted: list[tuple[Any, ...]] = []
        updated: dict[Mask, list[tuple[Any, ...]]] = {}
        encode, key_encode = statements.codec.encode, statements.key_codec.encode
        for change, number in zip(changes, commit, strict=True):
            _, key, before, revision, cells = change
            if cells is None:
                if before is not None:
                    deleted.append(key_encode(key))
            elif before is None:
                inserted.append((*encode(cells), encode_u64(revision), number))
            else:
                mask = statements.mask(before.cells, cells)
                values = encode(cells)
                changed = [values[position] for position in mask.positions]
                binding = (*changed, encode_u64(revision), number, *values[: table.key_count])
                updated.setdefault(mask, []).append(binding)
        for mask, bindings in updated.items():
            self._run(mask.text, bindings, "an updated row is there")
        if deleted:
            self._run(statements.delete, deleted, "a deleted row is there")
        if inserted:
            self._run(statements.insert, inserted, "an inserted row is new")
        if table.tombstones:
            self._bury(table, changes)

    def _bury(self, table: Table, changes: Sequence[RowChange]) -> None:
        """Keep the last revisions of deleted rows, and drop those of keys that have a row again."""
        gone = [
            (table.name, pack(change.key), encode_u64(change.revision))
            for change in changes
            if change.cells is None
        ]
        back = [
            (table.name, pack(change.key))
            for change in changes
            if change.cells is not None and change.before is None
        ]
        if gone:
            self._db.executemany(_BURY, gone)
        if back:
            self._db.executemany(_UNBURY, back)

    @guarded
    def write_uniques(self, released: Sequence[UniqueRef], taken: Sequence[tuple[UniqueRef, Key]]) -> None:
        if released:
            self._db.executemany(
                _RELEASE, [(entity, name, pack(values)) for entity, name, values in released]
            )
        if taken:
            entries = [(entity, name, pack(values), pack(key)) for (entity, name, values), key in taken]
            self._db.executemany(_TAKE, entries)

    @guarded
    def append_log(self, entries: Sequence[LogEntry]) -> None:
        check_follows(self.head(), entries)
        self._db.executemany(_APPEND, entries)

    @guarded
    def drop_log(self, last: int, limit: int) -> int:
        before = self._db.total_changes()
        self._db.execute(_DROP_LOG, (last, limit))
        return int(self._db.total_changes() - before)

    @guarded
    def write_receipts(self, receipts: Sequence[tuple[bytes, int]]) -> None:
        # In the order of their places in the tree, neighbours share a page that is at hand.
        bound = sorted(receipt for receipt in receipts if receipt[1] >= 0)
        pruned = [receipt for receipt in receipts if receipt[1] < 0]
        if bound:
            self._db.executemany(_BIND, bound)
        if pruned:
            self._db.executemany(_PRUNE, pruned)

    @guarded
    def drop_stubs(self, last: int, limit: int) -> tuple[int, int]:
        # The last one that goes, and whether another one stays.
        ends = [number for (number,) in self._db.execute(_STUB, (last, limit - 1))]
        through = ends[0] if len(ends) == 2 else last
        before = self._db.total_changes()
        self._db.execute(_DROP_STUBS, (through,))
        return int(self._db.total_changes() - before), through

    @guarded
    def append_events(self, events: Sequence[StoredEvent]) -> None:
        self._db.executemany(_EMIT, events)

    @guarded
    def remove_events(self, events: Sequence[StoredEvent]) -> None:
        self._db.executemany(_UNEMIT, [(event.name, event.number, event.ordinal) for event in events])

    @guarded
    def write_entries(self, space: str, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        # The last change of a key counts; then the order between keys does not matter.
        final = dict(changes)
        gone = [(space, key) for key, value in final.items() if value is None]
        put = [(space, key, value, _sum(key, value)) for key, value in final.items() if value is not None]
        if gone:
            self._db.executemany(_LEAVE, gone)
        if put:
            self._db.executemany(_ENTER, put)

    @guarded
    def put_setting(self, name: str, value: bytes | None) -> None:
        if value is None:
            self._db.execute(_DROP, (name,))
        else:
            self._db.execute(_PUT, (name, value, _sum(name.encode(), value)))

    @guarded
    def create_table(self, table: Table, *, hidden: bool = False) -> None:
        self._define(definition(table, hidden=hidden))

    def _define(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._db.execute(text, can_cache=False)
        note_schema(self._db)

    @guarded
    def alter_table(self, before: Table, after: Table) -> None:
        check_successor(before, after)
        self._define(alteration(before, after))

    @guarded
    def replace_table(self, before: Table, built: Table, after: Table) -> None:
        check_built(before, built, after)
        self._define(replacement(before, built, after))

    @guarded
    def drop_table(self, table: Table) -> None:
        self._define([drop_view(table), f"DROP TABLE {quoted(table.name)}"])

    @guarded
    def drop_uniques(self, entity: str, name: str, limit: int) -> int:
        before = self._db.total_changes()
        self._db.execute(_CLEAR, (entity, name, limit))
        return int(self._db.total_changes() - before)

    @guarded
    def write_quads(self, removed: Sequence[QuadText], added: Sequence[QuadText]) -> None:
        self._db.executemany(_REMOVE_QUAD, removed)
        self._db.executemany(_ADD_QUAD, added)

    @guarded
    def write_graphs(self, removed: Sequence[str], added: Sequence[str]) -> None:
        self._db.executemany(_REMOVE_GRAPH, [(name,) for name in removed])
        self._db.executemany(_ADD_GRAPH, [(name,) for name in added])

    @guarded
    def raise_format(self, version: int) -> None:
        if version > int(self._db.pragma("user_version")):
            self._db.pragma("user_version", version)

    def commit(self) -> None:
        self._commit()
