"""For your own tests: a clock that you move, a database in memory, assertions, faults.

`plugin` is the pytest plugin, with the fixtures `treadle_clock`, `treadle_db` and `treadle_faults`; it is
found by itself where Treadle is installed, and imports nothing until a test asks for a fixture. The parts:
`ManualClock`, `FaultStore` with `answer_lost` and `disk_failed`, `memory_database` with `memory_faults` and
`START`, `run_until_idle`, `assert_outcome` and `assert_events`. docs/howto/testing.md shows them at work.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from treadle.testing.asserting import assert_events, assert_outcome
    from treadle.testing.clock import ManualClock
    from treadle.testing.databases import START, memory_database, memory_faults
    from treadle.testing.faults import FaultStore, answer_lost, disk_failed
    from treadle.testing.idle import run_until_idle

_LATER: Final = {
    "FaultStore": "treadle.testing.faults",
    "START": "treadle.testing.databases",
    "ManualClock": "treadle.testing.clock",
    "answer_lost": "treadle.testing.faults",
    "assert_events": "treadle.testing.asserting",
    "assert_outcome": "treadle.testing.asserting",
    "disk_failed": "treadle.testing.faults",
    "memory_database": "treadle.testing.databases",
    "memory_faults": "treadle.testing.databases",
    "run_until_idle": "treadle.testing.idle",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'treadle.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "FaultStore",
    "ManualClock",
    "START",
    "answer_lost",
    "assert_events",
    "assert_outcome",
    "disk_failed",
    "memory_database",
    "memory_faults",
    "run_until_idle",
]
