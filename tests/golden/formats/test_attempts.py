"""The page on the identity of attempts says what workers compute."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

from treadle.workers.attempts import Attempt, Component, Due

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "attempts.md").read_text(encoding="utf-8")
VECTORS: list[dict[str, Any]] = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])


def part(written: str | int) -> Component:
    try:
        return uuid.UUID(str(written)) if isinstance(written, str) else written
    except ValueError:
        return str(written)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["business"])
def test_vectors(vector: dict[str, Any]) -> None:
    attempt = Attempt(
        vector["name"],
        vector["source"],
        bytes.fromhex(vector["hash"]),
        vector["operation"],
        Due(*vector["due"]),
        tuple(map(part, vector["target"])),
    )
    assert attempt.business(vector["business"]) == vector["key"]
