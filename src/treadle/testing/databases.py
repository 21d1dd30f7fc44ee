"""A database for one test."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from treadle import config
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.ports.clock import Clock
from treadle.ports.store import Store
from treadle.store import open_store
from treadle.store.ids import SystemIds
from treadle.testing.clock import ManualClock
from treadle.testing.faults import FaultStore

START: Final = datetime(2030, 1, 1, tzinfo=UTC)
"""Where a test's clock stands at first."""


def memory_faults(url: str | Path = ":memory:") -> FaultStore:
    """A store that fails on demand, for `memory_database`: in memory, or at another `url`."""
    return FaultStore(open_store(str(url)))


def memory_database(
    project: str | Path | None = None,
    *,
    url: str | Path = ":memory:",
    clock: ManualClock | None = None,
    faults: FaultStore | None = None,
) -> Database:
    """A new database in memory, with a clock that stands still until the test moves it.

    `project` is a `treadle.toml`, or a folder in or below which it is: its contract, named queries and roles
    are deployed. Environment variables are left out, so that a test does not depend on the shell. Without a
    project, or a contract in it, nothing is deployed. `url` names another place than memory, such as a file
    of the test. `faults` is the store to use, which may then be told to fail. Close the database, or use it
    as a context manager.
    Raises `ConfigError` for settings that are wrong, and `ContractError` for a contract that is.
    """
    store: Store = faults or open_store(str(url))
    database = _database(store, clock or ManualClock(START), str(url))
    try:
        if project is not None:
            _deploy(database, Path(project))
    except BaseException:
        database.close()
        raise
    return database


def reopen(database: Database) -> Database:
    """The database as the next process finds it: another handle that knows only what was committed.

    For what comes after a crash (`FaultStore.crash`, or a handler that raised `Crashed`): a store that
    was told to fail works again. Both handles share the store, so close one of them, at the end.
    """
    engine = database._engine
    if isinstance(engine.store, FaultStore):
        engine.store.arm(None)
    return _database(engine.store, engine.clock, database.url)


def _database(store: Store, clock: Clock, url: str) -> Database:
    return Database(Engine(store, clock, SystemIds(), maximum_jump=None), url)


def _deploy(database: Database, project: Path) -> None:
    settings = config.load(start=project) if project.is_dir() else config.load(file=project)
    if settings.file is None or settings.contract_source is None:
        return
    queries = settings.query_files if settings["contract.queries"] else None
    database.deploy(settings.contract_source, queries=queries, roles=settings.roles)
