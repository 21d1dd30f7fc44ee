"""Running a script: from an empty file to the verdict."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sim.jobs.script import FATES, WEIGHTS, Odds, Step, together
from sim.jobs.script import draw as drawn
from sim.jobs.verdict import Jury
from sim.processes.acting import act
from sim.processes.world import World
from sim.scenario import Broken, Result, folder
from treadle.errors import TreadleError

CHECK_EVERY: Final = 200
ODDS: Final = Odds({**WEIGHTS, "kill": 6, "disk": 4}, {**FATES, "hasty": 8}, beside=0.45)
TRIES: Final = 6
"""How often a failing script is run again to see whether it still fails: processes race, so runs differ."""


def draw(seed: int, length: int) -> list[Step]:
    """The script of a seed."""
    return drawn(seed, length, ODDS)


def run(seed: int, script: Sequence[Step], defect: str | None = None) -> Result:
    """Run a script in a new world. `defect` is given to every process (see `sim.processes.serving.main`)."""
    with tempfile.TemporaryDirectory(prefix="treadle-sim-", dir=folder()) as place:
        world = World(Path(place), seed, defect)
        jury = Jury(world.clients)
        done, broken = 0, None
        try:
            for group in together(script):
                act(world, group)
                done += len(group)
                if done // CHECK_EVERY != (done - len(group)) // CHECK_EVERY:
                    with world.here() as db:
                        jury.now_and_then(db)
            world.close()
            with world.here() as db:
                jury.finally_(db)
        except Broken as error:
            broken = str(error)
        except TreadleError as error:
            broken = f"cannot be read any more: {error.code}: {error}"
        finally:
            world.close()
        return Result(len(jury.log.entries), dict(world.faults), broken, done)
