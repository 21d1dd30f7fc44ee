"""For your own tests: a clock that you move, a database, workers until idle, assertions, faults.

`plugin` is the pytest plugin, with the fixtures `treadle_clock`, `treadle_db`, `treadle_file` and
`treadle_faults`; it is found by itself where Treadle is installed, and imports nothing until a test asks for
a fixture. The parts, in the order in which a test meets them: `ManualClock`, the clock; `memory_database`,
`reopen` and `START`; `run_until_idle`; `assert_outcome` and `assert_events`; `FakeTurn` and `lose_lease` for
handlers; `FaultStore` (`memory_faults`) with `answer_lost`, `busy`, `disk_failed`, `disk_full` and `Crashed`;
`FaultTransport` on the way to a server. docs/howto/testing.md shows them at work.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from treadle.testing.asserting import assert_events, assert_outcome
    from treadle.testing.clock import ManualClock
    from treadle.testing.databases import START, memory_database, memory_faults, reopen
    from treadle.testing.faults import Crashed, FaultStore, answer_lost, busy, disk_failed, disk_full
    from treadle.testing.idle import run_until_idle
    from treadle.testing.network import FaultTransport
    from treadle.testing.turns import FakeTurn, lose_lease

_LATER: Final = {
    "Crashed": "treadle.testing.faults",
    "FakeTurn": "treadle.testing.turns",
    "FaultStore": "treadle.testing.faults",
    "FaultTransport": "treadle.testing.network",
    "START": "treadle.testing.databases",
    "ManualClock": "treadle.testing.clock",
    "answer_lost": "treadle.testing.faults",
    "assert_events": "treadle.testing.asserting",
    "assert_outcome": "treadle.testing.asserting",
    "busy": "treadle.testing.faults",
    "disk_failed": "treadle.testing.faults",
    "disk_full": "treadle.testing.faults",
    "lose_lease": "treadle.testing.turns",
    "memory_database": "treadle.testing.databases",
    "memory_faults": "treadle.testing.databases",
    "reopen": "treadle.testing.databases",
    "run_until_idle": "treadle.testing.idle",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'treadle.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Crashed",
    "FakeTurn",
    "FaultStore",
    "FaultTransport",
    "ManualClock",
    "START",
    "answer_lost",
    "assert_events",
    "assert_outcome",
    "busy",
    "disk_failed",
    "disk_full",
    "lose_lease",
    "memory_database",
    "memory_faults",
    "reopen",
    "run_until_idle",
]
