"""The pytest plugin: `treadle_db`, a database for one test, `treadle_clock`, its clock, and `treadle_faults`.

Pytest finds it by itself where Treadle is installed (`-p no:treadle.testing.plugin` leaves it out). It
loads Treadle when a test asks for a fixture, so that other tests do not pay for it.
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


def pytest_addoption(parser: pytest.Parser) -> None:
    """The setting that names another treadle.toml than the nearest."""
    parser.addini(
        SETTING,
        "The treadle.toml whose contract, queries and roles `treadle_db` has, relative to the root folder; "
        "without it the nearest one upward from the test's file.",
        default="",
    )


@pytest.fixture
def treadle_clock() -> ManualClock:
    """The clock of `treadle_db`: it stands at 2030-01-01 UTC until the test moves it."""
    return testing.ManualClock(testing.START)


@pytest.fixture
def treadle_faults() -> FaultStore:
    """The store of `treadle_db`, which fails where the test says: `treadle_faults.arm(3)`."""
    return testing.memory_faults()


@pytest.fixture
def treadle_db(request: pytest.FixtureRequest, treadle_clock: ManualClock) -> Iterator[Database]:
    """A new database in memory, with the contract, queries and roles of the project's treadle.toml."""
    faults = request.getfixturevalue("treadle_faults") if "treadle_faults" in request.fixturenames else None
    with testing.memory_database(_project(request), clock=treadle_clock, faults=faults) as database:
        yield database


def _project(request: pytest.FixtureRequest) -> Path:
    named: str = request.config.getini(SETTING)
    return request.config.rootpath / named if named else request.path.parent
