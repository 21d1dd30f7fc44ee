"""The shortest script that still breaks a rule: parts are left out for as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Step = TypeVar("Step")


def shrink(script: Sequence[Step], fails: Callable[[Sequence[Step]], bool], most: int = 400) -> list[Step]:
    """Cut a failing script down, in at most `most` further runs."""
    best, size, runs = list(script), max(1, len(script) // 2), 0
    while size >= 1 and runs < most:
        place, shorter = 0, False
        while place < len(best) and runs < most:
            attempt = best[:place] + best[place + size :]
            runs += 1
            if attempt and fails(attempt):
                best, shorter = attempt, True
            else:
                place += size
        if not shorter:
            size //= 2
    return best
