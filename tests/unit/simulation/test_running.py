"""A simulated contract reaches what it can reach, and a broken engine is found out."""

from __future__ import annotations

import pytest

from tests.support.effort import effort
from tests.support.shared import ROOT
from treadle.engine.command import CommandJob
from treadle.errors import ContractError, InvalidInput
from treadle.simulation import simulate

DATA = ROOT / "tests/data"
EXPECTED = {
    "depot.riff": {"Claim.Exhausted", "BoxLife.Open"},
    "library.riff": {"Take.Exhausted", "Lending.Lent", "Lending.Lost"},
    "names.riff": set[str](),
    "work_items.riff": {"ClaimWork.LeaseCounterExhausted", "RenewWork.LeaseCounterExhausted"},
}
"""What cannot be reached: counters that end after 2^64 claims, states that no command leads to."""


@pytest.mark.parametrize("name", EXPECTED)
def test_what_can_be_reached_is_reached(name: str) -> None:
    report = simulate(DATA / name, steps=effort(1_200))
    assert report.ok, report.broken
    assert set(report.unreached) - EXPECTED[name] == set()
    assert EXPECTED[name] <= set(report.unreached)
    assert report.steps == effort(1_200) and report.replays > 20 and report.records > 300
    assert report.seconds > 3_600


def test_a_run_is_the_same_for_ever() -> None:
    first, again, other = (simulate(DATA / "depot.riff", steps=200, seed=seed) for seed in (5, 5, 6))
    assert first.to_json() == again.to_json()
    assert first.outcomes != other.outcomes


def test_rows_and_events_are_counted() -> None:
    report = simulate(DATA / "library.riff", steps=400)
    assert report.rows["Book"] == sum(report.states["Lending"].values()) > 0
    assert report.events["Bought"] == report.outcomes["Buy"]["Got"] > 0


def test_a_contract_that_does_not_compile() -> None:
    with pytest.raises(ContractError):
        simulate("contract Nothing version 1 { oops }")


def test_a_contract_without_commands() -> None:
    with pytest.raises(InvalidInput, match="no command"):
        simulate("contract Nothing version 1 { entity A { key (a: u64) } }", steps=5)


def test_a_key_that_runs_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CommandJob, "_replay", lambda self, batch: False)
    report = simulate(DATA / "library.riff", steps=500)
    assert not report.ok and "same key" in report.broken[0]
    assert report.steps < 500, "it ends early"


def test_rows_that_are_not_written_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.engine.overlay.Overlay._flush_rows", lambda self: self._stored.clear())
    report = simulate(DATA / "library.riff", steps=200)
    assert not report.ok
