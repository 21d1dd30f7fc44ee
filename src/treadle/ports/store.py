"""The store: what the engine asks of a database, and what each method promises about transactions.

A store holds one history: entity tables, unique entries, tombstones, the log, receipts, events, quads,
a few named settings, and spaces of ordered entries for state that may be large (what consumers of streams
have done). All of it changes only inside a `WriteTx`, and a write transaction is atomic
and durable: after `commit` returns, everything it wrote survives a crash; before, nothing of it does.
Write transactions are serial. A `ReadTx` is a snapshot: it never sees what commits after it began.

Ask `capabilities`, never for the store's name. One conformance suite (tests/conformance) runs on all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from treadle.errors import Busy
from treadle.model.facts import Cells, Key, Range, Row, RowChange, UniqueRef
from treadle.model.types import Type
from treadle.ports.clock import Clock


class Column(NamedTuple):
    """A field of an entity and the column that holds it."""

    field: str
    name: str
    type: Type


class IndexSpec(NamedTuple):
    """A declared index: its own name, its columns' positions, which optional ones must be present."""

    name: str
    positions: tuple[int, ...]
    presence: tuple[int, ...] = ()


class Table(NamedTuple):
    """An entity's table. Columns are the row's cells in order; the first `key_count` are the key.

    `name` is fixed at deployment (the entity's name, with a suffix where the store cannot have that).
    `tombstones` is true where the last revision of a deleted key is kept (entities with a workflow).
    `prefix` is what the names of its indexes begin with, '' for `name`: a table that was built anew beside
    the one it took the place of keeps the names that its indexes were given then.
    """

    entity: str
    name: str
    columns: tuple[Column, ...]
    key_count: int
    tombstones: bool
    indexes: tuple[IndexSpec, ...] = ()
    prefix: str = ""

    def shape(self, spec: IndexSpec) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """An index by the names of its columns: what it is, wherever they stand."""
        names = [column.name for column in self.columns]
        return (
            spec.name,
            tuple(names[position] for position in spec.positions),
            tuple(names[position] for position in spec.presence),
        )


class Head(NamedTuple):
    """The last log record: number (0 before the first), its time in microseconds, its hash (32 bytes)."""

    number: int
    time: int
    hash: bytes


class LogEntry(NamedTuple):
    """A log record as stored: `data` is its canonical encoding, which `hash` covers."""

    number: int
    time: int
    hash: bytes
    data: bytes


class StoredEvent(NamedTuple):
    """An event as stored. `partition` and `data` are canonical encodings."""

    number: int
    ordinal: int
    name: str
    partition: bytes
    data: bytes


QuadText: TypeAlias = tuple[str, str, str, str]
"""Subject, predicate, object and graph in N-Quads spelling; the graph is '' for the default graph."""


class Capabilities(NamedTuple):
    """What a store can do: survive a crash, be opened by several processes, tell the time itself."""

    durable: bool
    processes: bool
    server_clock: bool


def is_stub(number: int) -> bool:
    """Whether what `receipts` answers is a stub: the receipt was pruned, and its key stays refused."""
    return number < 0


class GaveWay(Busy):
    """The store made this transaction give way to another: nothing of it happened, and it may run again."""


