"""`treadle dev`: keys of seeds, and what happens to a seed that is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import treadle
from tests.support.server import DEPOT, DEPOT_SOURCE
from treadle.cli import dev
from treadle.errors import InvalidInput

ITEM = '{"command": "AddItem", "input": {"depot": "%s", "item": "%s", "title": "T"}}'


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    return tmp_path / "seed.jsonl"


def test_a_seed_runs_once(seed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed.write_text(ITEM % (DEPOT, DEPOT) + "\n\n", encoding="utf-8")
    with treadle.open(":memory:") as db:
        db.deploy(DEPOT_SOURCE)
        dev.run_seed(db, seed)
        head = db.head
        dev.run_seed(db, seed)
        assert db.head == head
        assert [entry.principal for entry in db.log() if entry.kind == "command"] == ["dev"]
    assert "1 commands run" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "not JSON"),
        ("[]", 'write {"command"'),
        ('{"command": "AddItme", "input": {}}', "nearest is AddItem"),
        ('{"command": "AddItem", "input": {"depot": 7}}', "depot"),
    ],
)
def test_a_line_that_is_refused_is_named(seed: Path, line: str, message: str) -> None:
    seed.write_text("\n" + line + "\n", encoding="utf-8")
    with treadle.open(":memory:") as db:
        db.deploy(DEPOT_SOURCE)
        with pytest.raises(InvalidInput, match=r"seed\.jsonl line 2") as error:
            dev.run_seed(db, seed)
        assert message in error.value.message


def test_a_uuid_key_is_made_of_the_line_too() -> None:
    with treadle.open(":memory:") as db:
        db.deploy(DEPOT_SOURCE)
        commands = {one.name: one for one in db._engine.refresh().require().contract.commands}
    assert dev.seed_key(commands["AddItem"], 7) == "seed-7"
    assert dev.seed_key(commands["AddThing"], 7) == "00000000-0000-0000-0000-000000000007"
