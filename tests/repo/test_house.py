"""What the repository promises about itself: its lock, its packages, its scripts."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.support.shared import ROOT
from tools import lock

PACKAGES = sorted(path.parent for path in (ROOT / "src/treadle").rglob("*.py"))


@cache
def pins(kind: str) -> dict[str, str]:
    """Requirement (name and marker) → its pinned version and hashes."""
    entries = re.split(r"\n(?=\S)", lock.LOCKS[kind].read_text(encoding="utf-8").strip())[1:]
    return {re.split(r"==", entry)[0]: entry for entry in entries}


@pytest.mark.parametrize("kind", lock.LOCKS)
def test_the_lock_was_made_from_this_pyproject(kind: str) -> None:
    assert lock.LOCKS[kind].read_text(encoding="utf-8").startswith(lock.header()), "run `make lock`"


@pytest.mark.parametrize("kind", lock.LOCKS)
def test_every_pin_is_exact_and_hashed(kind: str) -> None:
    for name, entry in pins(kind).items():
        assert re.match(r"[a-z0-9.-]+(\[[a-z,]+\])?==\S+", entry), name
        assert "--hash=sha256:" in entry, name


def test_the_core_lock_is_part_of_the_dev_lock() -> None:
    versions = {name: entry.split()[0] for name, entry in pins("dev").items()}
    assert {name: entry.split()[0] for name, entry in pins("core").items()}.items() <= versions.items()


@pytest.mark.parametrize("package", sorted(set(PACKAGES)), ids=lambda path: path.name)
def test_every_package_says_what_it_holds(package: Path) -> None:
    first = package / "__init__.py"
    assert first.is_file(), f"{package.relative_to(ROOT)} has no __init__.py"
    assert ast.get_docstring(ast.parse(first.read_text(encoding="utf-8"))), (
        f"{first.relative_to(ROOT)} has no docstring"
    )


def test_the_package_is_marked_as_typed() -> None:
    assert (ROOT / "src/treadle/py.typed").is_file()


def test_ci_can_be_run() -> None:
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_an_old_python_is_told_so_in_a_sentence() -> None:
    pretend = (
        "import sys, runpy; sys.version_info = (3, 9, 2, 'final', 0);"
        "runpy.run_path('tools/environment.py', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", pretend], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr and "Traceback" not in done.stderr
