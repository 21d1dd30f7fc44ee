"""Every test belongs to a group with a budget, and every group and name in the table stands for something."""

from __future__ import annotations

from tests.conftest import BUDGET, GROUPS, Spent, group, rows, spent
from tests.support.shared import ROOT

TESTS = ROOT / "tests"


def test_every_test_has_a_budget() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in TESTS.rglob("test_*.py")}
    assert {file for file in files if group(f"{file}::test") not in BUDGET} == set()


def test_nothing_in_the_table_stands_for_nothing() -> None:
    assert set(GROUPS.values()) == set(BUDGET)
    coming = {"browser", "docs"}
    assert {name for name in GROUPS if not (TESTS / name).exists()} <= coming


def test_a_file_may_stand_for_itself() -> None:
    assert group("tests/faults/test_kill.py::test_a[1/2]") == "concurrency and kills"
    assert group("tests/faults/test_store.py::test_a[1/2]") == "faults"
    assert group("tests/elsewhere/test_a.py::test_a") == "elsewhere"


def test_the_table_shows_the_time_of_the_run(monkeypatch) -> None:
    monkeypatch.setitem(spent, "faults", Spent(3, 260.0))
    shown = {row[:22].strip(): row for row in rows(2)}["faults"]
    assert shown.split()[1:] == ["3", "130.0", "120", "over"]
    assert "over" not in {row[:22].strip(): row for row in rows(4)}["faults"]
