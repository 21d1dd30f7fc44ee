"""Treadle broken on purpose, as functions that a process of the simulator calls before it begins."""

from __future__ import annotations

from typing import Any

from treadle.database import Database
from treadle.engine.overlay import Overlay
from treadle.rows import StoredRow
from treadle.store.sqlite.transactions import SqliteWrite


def stale_read() -> None:
    """A process keeps each row that it has read, and reads it from there a few times."""
    read = Database.row
    kept: dict[Any, tuple[int, StoredRow | None]] = {}

    def row(self: Database, entity: str, key: Any) -> StoredRow | None:
        uses, found = kept.get(key, (0, None))
        if not uses:
            uses, found = 4, read(self, entity, key)
        kept[key] = uses - 1, found
        return found

    Database.row = row  # type: ignore[method-assign]


def lost_update() -> None:
    """A process keeps the rows that its commands have fetched, so it overwrites what others did since."""
    fetch = Overlay._load_rows
    kept: dict[Any, tuple[int, Any]] = {}

    def load_rows(self: Overlay, entity: str, keys: list[Any]) -> None:
        fetch(self, entity, keys)
        for key in keys:
            uses, found = kept.get(key, (0, None))
            if uses:
                self._rows[entity, key] = found
            kept[key] = (uses - 1, found) if uses else (3, self._rows[entity, key])

    Overlay._load_rows = load_rows  # type: ignore[method-assign]


def forgotten_receipts() -> None:
    """Receipts are not stored: what is repeated elsewhere happens again."""
    SqliteWrite.write_receipts = lambda self, *_: None  # type: ignore[method-assign]


def stale_board() -> None:
    """A process keeps the last page that it has read, and reads it from there a few times."""
    query = Database.query
    kept: list[tuple[int, Any]] = [(0, None)]

    def page(self: Database, *given: Any, **options: Any) -> Any:
        uses, found = kept[0]
        if not uses:
            uses, found = 9, query(self, *given, **options)
        kept[0] = uses - 1, found
        return found

    Database.query = page  # type: ignore[method-assign]
