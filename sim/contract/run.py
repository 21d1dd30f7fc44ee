"""Running a script: from an empty disk to the verdict of the checkers."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from sim.contract.actions import act
from sim.contract.checkers import check
from sim.contract.script import Step
from sim.contract.world import World
from sim.scenario import Broken, Result, folder
from treadle.errors import TreadleError

CHECK_EVERY = 60


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
