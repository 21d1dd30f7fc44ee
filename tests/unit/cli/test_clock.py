"""`treadle clock`: an operator's word about the clock, recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import treadle
from tests.unit.cli.conftest import Call, claim
from treadle.testing import ManualClock


def stamped(days: int) -> None:
    """Let the last commit be `days` from now, as a clock that was wrong would have it."""
    with treadle.open("shop.db", clock=ManualClock(datetime.now(UTC) + timedelta(days=days))) as database:
        given = {"key": "late", "shop_id": "00000000-0000-4000-8000-0000000000ff", "name": "Late"}
        database.run("OpenShop", given, principal="desk").expect("Opened")


def test_confirm(call: Call, project: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    real = treadle.open

    def open_later(url: str, **options: object) -> treadle.Database:
        clock = ManualClock(datetime.now(UTC) + timedelta(days=3))
        monkeypatch.setattr(ManualClock, "manual", False)
        return real(url, **options | {"clock": clock})  # type: ignore[arg-type]

    monkeypatch.setattr(treadle, "open", open_later)
    refused = call(
        "run", "OpenShop", "shop_id=00000000-0000-4000-8000-0000000000ee", "name=x", "--as", "d", "--key", "1"
    )
    assert (
        refused.code == 1 and "error clock_jumped" in refused.err and "treadle clock confirm" in refused.err
    )
    confirmed = call("clock", "confirm", "--as", "operator", "--json")
    assert confirmed.json == {"commit": 5}
    again = call(
        "run", "OpenShop", "shop_id=00000000-0000-4000-8000-0000000000ee", "name=x", "--as", "d", "--key", "1"
    )
    assert again.code == 0
    entry = call("log", "--json").lines[4]
    assert (entry["kind"], entry["name"], entry["principal"]) == ("clock", "confirm", "operator")
    assert "clock confirm  operator" in call("log").out


def test_reset(job: Call) -> None:
    stamped(days=400)
    job(*claim())
    done = job("clock", "reset", "--yes", "--as", "operator")
    assert done.code == 0 and done.out.startswith("the clock is reset, commit ")
    assert job("verify").code == 0, job("verify").out


def test_reset_wants_to_be_meant(project: Call) -> None:
    head = project("log", "--head").out
    done = project("clock", "reset")
    assert done.code == 2 and "add --yes" in done.err
    assert project("log", "--head").out == head
    assert Path("shop.db").exists()


def test_a_role_needs_the_admin_permission(project: Call) -> None:
    assert project("clock", "confirm", "--role", "desk").code == 4
