"""The README and the tutorial are true: their commands and programs run and print what the page shows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import Step, agrees, blocks, commands, run_page
from tests.support.shared import ROOT

PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs/tutorial").glob("*.md"))]
ELSEWHERE = ("make demo", "make test")
"""Commands that stand in a page and make an environment: `make` targets, which the build itself runs."""


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_the_page_runs_and_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    assert run_page((ROOT / page).read_text(encoding="utf-8"), tmp_path, skip=ELSEWHERE) > 0


def test_the_readme_begins_with_lines_of_a_real_run(work_queue: str) -> None:
    shown = blocks((ROOT / "README.md").read_text(encoding="utf-8"), "text")[0]
    assert shown.count("\n") == 8
    assert work_queue.startswith(shown)


@pytest.fixture(scope="module")
def work_queue(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the example prints: without arguments, from its own folder, with exit code 0."""
    folder = tmp_path_factory.mktemp("examples") / "work_queue"
    shutil.copytree(ROOT / "examples/work_queue", folder, ignore=shutil.ignore_patterns("*.db*"))
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=folder, capture_output=True, text=True, timeout=110
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


def test_the_work_queue_survives_a_killed_process(work_queue: str) -> None:
    printed = work_queue.splitlines()
    lines = [
        line.strip()
        for line in printed[printed.index("Two processes on one file, and the real clock:") + 1 :]
    ]
    assert lines[0].startswith("printer-1 claims job 8 with token 1")
    assert lines[1] == "printer-1 is killed (exit code -9) while it holds the lease"
    assert lines[2].startswith("printer-2 asks for job 8: Taken")
    assert lines[3] == "printer-2 claims job 8 with token 2"
    assert lines[4] == "what printer-1 had sent before it died arrives: Stale, and nothing is written"
    assert lines[5] == "printer-2 renews its lease and finishes job 8: Finished"
    assert lines[6] == "history: 7 commands evaluated again, nothing disagrees"


def test_the_runner_would_find_a_difference(tmp_path: Path) -> None:
    assert list(commands("$ a\nb\n$ c\n")) == [Step("console", "a", ("b",)), Step("console", "c")]
    assert agrees(("a…c", "…", "d"), ["abc", "x", "y", "d"]) and agrees(("…",), [])
    assert not agrees(("a",), ["a", "b"]) and not agrees((), ["a"]) and not agrees(("a…c",), ["ab"])
    for page in ("$ false\n", "$ echo a\nb\n", "$ true  # exit 3\n"):
        with pytest.raises(AssertionError):
            run_page(f"```console\n{page}```\n", tmp_path)
    assert run_page("```console\n$ x=3\n$ (exit $x)  # exit 3\n$ pwd\n…\n```\n", tmp_path) == 3
    with pytest.raises(AssertionError):
        run_page("```python\n1 / 0\n```\n", tmp_path)
