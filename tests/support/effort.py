"""How much a test does: counts are written for one run of `make test` and scale with TREADLE_TEST_EFFORT."""

from __future__ import annotations

import os


def factor() -> float:
    """TREADLE_TEST_EFFORT as a positive number; 1 when it is not set.

    Raises ValueError for anything else, so that a typing error does not silently run the small suite.
    """
    text = os.environ.get("TREADLE_TEST_EFFORT", "1")
    value = float(text)
    if not 0 < value < 10_000:
        raise ValueError(f"TREADLE_TEST_EFFORT={text}: write a number above 0, such as 1 or 10")
    return value


def effort(n: int) -> int:
    """`n` rounds, examples or rows at effort 1, scaled; never fewer than one."""
    return max(1, round(n * factor()))
