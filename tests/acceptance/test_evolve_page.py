"""The page on changing a contract is true: its commands run and print what it shows."""

from __future__ import annotations

from pathlib import Path

from tests.support.pages import run_page
from tests.support.shared import ROOT


def test_every_block_of_the_page_runs_and_prints_what_it_shows(tmp_path: Path) -> None:
    assert run_page((ROOT / "docs/howto/evolve.md").read_text(encoding="utf-8"), tmp_path) > 15
