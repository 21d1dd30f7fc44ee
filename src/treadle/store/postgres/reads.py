"""What can be asked inside a transaction: each method is one prepared statement for all that is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final
from zlib import crc32

from treadle.errors import DatabaseCorrupt
from treadle.model.facts import Key, Range, Row, UniqueRef
from treadle.model.packing import pack, unpack
from treadle.model.ranges import after_prefix
from treadle.ports.store import Head, LogEntry, QuadText, StoredEvent, Table
from treadle.ports.tallies import FREE, HELD, LAPSED, Places, Tally
from treadle.store.handle import ENDED, ended
from treadle.store.postgres.cells import cell_decoder
from treadle.store.postgres.queries import PostgresWalks
from treadle.store.postgres.relations import Names, Shared
from treadle.store.postgres.schema import Opening
from treadle.store.postgres.sessions import Session
from treadle.store.postgres.statements import COMMIT
from treadle.store.postgres.texts import place_of, texts

_PAGE: Final = 64
_MOST_PAGE: Final = 4_096
_PAGE_BYTES: Final = 1 << 20
_LAST: Final = 2**63 - 1


def checksum(name: bytes, value: bytes) -> int:
    """What a setting or an entry is stored with: no other part of the database vouches for it."""
    return crc32(value, crc32(name))


def _sound(name: bytes, value: bytes, stored: int) -> bytes:
    """The value, if it is what was stored under the name; raises `DatabaseCorrupt`."""
    if checksum(name, value) != stored:
        raise DatabaseCorrupt(f"{_shown(name)} is not as it was written; restore a backup")
    return value


def _shown(name: bytes) -> str:
    return ascii(name[:40].decode("latin-1"))


def _next_page(limit: int, count: int, size: int) -> int:
    """How many rows to ask for next, so that a page stays near a mebibyte."""
    if not count:
        return limit
    return max(1, min(_MOST_PAGE, 4 * limit, _PAGE_BYTES * count // max(1, size)))


class PostgresRead(PostgresWalks):
    """A snapshot of a PostgreSQL database."""

    __slots__ = ("_names", "_opening", "_session", "_shared", "_texts")

    def __init__(self, session: Session, shared: Shared, opening: Opening) -> None:
        self._session: Any = session
        self._shared = shared
        self._opening = opening
        self._names = Names(session, shared, opening.generation)
        self._texts = texts(shared.schema)

    def end(self) -> None:
        """Refuse every later use."""
        self._session = ENDED

    def _check_open(self) -> None:
        if self._session is ENDED:
            raise ended()

    def integrity(self) -> list[str]:
        found = [
            f"the table of entity {name} is missing"
            for (name,) in self._session.rows(self._texts.missing, [self._shared.texts.name])
        ]
        ((count, spread),) = self._session.rows(self._texts.gap)
        if count and count != spread:
            found.append("records are missing in the middle of the log")
        sums = self._session.stepped(self._texts.sums, [])
        while rows := sums.fetch():
            found += [
                f"{_shown(name)} is not as it was written"
                for name, value, stored in rows
                if checksum(name, value) != stored
            ]
        return found[:20]

    def head(self) -> Head:
        self._check_open()
        return self._opening.head

    def setting(self, name: str) -> bytes | None:
        found = self._session.rows(self._texts.setting, [name])
        return _sound(name.encode(), *found[0]) if found else None

    def settings(self, prefix: str) -> dict[str, bytes]:
        rows = self._session.rows(self._texts.settings, [prefix, after_prefix(prefix)])
        return {name: _sound(name.encode(), value, stored) for name, value, stored in rows}

    def rows(self, table: Table, keys: Sequence[Key]) -> list[Row | None]:
        self._check_open()
        statements = self._names.statements(table)
        found: list[Row | None] = [None] * len(keys)
        if keys:
            decode = statements.codec.decode
            for row in self._session.rows(statements.fetch, statements.key_codec.arrays(keys)):
                found[row[0] - 1] = Row(int(row[1]), decode(row[3:]), row[2])
        return found

    def last_revisions(self, table: Table, keys: Sequence[Key]) -> list[int]:
        found = [0] * len(keys)
        if keys:
            packed = [pack(key) for key in keys]
            for place, revision in self._session.rows(self._texts.tombstones, [table.name, packed]):
                found[place - 1] = int(revision)
        return found

    def holders(self, uniques: Sequence[UniqueRef]) -> list[Key | None]:
        found: list[Key | None] = [None] * len(uniques)
        if uniques:
            entities, names, values = zip(*uniques, strict=True)
            places = [place_of(pack(each)) for each in values]
            for place, key in self._session.rows(self._texts.holders, [list(entities), list(names), places]):
                found[place - 1] = unpack(key)
        return found

    def probe(self, table: Table, range_: Range) -> list[Key]:
        self._check_open()
        statements = self._names.statements(table)
        bindings = [*statements.probe_values(range_), range_.limit]
        decode = statements.key_codec.decode
        return [decode(key) for key in self._session.rows(statements.probe(range_), bindings)]

    def scan(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        self._check_open()
        statements = self._names.statements(table)
        decode = statements.codec.decode
        if after is None:
            rows = self._session.rows(statements.scan, [limit])
        else:
            bindings = [*statements.key_codec.encode(after), limit]
            rows = self._session.rows(statements.scan_after, bindings)
        return [Row(int(row[0]), decode(row[2:]), row[1]) for row in rows]

    def tally(self, table: Table, places: Places, now: int) -> list[Tally]:
        """The rows of a table by state and hold at the time `now` (`treadle.ports.tallies`)."""
        self._check_open()
        statements = self._names.statements(table)
        state = statements.columns[places.state]
        hold, until = f"{FREE}::bigint", "NULL::bigint"
        if places.owner is not None and places.until is not None:
            owner, until = statements.columns[places.owner], statements.columns[places.until]
            hold = (
                f"CASE WHEN {owner} IS NULL OR {until} IS NULL THEN {FREE} "
                f"WHEN {until} > {now:d} THEN {HELD} ELSE {LAPSED} END::bigint"
            )
        rows = self._session.rows(
            f"SELECT {state}, {hold}, count(*), min({COMMIT}), min({until}) "
            f"FROM {statements.name} GROUP BY 1, 2",
            prepare=False,
        )
        decode = cell_decoder(table.columns[places.state].type)
        return [
            Tally(decode(cell), kind, count, commit, end if kind else None)
            for cell, kind, count, commit, end in rows
        ]

    def receipts(self, identities: Sequence[bytes]) -> list[int | None]:
        found: list[int | None] = [None] * len(identities)
        if identities:
            for place, number in self._session.rows(self._texts.receipts, [list(identities)]):
                found[place - 1] = number
        return found

    def count_receipts(self) -> tuple[int, int]:
        ((count, stubs),) = self._session.rows(self._texts.count_receipts)
        return count - stubs, stubs

    def count_stubs(self, last: int) -> int:
        ((count,),) = self._session.rows(self._texts.count_stubs, [last])
        return int(count)

    def stubs(self, last: int) -> Iterator[tuple[bytes, int]]:
        stepped = self._session.stepped(self._texts.stubs, [last])
        while rows := stepped.fetch():
            for row in rows:
                yield row
                self._check_open()

    def log(self, first: int, last: int) -> Iterator[LogEntry]:
        limit = _PAGE
        last = min(last, _LAST)
        while first <= last:
            rows = self._session.rows(self._texts.log, [first, last, min(limit, last - first + 1)])
            for row in rows:
                yield LogEntry(*row)
                self._check_open()
            if not rows:
                return
            first = rows[-1][0] + 1
            limit = _next_page(limit, len(rows), sum(len(row[3]) for row in rows))
        self._check_open()

    def events(
        self, name: str, partition: bytes | None, after: tuple[int, int], limit: int
    ) -> list[StoredEvent]:
        if partition is None:
            rows = self._session.rows(self._texts.events, [name, *after, limit])
        else:
            rows = self._session.rows(self._texts.partition, [name, partition, *after, limit])
        return [StoredEvent(*row) for row in rows]

    def entries(
        self, space: str, prefix: bytes, after: bytes | None, limit: int
    ) -> list[tuple[bytes, bytes]]:
        # The least key after `after` is it and a zero byte.
        first = prefix if after is None or after < prefix else after + b"\x00"
        found = []
        for key, value, stored in self._session.rows(self._texts.entries, [space, first, limit]):
            if not key.startswith(prefix):
                break
            found.append((key, _sound(key, value, stored)))
        return found

    def entries_at(self, space: str, keys: Sequence[bytes]) -> list[bytes | None]:
        found: list[bytes | None] = [None] * len(keys)
        if keys:
            for row in self._session.rows(self._texts.entries_at, [space, list(keys)]):
                found[row[0] - 1] = _sound(*row[1:])
        return found

    def quads(self) -> Iterator[QuadText]:
        limit, after = _PAGE, b""
        while rows := self._session.rows(self._texts.quads, [after, limit]):
            for row in rows:
                yield row[1:]
                self._check_open()
            after = rows[-1][0]
            limit = _next_page(limit, len(rows), sum(len(text) for row in rows for text in row))

    def graphs(self) -> list[str]:
        return [name for (name,) in self._session.rows(self._texts.graphs)]
