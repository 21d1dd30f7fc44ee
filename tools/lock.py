"""Writes requirements/*.lock from pyproject.toml: `make lock`, or `make lock UPGRADE=1` for newer versions.

A lock names every package that is installed, its exact version and the hashes of its files, for all versions
of Python and all systems at once, and no index: whoever installs decides where packages come from, and the
hashes decide what is accepted. The core lock is resolved under the dev lock, so both agree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
LOCKS = {"dev": FOLDER / "dev.lock", "core": FOLDER / "core.lock"}
COMMAND = (
    "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-annotate", "--no-header",
    "--no-emit-index-url", "--no-emit-find-links",
)  # fmt: skip


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def inputs_digest() -> str:
    """Hash of everything in pyproject.toml that decides a lock; each lock's first line carries it.

    A test compares the two, so that a dependency cannot change without its lock, and needs no index for that.
    """
    table = project()
    deciding = [
        table["build-system"]["requires"],
        table["project"]["requires-python"],
        table["project"]["dependencies"],
        table["project"]["optional-dependencies"],
    ]
    return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()


def header() -> str:
    return f"# inputs {inputs_digest()} · made by `make lock`, not by hand\n"


def compile_lock(kind: str, upgrade: bool) -> None:
    target = LOCKS[kind]
    table = project()
    oldest = table["project"]["requires-python"].removeprefix(">=")
    with tempfile.TemporaryDirectory() as folder:
        backend = Path(folder, "backend.in")
        backend.write_text("\n".join(table["build-system"]["requires"]) + "\n", encoding="utf-8")
        output = Path(folder, target.name)
        if target.exists():
            output.write_bytes(target.read_bytes())
        choice = ["--all-extras"] if kind == "dev" else ["--constraint", str(LOCKS["dev"])]
        if upgrade and kind == "dev":
            choice.append("--upgrade")
        subprocess.run(
            [sys.executable, "-m", "uv", *COMMAND, "--python-version", oldest, *choice, "-o", str(output)]
            + ["pyproject.toml", str(backend)],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        target.write_text(header() + output.read_text(encoding="utf-8"), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the lock files from pyproject.toml.")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that are allowed")
    upgrade = parser.parse_args().upgrade
    for kind in LOCKS:
        compile_lock(kind, upgrade)
        print(f"wrote {LOCKS[kind].relative_to(ROOT)}")


if __name__ == "__main__":
    main()
