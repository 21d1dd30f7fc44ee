"""Running a script: from a database at its beginning to the verdict of the checkers."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sim.graph.actions import act
from sim.graph.checkers import check
from sim.graph.script import Step
from sim.graph.world import World
from sim.scenario import Broken, Result, folder
from treadle.errors import TreadleError

CHECK_EVERY: Final = 200


def run(seed: int, script: Sequence[Step]) -> Result:
    """Run a script in a new world. The checkers look now and then, before a restore, and at the end."""
    with tempfile.TemporaryDirectory(prefix="treadle-sim-", dir=folder()) as place:
        world = World(Path(place), seed)
        world.verdict = lambda: check(world)
        done = records = 0
        try:
            for done, step in enumerate(script, start=1):
                try:
                    act(world, step)
                except TreadleError:
                    continue  # refused, unreachable, or a disk that failed: the client comes back later
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
