"""What happens in a run, drawn from a seed alone.

A step names its actors by number and says nothing of outcomes, so any subset of a script is a script: that
is what makes a failing one easy to cut down.
"""

from __future__ import annotations

import random
from typing import Final, Literal, NamedTuple

Fate = Literal["heard", "lost", "twice"]
"""What becomes of an answer: heard, lost on the way back, or heard after the request came in twice."""

Kind = Literal[
    "create", "look", "claim", "renew", "release", "expire", "start", "finish", "remove",
    "repeat", "batch", "advance", "back", "reopen", "power", "disk", "deploy",
]  # fmt: skip


class Step(NamedTuple):
    """One step. `worker`, `job` and `handle` are numbers; `amount` is seconds or a small seed."""

    kind: Kind
    worker: int = 0
    job: int = 0
    handle: int = 0
    fate: Fate = "heard"
    amount: int = 0

    def __str__(self) -> str:
        return (
            f"{self.kind} worker={self.worker} job={self.job} handle={self.handle} {self.fate} {self.amount}"
        )


WORKERS: Final = 5
JOBS: Final = 4
HANDLES: Final = 3

_WEIGHTS: Final[dict[Kind, int]] = {
    "create": 5,
    "look": 22,
    "claim": 20,
    "renew": 8,
    "release": 6,
    "expire": 5,
    "start": 9,
    "finish": 9,
    "remove": 3,
    "repeat": 10,
    "batch": 4,
    "advance": 12,
    "back": 2,
    "reopen": 2,
    "power": 1,
    "disk": 2,
    "deploy": 1,
}
_SECONDS: Final = (1, 1, 1, 4, 5, 5, 30, 30, 299, 300, 301, 3_600, 86_400)


def draw(seed: int, length: int) -> list[Step]:
    """The script of a seed: `length` steps, the same for ever."""
    dice = random.Random(f"treadle {seed}")
    kinds, weights = list(_WEIGHTS), list(_WEIGHTS.values())
    return [_step(dice, kind) for kind in dice.choices(kinds, weights, k=length)]


def _step(dice: random.Random, kind: Kind) -> Step:
    fate: Fate = dice.choices(("heard", "lost", "twice"), (80, 12, 8))[0]
    amount = dice.randrange(1 << 30)
    if kind in ("advance", "back"):
        amount = dice.choice(_SECONDS)
    return Step(kind, dice.randrange(WORKERS), dice.randrange(JOBS), dice.randrange(HANDLES), fate, amount)
