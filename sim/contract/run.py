"""Running a script: from an empty disk to the verdict."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sim.contract.acting import act
from sim.contract.world import World
from sim.jobs.script import WEIGHTS, Odds, Step
from sim.jobs.script import draw as drawn
from sim.jobs.verdict import Jury
from sim.scenario import Broken, Result, folder
from treadle.errors import TreadleError

CHECK_EVERY: Final = 60


def draw(seed: int, length: int) -> list[Step]:
    """The script of a seed."""
    return drawn(seed, length, Odds({**WEIGHTS, "power": 1, "disk": 2}))


def run(seed: int, script: Sequence[Step]) -> Result:
    """Run a script in a new world. The jury looks now and then, and at the end."""
    with tempfile.TemporaryDirectory(prefix="treadle-sim-", dir=folder()) as place:
        world = World(Path(place), seed)
        jury = Jury(world.clients)
        done, broken = 0, None
        try:
            for done, step in enumerate(script, start=1):
                act(world, step)
                if done % CHECK_EVERY == 0:
                    jury.now_and_then(world.handle(0))
            world.disk.repair()
            jury.finally_(world.handle(0))
        except Broken as error:
            broken = str(error)
        except TreadleError as error:
            broken = f"cannot be read any more: {error.code}: {error}"
        finally:
            world.close()
        return Result(len(jury.log.entries), dict(world.faults), broken, done)
