"""The pages on workers and on streams are true: what they show runs, and prints what they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import run_page
from tests.support.shared import ROOT


@pytest.mark.parametrize("name", ["workers", "streams"])
def test_every_block_of_the_page_runs(name: str, tmp_path: Path) -> None:
    assert run_page((ROOT / f"docs/howto/{name}.md").read_text(encoding="utf-8"), tmp_path) > 10
