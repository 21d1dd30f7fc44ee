"""What a campaign prints: its summary, and the story of a script that does not fail each time."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Sequence

import pytest

from sim import summary as summaries
from sim.scenario import SCENARIOS, Result, Scenario
from sim.summary import Summary, told
from tests.sim.budget import KEPT, TABLE
from tests.support.shared import ROOT


def test_the_summary_adds_up() -> None:
    summary = Summary()
    summary.add("one", Result(10, {"kill soon": 2, "power": 1}, None, 1_000))
    summary.add("one", Result(5, {"kill soon": 1}, None, 1_000))
    summary.add("two", Result(1, {"kill before": 4}, None, 10))
    lines = str(summary).splitlines()
    assert " ".join(lines[1].split()) == "one 2 2,000 15 kill soon 3, power 1"
    assert " ".join(lines[-1].split()) == "all 3 2,010 16 8 in all, 7 of them processes killed"


def test_a_script_that_fails_now_and_then_is_cut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails when step 7 is in it, but only every other time."""
    times = itertools.count()

    def run(seed: int, script: Sequence[int]) -> Result:
        broken = "seven" if 7 in script and next(times) % 2 else None
        return Result(0, {}, broken, len(script))

    racing = Scenario(
        lambda seed, length: list(range(length)), run, lambda script: f"steps {script}", tries=4
    )
    monkeypatch.setattr(summaries, "scenario", lambda name: racing)
    text = told("racing", 1, 40, Result(0, {}, "seven", 40))
    assert text.endswith("steps [7]\nthen: seven")
    assert "up to 4 times" in text


def test_the_command_repeats_a_seed_and_ends_with_a_summary() -> None:
    command = [sys.executable, "-m", "sim", "--scenario", "contract", "--seed", "7", "--steps", "60"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("contract 7: ok (60 steps")
    assert last.startswith("all")


def test_a_thousand_seeds_are_in_the_table() -> None:
    assert set(SCENARIOS) <= set(TABLE)
    assert set(KEPT) <= set(SCENARIOS)
    assert sum(share.seeds for shares in TABLE.values() for share in shares) >= 1_000
