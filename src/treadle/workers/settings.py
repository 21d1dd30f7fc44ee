"""What a worker is told once, whatever database it works on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from treadle.workers.caps import Cap
from treadle.workers.counters import Counters, Hooks
from treadle.workers.handlers import Handler
from treadle.workers.patience import Pace
from treadle.workers.plan import Names


@dataclass(frozen=True)
class Settings:
    """See `treadle.worker` for what each is. `pace` and `hooks` are for tests and for whoever looks in."""

    name: str
    handler: Handler
    names: Names
    lease: int
    concurrency: int
    attempts: int
    backoff: float
    poll: float
    values: Mapping[str, Any]
    closed: frozenset[str] = frozenset()
    caps: Sequence[Cap] = ()
    pace: Pace = field(default_factory=Pace)
    hooks: Hooks = field(default_factory=Hooks)
    counters: Counters = field(default_factory=Counters)
