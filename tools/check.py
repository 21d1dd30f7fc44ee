"""What `make check` runs: each tool over the whole repository, all of them even when one fails.

python -m tools.check [NAME...]
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

CHECKS: dict[str, tuple[str, ...]] = {
    "lint": (sys.executable, "-m", "ruff", "check", "."),
    "format": (sys.executable, "-m", "ruff", "format", "--check", "."),
    "types": (sys.executable, "-m", "mypy"),
    "layers": (str(BIN / "lint-imports"), "--no-cache"),
}
"""The tools; tests/repo/test_check.py runs the same ones in `make test`."""

STYLE = (sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", "not check", "tests/repo")


def run(name: str, command: tuple[str, ...]) -> bool:
    started = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    verdict = "ok" if done.returncode == 0 else "FAILED"
    print(f"{name:<8}{verdict:<8}{time.monotonic() - started:5.1f} s", flush=True)
    if done.returncode:
        print(done.stdout, flush=True)
    return done.returncode == 0


def main() -> None:
    commands = {**CHECKS, "style": STYLE}
    chosen = sys.argv[1:] or list(commands)
    unknown = [name for name in chosen if name not in commands]
    if unknown:
        sys.exit(f"no check named {', '.join(unknown)}; there are {', '.join(commands)}")
    verdicts = [run(name, commands[name]) for name in chosen]
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()
