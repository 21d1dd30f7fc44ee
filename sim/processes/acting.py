"""What happens in a step: clients talk at the same time, processes die, disks fail, the clock moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sim.jobs.acting import talk
from sim.jobs.clients import COMMANDS, Talk
from sim.jobs.script import Kind, Step
from sim.processes.serving import Doom, How
from sim.processes.world import World
from tests.faults.vfs import KINDS

_HOWS: Final[tuple[How, ...]] = ("before", "during", "during", "during", "after", "after", "soon", "soon")
_DEEDS: Final[tuple[Kind, ...]] = (
    "claim",
    "create",
    "batch",
    "claim",
    "finish",
    "deploy",
    "claim",
    "release",
)
OPERATIONS: Final = 9
"""A command with its commit takes fewer operations of the disk; a batch or a deployment takes more."""


def act(world: World, group: Sequence[Step]) -> None:
    """Carry out steps that go on at the same time."""
    talks: list[tuple[Talk, Doom | None]] = []
    for step in group:
        if step.kind == "advance":
            world.advance(step.amount)
        elif step.kind == "back":
            world.faults["clock back"] += 1
            world.advance(-step.amount)
        elif step.kind == "reopen":
            _reopen(world, step)
        else:
            talks.append(_talk(world, step))
    if len(talks) > 1:
        world.faults["at once"] += 1
    world.converse(talks)


def _reopen(world: World, step: Step) -> None:
    if step.amount % 4:
        world.reopen(step.handle)
    else:
        world.kill_all()


def _talk(world: World, step: Step) -> tuple[Talk, Doom | None]:
    deed = step
    if step.kind in ("kill", "disk"):
        deed = step._replace(kind=_DEEDS[step.amount // 64 % len(_DEEDS)], fate="heard")
    if deed.fate == "lost" and (deed.kind in COMMANDS or deed.kind == "batch"):
        world.faults["answer lost"] += 1
    return talk(world.clients, deed), _doom(step)


def _doom(step: Step) -> Doom | None:
    number = step.amount // 512
    if step.kind == "disk":
        return Doom("disk", 1 + number % OPERATIONS, KINDS[step.amount % len(KINDS)])
    if step.kind == "kill":
        most = OPERATIONS if step.amount % 3 else 8 * OPERATIONS
        return Doom(_HOWS[step.amount % len(_HOWS)], 1 + number % most)
    return None
