"""What happens in a run, drawn from a seed alone. Any subset of a script is a script."""

from __future__ import annotations

import random
from typing import Final, Literal, NamedTuple

Fate = Literal["heard", "lost", "refused", "crash before", "crash after"]
"""The last call of a step: its answer is heard, or lost, or it is refused, or its process ends."""

Kind = Literal[
    "add", "remind", "work", "ring", "pull", "ack", "nack", "extend", "fumble", "letters", "tail", "keep",
    "sweep", "advance", "jump", "reopen", "power", "disk", "deploy", "revoke",
]  # fmt: skip


class Step(NamedTuple):
    """One step. `who` is a process or consumer, `what` a job, `many` how much, `amount` a small seed."""

    kind: Kind
    who: int = 0
    what: int = 0
    many: int = 1
    fate: Fate = "heard"
    amount: int = 0


JOBS: Final = 6
CREW: Final = 6
BELLS: Final = 4
HANDLES: Final = 3

_WEIGHTS: Final[dict[Kind, int]] = {
    "add": 9,
    "remind": 4,
    "work": 44,
    "ring": 6,
    "pull": 6,
    "ack": 5,
    "nack": 2,
    "extend": 1,
    "fumble": 1,
    "letters": 2,
    "tail": 2,
    "keep": 1,
    "sweep": 1,
    "advance": 8,
    "jump": 2,
    "reopen": 1,
    "power": 1,
    "disk": 2,
    "deploy": 1,
    "revoke": 1,
}
_SECONDS: Final = (1, 1, 2, 5, 5, 16, 31, 61, 61, 300, 3_600, 20_000, 90_000)
_JUMPS: Final = (-90_000, -3_600, -61, -5, 5, 31, 61, 3_600, 90_000)


def draw(seed: int, length: int) -> list[Step]:
    """The script of a seed: `length` steps, the same for ever."""
    dice = random.Random(f"work {seed}")
    kinds = dice.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=length)
    return [_step(dice, kind) for kind in kinds]


def _step(dice: random.Random, kind: Kind) -> Step:
    fates: tuple[Fate, ...] = ("heard", "lost", "refused", "crash before", "crash after")
    fate = dice.choices(fates, (74, 11, 3, 5, 7))[0]
    amount = dice.randrange(1 << 30)
    if kind == "advance":
        amount = dice.choice(_SECONDS)
    elif kind == "jump":
        amount = dice.choice(_JUMPS)
    return Step(kind, dice.randrange(12), dice.randrange(JOBS), 1 + dice.randrange(9), fate, amount)
