"""What a scenario is: a part of the database that is simulated, from a seed to a verdict."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple


class Broken(Exception):
    """A rule does not hold; the text says which, and where."""


def demand(condition: object, what: str) -> None:
    """Raise `Broken` where a rule does not hold."""
    if not condition:
        raise Broken(what)


class Result(NamedTuple):
    """How a run ended: records in the log, faults that fired, and what broke (None where nothing did)."""

    records: int
    faults: dict[str, int]
    broken: str | None
    steps: int


class Scenario(NamedTuple):
    """A scenario. Steps are its own affair; any subset of a script must be a script that can be run.

    `draw(seed, length)` gives the script of a seed, the same for ever; `run(seed, script)` runs it in a new
    world; `tell(script)` puts it into words, a line a step. Where runs of one script differ, `tries` says how
    often a failing one is run again before it counts as mended.
    """

    draw: Callable[[int, int], list[Any]]
    run: Callable[[int, Sequence[Any]], Result]
    tell: Callable[[Sequence[Any]], str]
    tries: int = 1


SCENARIOS: Final = ("contract", "graph", "processes", "work")
"""The packages beside this module that hold a `SCENARIO`."""


def scenario(name: str) -> Scenario:
    """The scenario with a name out of `SCENARIOS`."""
    found: Scenario = importlib.import_module(f"sim.{name}").SCENARIO
    return found


def folder() -> str | None:
    """In memory, where there is such a place: the disk is simulated, and its flushes are not timed."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
