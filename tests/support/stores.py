"""Kinds of stores for tests that run on each: how to open one, and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Protocol

import pytest

from tests.support import postgres
from treadle.ports.store import Store
from treadle.store.memory import MemoryStore
from treadle.store.postgres import open_database as open_postgres
from treadle.store.sqlite import open_database


class StoreKind(Protocol):
    """A place for one database of one kind."""

    name: ClassVar[str]

    def __init__(self, folder: Path) -> None: ...

    def open(self) -> Store:
        """Open the database; a second time, the same one."""

    def skip_unless_available(self) -> None:
        """Skip the test, with the reason, where this kind cannot run."""

    def remove(self) -> None:
        """Leave nothing behind."""


class MemoryKind:
    name: ClassVar[str] = "memory"

    def __init__(self, folder: Path) -> None:
        self._store: MemoryStore | None = None

    def open(self) -> Store:
        if self._store is not None:
            pytest.skip("a memory database has one handle")
        self._store = MemoryStore()
        return self._store

    def skip_unless_available(self) -> None:
        pass

    def remove(self) -> None:
        pass


class SqliteKind:
    name: ClassVar[str] = "sqlite"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "work.db"

    def open(self) -> Store:
        return open_database(str(self.path))

    def skip_unless_available(self) -> None:
        pass

    def remove(self) -> None:
        pass


class PostgresKind:
    name: ClassVar[str] = "postgres"

    def __init__(self, folder: Path) -> None:
        self._schema = postgres.fresh_schema()

    def open(self) -> Store:
        return open_postgres(postgres.shared().url(self._schema))

    def skip_unless_available(self) -> None:
        postgres.skip_unless_installed()

    def remove(self) -> None:
        postgres.dropped(self._schema)


KINDS: tuple[Callable[[Path], StoreKind], ...] = (MemoryKind, SqliteKind, PostgresKind)
