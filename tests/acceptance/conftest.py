"""What the acceptance tests share: a database with one work item in it, on each store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import postgres
from tests.support.worlds import World


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the test's database is."""
    if request.param == "postgres":
        return postgres.fresh_url()
    return ":memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/work.db"


@pytest.fixture
def world(url: str) -> Iterator[World]:
    """A database with one created work item, at revision 1."""
    made = World(url)
    made.create().expect("Created")
    yield made
    made.db.close()
