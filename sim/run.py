"""Running a script: from an empty disk to the verdict of the checkers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sim.actions import act
from sim.checkers import Broken, check
from sim.script import Step
from sim.world import World
from treadle.errors import TreadleError

CHECK_EVERY = 60


class Result(NamedTuple):
    """How a run ended: records in the log, faults that fired, and what broke (None where nothing did)."""

    records: int
    faults: dict[str, int]
    broken: str | None
    steps: int


def folder() -> str | None:
    """In memory, where there is such a place: the disk is simulated, and its flushes are not timed."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def run(seed: int, script: Sequence[Step]) -> Result:
    """Run a script in a new world. The checkers look now and then, and at the end."""
    with tempfile.TemporaryDirectory(prefix="treadle-sim-", dir=folder()) as place:
        world = World(Path(place), seed)
        done = records = 0
        try:
            for done, step in enumerate(script, start=1):
                try:
                    act(world, step)
                except TreadleError:
                    continue  # a handle that could not be opened: the client comes back later
                if done % CHECK_EVERY == 0:
                    records = check(world)
            world.disk.repair()
            records = check(world)
        except Broken as broken:
            return Result(records, world.faults, str(broken), done)
        except TreadleError as error:
            return Result(records, world.faults, f"cannot be read any more: {error.code}: {error}", done)
        finally:
            world.close()
        return Result(records, world.faults, None, done)
