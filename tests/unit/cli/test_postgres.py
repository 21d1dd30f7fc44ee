"""The command line on a PostgreSQL database, and what it says where a database is no file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support import postgres
from tests.support.shared import ROOT
from tests.unit.cli.conftest import Call, Done

WORK = {
    "organization_id": "00000000-0000-0000-0000-00000000000a",
    "work_id": "00000000-0000-0000-0000-000000000001",
}


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> str:
    """A database that the environment names."""
    found = postgres.fresh_url()
    monkeypatch.setenv("TREADLE_DATABASE_URL", found)
    return found


def good(done: Done) -> Done:
    assert done.code == 0, done.err
    return done


def test_from_deployment_to_verification(url: str, call: Call, tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests/data/work_items.riff", tmp_path / "work.riff")
    contract = str(tmp_path / "work.riff")
    good(call("deploy", contract, "--as", "ops"))
    words = [f"{name}={value}" for name, value in WORK.items()]
    made = good(call("run", "CreateWork", "request_key=k1", *words, "--as", "ops", "--json")).json
    assert made["outcome"] == "Created"
    again = good(call("run", "CreateWork", "request_key=k1", *words, "--as", "ops", "--json")).json
    assert again["replayed"] is True and again["commit"] == made["commit"]
    assert "CreateWork" in good(call("log")).out
    good(call("verify"))
    assert "s3cret" not in good(call("doctor")).out


def test_a_backup_names_the_tool_for_it(url: str, call: Call, tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests/data/work_items.riff", tmp_path / "work.riff")
    good(call("deploy", str(tmp_path / "work.riff"), "--as", "ops"))
    done = call("backup", str(tmp_path / "copy.db"))
    assert done.code != 0 and "pg_dump" in done.err
    assert not (tmp_path / "copy.db").exists()
