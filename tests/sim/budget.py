"""How many seeds each scenario runs in `make test`, and how long their scripts are: all of it in one table.

At effort 1 these are 1,000 seeds or more; TREADLE_TEST_EFFORT multiplies them. Many seeds share one test, so
that the runner's own work stays small. Aim: SECONDS of CPU time for all scenarios together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sim.scenario import scenario
from tests.support.effort import effort

SECONDS: Final = 120


class Share(NamedTuple):
    """`seeds` seeds whose scripts have `steps` steps, `at_once` of them in a test."""

    seeds: int
    steps: int
    at_once: int


TABLE: Final[dict[str, tuple[Share, ...]]] = {
    "contract": (Share(530, 40, 106), Share(10, 600, 5)),
    "graph": (Share(210, 40, 42), Share(5, 400, 5)),
    "processes": (Share(110, 45, 11), Share(4, 300, 1)),
    "work": (Share(130, 35, 26), Share(3, 400, 3)),
}

KEPT: Final[dict[str, tuple[tuple[int, int], ...]]] = {"work": ((0, 80), (1, 80), (7, 120))}
"""Seeds that failed once, with the length of their scripts: they run for ever."""


class Group(NamedTuple):
    """Seeds that one test runs."""

    name: str
    seeds: tuple[int, ...]
    steps: int

    def __str__(self) -> str:
        return f"{self.name}-{self.seeds[0]}..{self.seeds[-1]}-of-{self.steps}"


def groups(name: str) -> list[Group]:
    """The tests of a scenario. Short scripts come first; seeds of different lengths are different ones."""
    return [*_kept(name), *_drawn(name)]


def _kept(name: str) -> Iterator[Group]:
    for seed, steps in KEPT.get(name, ()):
        yield Group(name, (seed,), steps)


def _drawn(name: str) -> Iterator[Group]:
    first = 0
    for share in TABLE[name]:
        last = first + effort(share.seeds)
        for start in range(first, last, share.at_once):
            yield Group(name, tuple(range(start, min(start + share.at_once, last))), share.steps)
        first = last


def hold(group: Group) -> None:
    """Run the seeds of a group; whatever breaks is named with the line that repeats it."""
    found = scenario(group.name)
    broken = []
    records = 0
    for seed in group.seeds:
        result = found.run(seed, found.draw(seed, group.steps))
        records += result.records
        if result.broken is not None:
            line = f"make sim SCENARIO={group.name} SEED={seed} STEPS={group.steps}"
            broken.append(f"{result.broken}\n    repeat with: {line}")
    assert not broken, "\n".join(broken)
    assert records > len(group.seeds) * group.steps // 5, "the scripts do hardly anything"
