"""A store of one schema for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import postgres
from treadle.store.postgres import PostgresStore, open_database


@pytest.fixture
def schema() -> str:
    return postgres.fresh_schema()


@pytest.fixture
def store(schema: str) -> Iterator[PostgresStore]:
    opened = open_database(postgres.shared().url(schema))
    yield opened
    opened.close()
