"""For your own tests: a clock that you move (`ManualClock`)."""

from treadle.testing.clock import ManualClock

__all__ = ["ManualClock"]
