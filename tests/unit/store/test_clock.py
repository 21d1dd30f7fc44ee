"""The store's clock: the wall clock once, then one that nobody sets."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from treadle.store.clock import SystemClock
from treadle.testing.clock import ManualClock

SECOND = 1_000_000_000


class Hands:
    """A wall clock and a carrying clock that a test turns."""

    def __init__(self) -> None:
        self.wall, self.carrier = 1_700_000_000 * SECOND, 5 * SECOND

    def pass_(self, seconds: float, wall: float | None = None) -> None:
        self.carrier += round(seconds * SECOND)
        self.wall += round((seconds if wall is None else wall) * SECOND)


def test_time_passes():
    hands = Hands()
    clock = SystemClock(lambda: hands.wall, lambda: hands.carrier)
    assert clock.now() == 1_700_000_000_000_000
    hands.pass_(1.5)
    assert clock.now() == 1_700_000_001_500_000
    assert clock.manual is False


@pytest.mark.parametrize("step", [-86_400.0, 86_400.0])
def test_setting_the_wall_clock_neither_freezes_nor_jumps(step):
    hands = Hands()
    clock = SystemClock(lambda: hands.wall, lambda: hands.carrier)
    hands.pass_(10, wall=step)
    assert clock.now() == 1_700_000_010_000_000


def test_the_real_clock_shows_the_wall_time():
    clock = SystemClock()
    assert abs(clock.now() - time.time_ns() // 1000) < 5_000_000
    first = clock.now()
    time.sleep(0.01)
    assert clock.now() - first >= 9_000


def test_a_manual_clock_moves_when_told():
    clock = ManualClock(datetime(2030, 1, 1, tzinfo=UTC))
    assert clock.manual is True
    assert clock.now() == 1_893_456_000_000_000
    clock.advance(timedelta(seconds=1, microseconds=1))
    assert clock.now() == 1_893_456_001_000_001
    clock.advance(-timedelta(days=1))
    assert clock.now() == 1_893_369_601_000_001
    clock.set(datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC))
    assert clock.now() == -1_000_000


@pytest.mark.parametrize("act", [ManualClock, ManualClock(datetime(2030, 1, 1, tzinfo=UTC)).set])
def test_a_manual_clock_needs_a_zone(act):
    with pytest.raises(ValueError, match="zone"):
        act(datetime(2030, 1, 1))
