"""The page on reading contracts is true: its commands run and print what it shows."""

from __future__ import annotations

from pathlib import Path

from tests.support.pages import run_page
from tests.support.shared import ROOT


def test_every_command_of_the_page_runs(tmp_path: Path) -> None:
    assert run_page((ROOT / "docs/howto/contract.md").read_text(encoding="utf-8"), tmp_path) > 10
