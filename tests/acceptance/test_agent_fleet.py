"""The fleet of agents: its run, and the report that it makes from the log."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import treadle
from tests.support.shared import ROOT

EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/main.py"))
TESTS = [path.read_text(encoding="utf-8") for path in (ROOT / "tests/acceptance").glob("test_*.py")]


def copied(name: str, folder: Path) -> Path:
    """The example in a folder of its own, without what an earlier run left."""
    ignored = shutil.ignore_patterns("*.db*", "__pycache__")
    return shutil.copytree(ROOT / "examples" / name, folder / name, ignore=ignored)


def run(folder: Path) -> list[str]:
    """What an example prints: without arguments, from its own folder, with exit code 0."""
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=folder, capture_output=True, text=True, timeout=110
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return [line.strip() for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = copied("agent_fleet", tmp_path_factory.mktemp("examples"))
    return folder, run(folder)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_has_a_test(name: str) -> None:
    assert any(name in text for text in TESTS), "let a test in this folder run the example's main.py"


def test_the_fleet_does_everything_once(fleet: tuple[Path, list[str]]) -> None:
    _, lines = fleet
    shown = "\n".join(lines)
    assert "10 schedulers find three nights missed; 1 plans the report of the last one" in shown
    assert "midnight: 10 schedulers fire the nightly report, 1 plans it" in shown
    assert "10 agents that were thought dead report their tasks as finished: 10 × Stale" in shown
    counts = {
        what: int(count) for count, _, what in (line.partition("  ") for line in lines) if count.isdigit()
    }
    assert counts["Finish → Finished"] == 401 and counts["Bury → Buried"] == 1
    assert counts["Nightly → Planned"] == 2 and counts["Fail → Failed"] == 2
    assert counts["Claim → Claimed"] == 402 + 10 + 2, (
        "each task, those of the dead again, the poisoned three times"
    )
    assert counts["Heartbeat → Alive"] > 1_000
    assert "all 402 tasks ended once: yes; the poisoned one died after 3 tries" in lines
    assert "nightly reports of days [1, 2]: one each, that of the missed night among them" in lines
    assert "11 tasks were claimed again; tokens without gap or repeat: yes" in lines
    assert lines[-1].endswith("commands evaluated again, 0 disagree")


def test_the_report_does_not_say_more_than_the_database(fleet: tuple[Path, list[str]]) -> None:
    with treadle.open(fleet[0] / "fleet.db", create=False) as db:
        rows = [db.row("Task", ("north", number)) for number in (*range(400), 1_001, 1_002)]
        states = [None if row is None else row.fields["state"] for row in rows]
        assert states.count("Done") == 401 and states[13] == "Dead" and states.count(None) == 0
        nights = [entry for entry in db.log() if entry.name == "Nightly"]
        assert [f"{entry.input['due']:%d %H:%M}" for entry in nights] == ["01 00:00", "02 00:00"]
        assert [f"{entry.time:%d %H:%M}" for entry in nights] == ["01 23:55", "02 00:00"]
        assert db.why("Task", ("north", 13)).reasons[0].code == "final"


def test_it_can_be_run_again(fleet: tuple[Path, list[str]]) -> None:
    folder, before = fleet
    assert run(folder) == before, "the same night, whatever was there"
