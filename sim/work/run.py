"""Running a script: from an empty disk to the verdict."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sim.scenario import Broken, Result, folder
from sim.work.actions import Play
from sim.work.ending import come_to_rest
from sim.work.script import Step
from sim.work.verdict import check
from sim.work.world import World
from treadle.errors import TreadleError


def run(seed: int, script: Sequence[Step]) -> Result:
    """Run a script in a new world, let everybody finish, and judge what was seen."""
    with tempfile.TemporaryDirectory(prefix="treadle-sim-", dir=folder()) as place, _quiet():
        world = World(Path(place), seed)
        play = Play(world)
        done = records = 0
        broken = None
        try:
            for step in script:
                done += 1
                play.act(step)
            come_to_rest(play)
            records = check(world)
        except Broken as error:
            broken = str(error)
        except TreadleError as error:
            broken = f"cannot be read any more: {error.code}: {error}"
        finally:
            world.disk.repair()
            play.end()
            world.close()
        return Result(records, dict(world.faults), broken, done)


@contextmanager
def _quiet() -> Iterator[None]:
    """The troubles of workers are meant here; nobody needs to read of them."""
    log = logging.getLogger("treadle")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)
