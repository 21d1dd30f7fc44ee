"""`treadle lsp`: what it says to a person who starts it, and where it is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call
from tests.unit.cli.terminal import on_a_terminal


def test_on_a_terminal_it_says_what_it_is_for(tmp_path: Path) -> None:
    assert "an editor starts this" in on_a_terminal(("lsp",), tmp_path)


def test_without_the_extra_it_says_what_to_install(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("treadle.lsp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    done = call("lsp")
    assert done.code == 2 and "pip install 'treadle[lsp]'" in done.err
