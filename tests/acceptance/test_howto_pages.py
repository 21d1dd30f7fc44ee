"""How-to pages are true: the tests of `testing.md` pass in a new project, the session of `why.md` is real."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.pages import blocks, run_page
from tests.support.shared import ROOT
from treadle import scaffold
from treadle.errors import check


def page(name: str) -> str:
    return (ROOT / "docs/howto" / name).read_text(encoding="utf-8")


def test_the_tests_of_the_testing_page_pass(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    scaffold.create(shop)
    files = blocks(page("testing.md"), "python")
    for text in files:
        name = re.match(r"# (test_\w+\.py)\n", text)
        check(name is not None, "a block begins with the name of its file")
        (shop / (name[1] if name else "")).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=shop, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    wanted = sum(text.count("\ndef test_") for text in files) + 2
    assert done.returncode == 0 and f"{wanted} passed" in done.stdout, done.stdout + done.stderr


def test_the_why_page_is_what_the_shell_prints(tmp_path: Path) -> None:
    assert run_page(page("why.md"), tmp_path) >= 8


def test_every_reason_is_on_the_page() -> None:
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "src/treadle/why").glob("*.py")]
    codes = set(re.findall(r'Reason\(\s*"(\w+)"', "".join(sources)))
    assert codes == set(re.findall(r"^ *\| `(\w+)` \|", page("why.md"), re.MULTILINE))
