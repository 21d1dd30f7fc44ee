"""For your own tests: a clock that you move (`ManualClock`), a store that fails on demand (`FaultStore`)."""

from treadle.testing.clock import ManualClock
from treadle.testing.faults import FaultStore

__all__ = ["FaultStore", "ManualClock"]
