"""The pytest plugin: a database for one test, its clock, its file, and its faults.

`treadle_db` is the database, in memory. A test that asks for `treadle_file` too has it in that file, and one
that asks for `treadle_faults` gets the store under it, which fails when told to. `treadle_clock` is the clock
of the database and of Python.

Pytest finds the plugin by itself where Treadle is installed (`-p no:treadle.testing.plugin` leaves it out).
It loads Treadle when a test asks for a fixture, so that other tests do not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from treadle import testing

if TYPE_CHECKING:
    from treadle.database import Database
    from treadle.testing.clock import ManualClock
    from treadle.testing.faults import FaultStore

SETTING = "treadle_config"
MOVES = "treadle_clock_moves"
WHAT = ("python", "store")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The setting that names another treadle.toml than the nearest, and what the clock moves."""
    parser.addini(
        SETTING,
        "The treadle.toml whose contract, queries and roles `treadle_db` has, relative to the root folder; "
        "without it the nearest one upward from the test's file.",
        default="",
    )
    parser.addini(
        MOVES,
        "What `treadle_clock` moves: `python` (the database's time and Python's wall clock together) or "
        "`store` (the database's time alone).",
        default="python",
    )


@pytest.fixture
def treadle_clock(request: pytest.FixtureRequest) -> Iterator[ManualClock]:
    """The clock of `treadle_db` and of Python: it stands at 2030-01-01 UTC until the test moves it."""
    moves: str = request.config.getini(MOVES)
    if moves not in WHAT:
        raise pytest.UsageError(f"{MOVES} = {moves}: write {' or '.join(WHAT)}")
    clock = testing.ManualClock(testing.START)
    if moves == "store":
        yield clock
        return
    from treadle.errors import ConfigError

    try:
        wall = clock.as_wall_clock()
        wall.__enter__()
    except ConfigError as error:
        pytest.fail(
            f"{error.message}, or let it move the database's time alone: {MOVES} = store", pytrace=False
        )
    try:
        yield clock
    finally:
        wall.__exit__(None, None, None)


@pytest.fixture
def treadle_file(tmp_path: Path) -> Path:
    """The file of `treadle_db`, which is in memory where a test does not ask for this."""
    return tmp_path / "treadle.db"


@pytest.fixture
def treadle_faults(request: pytest.FixtureRequest) -> FaultStore:
    """The store of `treadle_db`, which fails where the test says: `treadle_faults.arm(3)`."""
    return testing.memory_faults(_place(request))


@pytest.fixture
def treadle_db(request: pytest.FixtureRequest, treadle_clock: ManualClock) -> Iterator[Database]:
    """A new database, with the contract, queries and roles of the project's treadle.toml."""
    faults = request.getfixturevalue("treadle_faults") if "treadle_faults" in request.fixturenames else None
    with testing.memory_database(
        _project(request), url=_place(request), clock=treadle_clock, faults=faults
    ) as database:
        yield database


def _place(request: pytest.FixtureRequest) -> str:
    asked = "treadle_file" in request.fixturenames
    return str(request.getfixturevalue("treadle_file")) if asked else ":memory:"


def _project(request: pytest.FixtureRequest) -> Path:
    named: str = request.config.getini(SETTING)
    return request.config.rootpath / named if named else request.path.parent
