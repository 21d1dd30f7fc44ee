"""The command line, called in this process: its exit code and what it printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from treadle.cli import main


class Done(NamedTuple):
    """A finished call."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Call = Callable[..., Done]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """`call("run", "Claim", …, stdin=b"…")` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(stdin)))
        code = main.run(list(words))
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return run


@pytest.fixture
def project(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`call` in a new project that is deployed, with a shop in it."""
    assert call("new", "shop").code == 0
    monkeypatch.chdir(tmp_path / "shop")
    assert call("deploy").code == 0
    opened = call("run", "OpenShop", f"shop_id={SHOP}", "name=Corner", "--as", "desk", "--key", "open")
    assert opened.code == 0, opened.err
    return call


SHOP = "00000000-0000-4000-8000-000000000001"
JOB = "00000000-0000-4000-8000-000000000002"
ANN = "00000000-0000-4000-8000-00000000000a"
