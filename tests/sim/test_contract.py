"""Clients of a contract: nothing is found in the engine, and what should be in one broken on purpose."""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.run import draw, run
from sim.jobs.story import tell
from sim.shrink import shrink
from tests.sim.budget import Group, groups, hold
from treadle.store.sqlite import files

STEPS = 400


@pytest.mark.parametrize("group", groups("contract"), ids=str)
def test_seeds(group: Group) -> None:
    hold(group)


def test_a_seed_is_the_same_for_ever() -> None:
    assert draw(7, 50) == draw(7, 50)
    assert draw(7, 50) != draw(8, 50)
    assert run(7, draw(7, 120)) == run(7, draw(7, 120))


def never_applied(self: Any, batch: Any) -> bool:
    return False


def no_fence(*_: Any, **__: Any) -> None:
    return None


def forget_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Receipts are not found: a repeated key runs again."""
    monkeypatch.setattr("treadle.engine.command.CommandJob._replay", never_applied)


def forget_receipts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Receipts are not stored."""
    monkeypatch.setattr("treadle.store.sqlite.transactions.SqliteWrite.write_receipts", no_fence)


def forget_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is written, the rows are not."""
    monkeypatch.setattr("treadle.engine.overlay.Overlay._flush_rows", lambda self: self._stored.clear())


def forget_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events stand in the log, but not in their stream."""
    monkeypatch.setattr("treadle.store.sqlite.transactions.SqliteWrite.append_events", no_fence)


def follow_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction time follows the clock backward."""
    monkeypatch.setattr("treadle.engine.batch.ClockRule.seal", lambda self, head, now: now)


def answer_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer does not wait for the disk."""
    monkeypatch.setattr(files, "connect", unflushed(files.connect))


def unflushed(connect: Any) -> Any:
    def careless(place: Any) -> Any:
        connection = connect(place)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    return careless


@pytest.mark.parametrize(
    "defect", [forget_replay, forget_receipts, forget_rows, forget_events, follow_the_clock, answer_too_early]
)
def test_a_broken_engine_is_found_out(monkeypatch: pytest.MonkeyPatch, defect: Any) -> None:
    defect(monkeypatch)
    assert any(run(seed, draw(seed, STEPS)).broken for seed in range(8))


def test_a_failing_script_is_cut_down_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_receipts(monkeypatch)
    script = draw(3, 200)
    assert run(3, script).broken
    short = shrink(script, lambda attempt: run(3, attempt).broken is not None, most=60)
    assert len(short) < 20
    assert run(3, short).broken
    assert len(tell(short).splitlines()) == len(short)
