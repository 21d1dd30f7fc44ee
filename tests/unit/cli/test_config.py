"""`treadle config`: every setting, its value, and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call
from treadle.config import SETTINGS, schema


def test_show_lists_every_key(call: Call) -> None:
    done = call("config", "show")
    assert [line.split()[0] for line in done.out.splitlines()] == list(SETTINGS)
    assert "default" not in done.out


def test_show_says_where_each_value_comes_from(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("treadle.toml").write_text('[database]\nurl = "sqlite:///a.db"\n[contract]\nsource = "a.riff"\n')
    monkeypatch.setenv("TREADLE_SERVER_BIND", "127.0.0.1:1")
    done = call("config", "show", "--origin", "-d", "b.db", "--set", "graph.base_ns=urn:x:")
    found = {line.split()[0]: line for line in done.out.splitlines()}
    assert found["database.url"].endswith("b.db" + " " * 9 + "flag --database-url") or (
        "b.db" in found["database.url"] and found["database.url"].endswith("flag --database-url")
    )
    assert found["contract.source"].endswith("file treadle.toml")
    assert found["server.bind"].endswith("environment TREADLE_SERVER_BIND")
    assert found["graph.base_ns"].endswith("flag --set graph.base_ns")
    assert found["contract.queries"].endswith("default")


def test_show_as_json(call: Call) -> None:
    Path("treadle.toml").write_text('[database]\nurl = "sqlite:///a.db"\n')
    shown = call("config", "show", "--json").json
    assert shown["file"].endswith("treadle.toml")
    assert shown["settings"]["database.url"] == {"value": "sqlite:///a.db", "origin": "file treadle.toml"}
    assert shown["settings"]["roles"] == {"value": None, "origin": "default"}


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_password_is_never_shown(form: tuple[str, ...], call: Call) -> None:
    done = call("config", "show", "--database-url", "postgresql://ann:s3cret@host/db", *form)
    assert "s3cret" not in done.out and "postgresql://ann:•••@host/db" in done.out


def test_schema_is_the_schema(call: Call) -> None:
    assert json.loads(call("config", "schema").out) == schema()
