"""Nothing that only means something on the machine where it was written: paths, indexes, private keys."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repo.sources import text, tracked
from tests.support.shared import ROOT

FOLDERS = "home", "root", "work", "Users", "workspace"
PATTERNS = {
    "a path of one machine": rf"(?<![\w.~:/}}-])/(?:{'|'.join(FOLDERS)})/[\w.]",
    "a package index": r"(?<!emit)-(extra-)?index-ur[l]|\bpythonhoste[d]\.org|registry\.npmj[s]|pypi\.or[g]/",
    "an address in a lock": r'"resolved":\s*"http[s]?:',
    "a private key": r"-----BEGIN (?:[A-Z]+ )?PRIVATE KE[Y]-----",
}


def leaks(content: str) -> list[str]:
    here = [str(ROOT), str(Path.home()) + "/"]
    found = [
        f"{what}: {match.group()}" for what, rule in PATTERNS.items() for match in re.finditer(rule, content)
    ]
    return found + [f"a path of this machine: {path}" for path in here if len(path) > 3 and path in content]


def test_no_file_names_a_machine_or_an_index() -> None:
    found = {path: hits for path in tracked() if (hits := leaks(text(path) or ""))}
    assert not found


def test_what_the_patterns_find_and_leave() -> None:
    slash = "/"
    for bad in (
        f"see {slash}work{slash}x",
        f'"{slash}home{slash}ann"',
        "--index-" + "url=x",
        "-----BEGIN PRIVATE " + "KEY-----",
    ):
        assert leaks(bad), bad
    for good in ("POST /workflow/capabilities", "https://example.org/home/x", "/usr/bin/chromium", "work/x"):
        assert not leaks(good), good


@pytest.mark.parametrize("path", [path for path in tracked() if path.startswith("requirements/")])
def test_a_lock_names_no_address(path: str) -> None:
    assert "://" not in (text(path) or "")
