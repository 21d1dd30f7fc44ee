"""What a campaign ran, and what it says of a seed that fails."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sim.scenario import Result, scenario
from sim.shrink import shrink

SHRINKING: Final = 180.0
"""Seconds for which a shorter script is looked for."""


@dataclass
class Ran:
    """What was run of one scenario."""

    seeds: int = 0
    steps: int = 0
    records: int = 0
    faults: Counter[str] = field(default_factory=Counter)


class Summary:
    """Everything that ran."""

    def __init__(self) -> None:
        self._ran: defaultdict[str, Ran] = defaultdict(Ran)

    def add(self, name: str, result: Result) -> None:
        """Count a run that ended well."""
        ran = self._ran[name]
        ran.seeds += 1
        ran.steps += result.steps
        ran.records += result.records
        ran.faults.update(result.faults)

    def __str__(self) -> str:
        lines = [f"{'scenario':<12}{'seeds':>8}{'steps':>10}{'records':>10}  what went wrong on purpose"]
        for name, ran in self._ran.items():
            faults = ", ".join(f"{kind} {count:,}" for kind, count in sorted(ran.faults.items()))
            lines.append(f"{name:<12}{ran.seeds:>8,}{ran.steps:>10,}{ran.records:>10,}  {faults}")
        everything = Ran()
        for ran in self._ran.values():
            everything.seeds += ran.seeds
            everything.steps += ran.steps
            everything.records += ran.records
            everything.faults.update(ran.faults)
        total, kills = everything.faults.total(), _kills(everything.faults)
        lines.append(
            f"{'all':<12}{everything.seeds:>8,}{everything.steps:>10,}{everything.records:>10,}"
            f"  {total:,} in all, {kills:,} of them processes killed"
        )
        return "\n".join(lines)


def _kills(faults: Counter[str]) -> int:
    return sum(count for kind, count in faults.items() if kind.startswith("kill"))


def told(name: str, seed: int, steps: int, result: Result) -> str:
    """What broke, the line that repeats it, and the shortest history found that still breaks."""
    found = scenario(name)
    last = time.monotonic() + SHRINKING
    why = [str(result.broken)]

    def fails(attempt: Sequence[Any]) -> bool:
        for _ in range(found.tries):
            broken = found.run(seed, attempt).broken if time.monotonic() < last else None
            if broken is not None:
                why[0] = broken
                return True
        return False

    short = shrink(found.draw(seed, steps)[: result.steps], fails, most=150)
    lines = ["the shortest script found that still breaks:"]
    if found.tries > 1:
        lines.append(
            f"(its processes race, so runs of it differ: each script was run up to {found.tries} times"
            " before it counted as sound; repeat it a few times)"
        )
    return "\n".join([*lines, found.tell(short), f"then: {why[0]}"])
