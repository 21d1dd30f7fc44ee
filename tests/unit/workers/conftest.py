"""Databases for tests of workers: in memory, with a clock that stands, and verified in the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.engines import START
from tests.support.jobs import jobs
from treadle.database import Database
from treadle.store.memory import MemoryStore
from treadle.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    made = jobs(MemoryStore(), clock)
    yield made
    report = made.verify()
    assert report.ok, report.problems
