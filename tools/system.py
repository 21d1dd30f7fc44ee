"""Installs the Debian packages that some tests need, when they are missing and this user may.

    python -m tools.system

Where it may not (another system, no root), the tests that need them skip and say why.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Need:
    """A Debian package, what it is for, whether it is there, and the path in the repository that wants it."""

    package: str
    purpose: str
    present: Callable[[], bool]
    wanted_by: str


def has_chromium() -> bool:
    return any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))


def has_postgresql() -> bool:
    return bool(shutil.which("initdb") or glob.glob("/usr/lib/postgresql/*/bin/initdb"))


NEEDS = (
    Need("chromium", "the console's tests in a real browser", has_chromium, "tests/browser"),
    Need("postgresql", "the PostgreSQL store's tests", has_postgresql, "src/treadle/store/postgres"),
)


def missing() -> list[Need]:
    return [need for need in NEEDS if (ROOT / need.wanted_by).exists() and not need.present()]


def apt(*arguments: str) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    return done.returncode == 0


def main() -> None:
    """Never fails: a missing browser must not keep the other tests from running."""
    needs = missing()
    if needs and os.geteuid() == 0 and shutil.which("apt-get"):
        names = [need.package for need in needs]
        print(f"[system] installing {', '.join(names)} (Debian packages)", flush=True)
        if apt("update"):
            apt("install", "--yes", "--no-install-recommends", *names)
    for need in missing():
        print(f"[system] {need.package} is not installed: {need.purpose} will be skipped", file=sys.stderr)


if __name__ == "__main__":
    main()
