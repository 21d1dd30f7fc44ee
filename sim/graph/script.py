"""What happens in a run, drawn from a seed alone.

A step names its actors by number and says nothing of outcomes, so any subset of a script is a script.
"""

from __future__ import annotations

import random
from typing import Final, Literal, NamedTuple

Fate = Literal["heard", "lost", "answer lost", "late", "twice", "unsent"]
"""What becomes of a request: heard; it never arrives; its answer is lost; it arrives later, when its sender
has given up; it arrives twice; it cannot be sent at all."""

Kind = Literal[
    "define", "start", "advance", "race", "hold", "resolve", "handmade", "update", "attack", "batch",
    "repeat", "deliver", "register", "retire", "rotate", "switch", "look", "job", "advance_clock", "back",
    "reopen", "rebuild", "power", "disk", "backup", "restore",
]  # fmt: skip


class Step(NamedTuple):
    """One step. `agent`, `run` and `handle` are numbers; `amount` is seconds or a small seed."""

    kind: Kind
    agent: int = 0
    run: int = 0
    handle: int = 0
    fate: Fate = "heard"
    amount: int = 0


AGENTS: Final = 3
RUNS: Final = 5
HANDLES: Final = 3

_WEIGHTS: Final[dict[Kind, float]] = {
    "define": 3,
    "start": 5,
    "advance": 14,
    "race": 5,
    "hold": 3,
    "resolve": 8,
    "handmade": 14,
    "update": 14,
    "attack": 9,
    "batch": 4,
    "repeat": 6,
    "deliver": 4,
    "register": 3,
    "retire": 1.5,
    "rotate": 1,
    "switch": 0.5,
    "look": 8,
    "job": 4,
    "advance_clock": 2,
    "back": 0.5,
    "reopen": 2,
    "rebuild": 1,
    "power": 1,
    "disk": 3,
    "backup": 0.7,
    "restore": 0.5,
}
_FATES: Final[dict[Fate, float]] = {
    "heard": 66,
    "lost": 5,
    "answer lost": 12,
    "late": 6,
    "twice": 8,
    "unsent": 3,
}
_RUNS: Final = (6, 5, 3, 3, 2)
_SECONDS: Final = (1, 1, 5, 30, 59, 60, 61, 3_600, 86_400)


def draw(seed: int, length: int) -> list[Step]:
    """The script of a seed: `length` steps, the same for ever."""
    dice = random.Random(f"treadle graph {seed}")
    kinds, weights = list(_WEIGHTS), list(_WEIGHTS.values())
    return [_step(dice, kind) for kind in dice.choices(kinds, weights, k=length)]


def _step(dice: random.Random, kind: Kind) -> Step:
    fate = dice.choices(list(_FATES), list(_FATES.values()))[0]
    run = dice.choices(range(RUNS), _RUNS)[0]
    amount = dice.randrange(1 << 30)
    if kind in ("advance_clock", "back"):
        amount = dice.choice(_SECONDS)
    return Step(kind, dice.randrange(AGENTS), run, dice.randrange(HANDLES), fate, amount)
