"""What happens to the world in a step."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from sim.contract.world import World
from sim.jobs.acting import talk
from sim.jobs.clients import COMMANDS
from sim.jobs.script import JOBS, Step
from tests.faults.vfs import KINDS, Keep


def act(world: World, step: Step) -> None:
    """Carry out one step."""
    _ACTS.get(step.kind, _talk)(world, step)


def _talk(world: World, step: Step) -> None:
    if step.fate == "lost" and (step.kind in COMMANDS or step.kind == "batch"):
        world.faults["answer lost"] += 1
    world.converse(talk(world.clients, step))


def _disk(world: World, step: Step) -> None:
    """The disk fails somewhere in the next few requests."""
    kind = KINDS[step.amount % len(KINDS)]
    world.fail(1 + step.amount % 7, kind)
    for number in range(3):
        claim = step._replace(kind="claim", job=(step.job + number) % JOBS, fate="heard")
        world.converse(talk(world.clients, claim))
    world.mend(kind)


def _power(world: World, step: Step) -> None:
    keeps: tuple[Keep, ...] = ("none", "all", random.Random(step.amount))
    world.cut(keeps[step.amount % 3])


_ACTS: Final[dict[str, Callable[[World, Step], None]]] = {
    "advance": lambda world, step: world.advance(step.amount),
    "back": lambda world, step: world.back(step.amount),
    "reopen": lambda world, step: world.drop(step.handle),
    "power": _power,
    "disk": _disk,
}
