"""`treadle simulate`."""

from __future__ import annotations

import pytest

from tests.support.shared import ROOT
from tests.unit.cli.conftest import Call
from treadle.simulation.report import Report


def test_the_project_s_contract(project: Call) -> None:
    done = project("simulate", "--steps", "300")
    assert done.code == 0 and done.err == ""
    assert done.out.startswith("300 requests, ")
    assert "\nAddJob\n" in done.out and "\n  Added " in done.out
    assert done.out.rstrip().endswith("no law was broken")


def test_json_says_everything_and_the_seed_decides(project: Call) -> None:
    first, again, other = (
        project("simulate", "--steps", "200", "--json", "--seed", seed).lines[0] for seed in ("3", "3", "4")
    )
    assert first == again and first["ok"] and first["steps"] == 200
    assert first["outcomes"] != other["outcomes"]
    counted = {**first["outcomes"], **first["entered"]}
    zero = {f"{name}.{one}" for name, counts in counted.items() for one in counts if not counts[one]}
    assert set(first["unreached"]) == zero


def test_standard_input_and_what_does_not_compile(project: Call) -> None:
    text = (ROOT / "tests/data/names.riff").read_bytes()
    assert project("simulate", "-", "--steps", "3", stdin=text).code == 0
    assert project("simulate", "-", stdin=b"contract N version 1 { entity A { key (a: u64) } }").code == 4
    wrong = project("simulate", "-", stdin=b"contract N version 1 { oops }")
    assert wrong.code == 4 and wrong.out == "" and wrong.err
    assert project("simulate", "nowhere.riff").code == 4
    assert project("simulate", "--steps", "0").code == 2


def test_a_broken_law_ends_in_one(project: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Report, "ok", property(lambda self: False))
    done = project("simulate", "--steps", "10", "--seed", "9")
    assert done.code == 1 and "repeat it with --seed 9 --steps 10" in done.out
