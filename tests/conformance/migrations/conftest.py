"""A shop whose orders are on their way to a successor, on each store."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.support.engines import open_on
from tests.support.orders import Shop
from treadle.engine import migration as migrating
from treadle.ports.store import Store
from treadle.testing import ManualClock

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def shop(store: Store, clock: ManualClock) -> Shop:
    made = Shop(open_on(store, clock))
    for customer in (1, 2, 3):
        made.customer(customer)
    return made


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows a step, so that a migration of a few rows takes several."""
    monkeypatch.setattr(migrating, "STEP_ROWS", 2)
