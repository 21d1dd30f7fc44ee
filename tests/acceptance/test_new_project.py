"""What `treadle new` writes is true: every line of its README, the line in its worker, and its tests."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.pages import run_page
from tests.support.shared import ROOT
from treadle import scaffold

INSTALL = "pip install 'treadle[testing]'"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    scaffold.create(tmp_path / "print-shop")
    return tmp_path / "print-shop"


def test_every_line_of_the_readme_runs(shop: Path) -> None:
    """Literally, plain `pytest` among them; only what it installs is here already."""
    page = (shop / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (.*)", page, re.MULTILINE)
    assert {INSTALL, "pytest", "treadle format"} < set(commands)
    assert run_page(page, shop, skip=(INSTALL,)) == len(commands) - 1


def test_what_it_installs_brings_what_its_tests_need() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {re.split("[>=<]", one)[0] for one in extras["testing"]} == {"pytest", "time-machine"}


def test_the_line_in_the_worker_starts_it(shop: Path) -> None:
    said = (shop / "worker.py").read_text(encoding="utf-8").splitlines()[0]
    command = said.partition("Run with: ")[2].rstrip('"')
    page = f"```console\n$ treadle deploy\n…\n$ {command} --until-idle\n…\nprint_job ended: …\n```\n"
    assert command.startswith("treadle worker ") and run_page(page, shop) == 2
