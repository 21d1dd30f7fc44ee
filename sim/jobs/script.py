"""What happens in a run, drawn from a seed alone.

A step names its actors by number and says nothing of outcomes, so any subset of a script is a script: that
is what makes a failing one easy to cut down.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

Fate = Literal["heard", "lost", "twice", "hasty"]
"""What becomes of an answer: heard, lost on the way back, heard after the request came in twice, or not
waited for long."""

Kind = Literal[
    "create", "look", "board", "claim", "renew", "release", "expire", "start", "finish", "remove",
    "repeat", "batch", "advance", "back", "reopen", "power", "disk", "kill", "deploy",
]  # fmt: skip


class Step(NamedTuple):
    """One step. `worker`, `job` and `handle` are numbers; `amount` is seconds or a small seed.

    A step with `beside` begins while the step before it is still going on, where there are processes.
    """

    kind: Kind
    worker: int = 0
    job: int = 0
    handle: int = 0
    fate: Fate = "heard"
    amount: int = 0
    beside: bool = False


WORKERS: Final = 5
JOBS: Final = 4
HANDLES: Final = 3

WEIGHTS: Final[Mapping[Kind, int]] = {
    "create": 5,
    "look": 22,
    "board": 7,
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
    "deploy": 1,
}
"""How often each kind comes, for a part; a scenario adds its own."""

FATES: Final[Mapping[Fate, int]] = {"heard": 80, "lost": 12, "twice": 8}
"""How often each fate comes, for a part."""

_SECONDS: Final = (1, 1, 1, 4, 5, 5, 30, 30, 299, 300, 301, 3_600, 86_400)


class Odds(NamedTuple):
    """How often each kind and each fate comes, for a part, and the share of steps beside others."""

    kinds: Mapping[Kind, int]
    fates: Mapping[Fate, int] = FATES
    beside: float = 0.0


def draw(seed: int, length: int, odds: Odds) -> list[Step]:
    """The script of a seed: `length` steps, the same for ever."""
    dice = random.Random(f"treadle {seed}")
    script: list[Step] = []
    for kind in dice.choices(list(odds.kinds), list(odds.kinds.values()), k=length):
        step = _step(dice, kind, odds.fates)
        if script and dice.random() < odds.beside:
            same = script[-1].job if dice.random() < 0.75 else step.job
            step = step._replace(beside=True, job=same, handle=script[-1].handle + dice.randrange(HANDLES))
        script.append(step)
    return script


def _step(dice: random.Random, kind: Kind, fates: Mapping[Fate, int]) -> Step:
    (fate,) = dice.choices(list(fates), list(fates.values()))
    amount = dice.randrange(1 << 30)
    if kind in ("advance", "back"):
        amount = dice.choice(_SECONDS)
    return Step(kind, dice.randrange(WORKERS), dice.randrange(JOBS), dice.randrange(HANDLES), fate, amount)


def together(script: Sequence[Step]) -> Iterator[list[Step]]:
    """The steps in groups that go on at the same time."""
    group: list[Step] = []
    for step in script:
        if group and not step.beside:
            yield group
            group = []
        group.append(step)
    if group:
        yield group