class ReadTx(Protocol):
    """A snapshot."""

    def integrity(self) -> list[str]:
        """What the store itself finds wrong with its structure, at most a score; empty where all is well."""

    def head(self) -> Head:
        """The last log record; `Head(0, 0, 32 zero bytes)` in a new database."""

    def setting(self, name: str) -> bytes | None:
        """A named setting."""

    def settings(self, prefix: str) -> dict[str, bytes]:
        """All settings whose name begins with `prefix`."""

    def rows(self, table: Table, keys: Sequence[Key]) -> list[Row | None]:
        """The rows of these keys, in order, None for an absent one."""

    def last_revisions(self, table: Table, keys: Sequence[Key]) -> list[int]:
        """The tombstones of these keys, in order, 0 for none."""

    def holders(self, uniques: Sequence[UniqueRef]) -> list[Key | None]:
        """The keys that hold these unique entries, in order."""

    def probe(self, table: Table, range_: Range) -> list[Key]:
        """At most `range_.limit` keys whose index begins with the values, in index order."""

    def scan(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        """Rows in key order, after a key."""

    def receipts(self, identities: Sequence[bytes]) -> list[int | None]:
        """For each idempotency identity (32 bytes) the number of its log record, or None.

        A negative number is a stub: the receipt of the record with that number was pruned.
        """

    def count_receipts(self) -> tuple[int, int]:
        """How many receipts there are, and how many stubs."""

    def count_stubs(self, last: int) -> int:
        """How many stubs there are of records up to `last`."""

    def stubs(self, last: int) -> Iterator[tuple[bytes, int]]:
        """The stubs of records up to `last`, each with its record's number, in any order."""

    def log(self, first: int, last: int) -> Iterator[LogEntry]:
        """Log records with first <= number <= last, in order."""

    def events(
        self, name: str, partition: bytes | None, after: tuple[int, int], limit: int
    ) -> list[StoredEvent]:
        """Events of one name (and one partition, unless None) after (number, ordinal), in order."""

    def entries(
        self, space: str, prefix: bytes, after: bytes | None, limit: int
    ) -> list[tuple[bytes, bytes]]:
        """Entries of a space whose keys begin with `prefix`, after a key, in the order of their bytes."""

    def entries_at(self, space: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of these keys of a space, in order, None for an absent one."""

    def quads(self) -> Iterator[QuadText]:
        """Every statement of the graph."""

    def graphs(self) -> list[str]:
        """The names of the named graphs that exist, empty ones too, in N-Quads spelling."""


class WriteTx(ReadTx, Protocol):
    """The one write transaction. Reads in it see its own writes."""

    def write_rows(self, table: Table, changes: Sequence[RowChange], commit: Sequence[int]) -> None:
        """Insert (before None), update or delete (cells None) rows; `commit[i]` is `changes[i]`'s record.

        At most one change a key. A delete in a table with tombstones leaves its revision as tombstone; an
        insert removes the tombstone.
        """

    def write_uniques(self, released: Sequence[UniqueRef], taken: Sequence[tuple[UniqueRef, Key]]) -> None:
        """Remove all `released` entries, then add all `taken` ones."""

    def append_log(self, entries: Sequence[LogEntry]) -> None:
        """Append records whose numbers follow the head without a gap."""

    def drop_log(self, last: int, limit: int) -> int:
        """Remove at most `limit` of the earliest records, of none after `last`; how many were removed."""

    def write_receipts(self, receipts: Sequence[tuple[bytes, int]]) -> None:
        """Bind idempotency identities to log records; a negative number makes a receipt a stub."""

    def drop_stubs(self, last: int, limit: int) -> tuple[int, int]:
        """Remove at most `limit` stubs, those of the earliest records, of none after `last`.

        Returns how many were removed, and the record up to which none is left.
        """

    def append_events(self, events: Sequence[StoredEvent]) -> None:
        """Append events."""

    def remove_events(self, events: Sequence[StoredEvent]) -> None:
        """Remove stored events; the log keeps them."""

    def write_entries(self, space: str, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write or remove (None) entries of a space, in this order."""

    def put_setting(self, name: str, value: bytes | None) -> None:
        """Write or remove (None) a named setting."""

    def create_table(self, table: Table, *, hidden: bool = False) -> None:
        """Create an entity's table, its indexes and its readable view, which a hidden one has not."""

    def alter_table(self, before: Table, after: Table) -> None:
        """Bring a table to a successor's form: more optional columns, any order of those that are no key,
        new and removed indexes. Nothing else changes."""

    def replace_table(self, before: Table, built: Table, after: Table) -> None:
        """Drop `before` and put the hidden table `built` in its place, as `after`.

        `built` has the columns, the key, the `prefix` and at least the indexes of `after`; those that
        `after` has not are dropped. The tombstones of the table stay.
        """

    def drop_table(self, table: Table) -> None:
        """Remove a table with its rows, its indexes and its view. Its tombstones stay."""

    def drop_uniques(self, entity: str, name: str, limit: int) -> int:
        """Remove at most `limit` entries of a unique; how many were removed."""

    def write_quads(self, removed: Sequence[QuadText], added: Sequence[QuadText]) -> None:
        """Remove, then add statements."""

    def write_graphs(self, removed: Sequence[str], added: Sequence[str]) -> None:
        """Remove, then add names of named graphs."""

    def raise_format(self, version: int) -> None:
        """Mark the database as one of a later format, which releases that know only earlier ones do not open.

        Nothing happens where it is of that format, or of a later one, already.
        """

    def commit(self) -> None:
        """Make everything durable. On return it is; an exception before `OutcomeUnknown` means it is not."""


class Store(Protocol):
    """An open database."""

    @property
    def capabilities(self) -> Capabilities: ...

    def read(self) -> AbstractContextManager[ReadTx]:
        """A snapshot for the length of the block."""

    def write(self, timeout: float | None = None) -> AbstractContextManager[WriteTx]:
        """The write transaction; leaving the block without `commit` rolls back.

        Waits at most `timeout` seconds for other writers, then raises `Busy`. If `commit` fails in a way
        that leaves the result open, it raises `OutcomeUnknown`.
        """

    def copy(self, target: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Write one snapshot into the new file `target`, where the store is a file.

        `progress` is called with parts copied and in all. Raises `StoreError` where it cannot be done.
        """

    def vacuum(self, timeout: float | None = None) -> tuple[int, int]:
        """Give the space of what was removed back to the system; the file's bytes before and after.

        Writers wait meanwhile, at most `timeout` seconds are waited for them. Raises `Busy`, `DiskFull`, and
        `StoreError` where the store is no file.
        """

    def close(self) -> None:
        """Release everything; idempotent."""


@runtime_checkable
class Timed(Protocol):
    """A store whose server tells the time; `capabilities.server_clock` says that it does."""

    @property
    def clock(self) -> Clock: ...


__all__ = [
    "Capabilities",
    "Cells",
    "Column",
    "GaveWay",
    "Head",
    "IndexSpec",
    "LogEntry",
    "QuadText",
    "ReadTx",
    "Store",
    "StoredEvent",
    "Table",
    "Timed",
    "WriteTx",
    "is_stub",
]
