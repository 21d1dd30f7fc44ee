"""Bounds on what one command may write."""

from __future__ import annotations

from typing import Any

import pytest

from treadle import limits
from treadle.errors import TooLarge
from treadle.plan.checks import mutation_count_step
from treadle.plan.frame import CHANGES, FIRST


def frame_with(changes: int) -> list[Any]:
    frame: list[Any] = [None] * FIRST
    frame[CHANGES] = [object()] * changes
    return frame


def test_a_command_writes_at_most_4096_rows() -> None:
    step = mutation_count_step()
    assert step(frame_with(limits.BULK_MUTATIONS)) is None
    with pytest.raises(TooLarge, match="4097 rows"):
        step(frame_with(limits.BULK_MUTATIONS + 1))
