"""`python -m bench [NAME …]`: measure, and print a table. Without names: all of it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent


def slow_library(folder: str) -> str | None:
    """The preloaded library that makes flushes slower, built here; None without a C compiler."""
    built = str(Path(folder) / "slow.so")
    try:
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O2", "-o", built, str(HERE / "slow.c"), "-ldl"], check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return built


def work_queue() -> None:
    """The main job, as the disk is and with a millisecond added to each flush."""
    command = [sys.executable, "-m", "bench.work_queue"]
    print("flushes as they are", flush=True)
    subprocess.run(command, check=True)
    with tempfile.TemporaryDirectory() as folder:
        library = slow_library(folder)
        if library is None:
            print("no C compiler: the rows with slow flushes are left out")
            return
        print("each flush a millisecond slower", flush=True)
        subprocess.run(command, check=True, env={**os.environ, "LD_PRELOAD": library})


def script(name: str) -> Callable[[], None]:
    """A module of this folder with a `main`."""

    def run() -> None:
        import_module(f"bench.{name}").main()

    return run


PARTS: Final[dict[str, Callable[[], None]]] = {"work_queue": work_queue} | {
    path.stem: script(path.stem)
    for path in sorted(HERE.glob("*.py"))
    if path.stem not in ("__init__", "__main__", "work_queue")
}


def main(names: list[str]) -> int:
    """Run the parts that are named."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"no part {unknown[0]}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    print(
        f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores", flush=True
    )
    for name in names or PARTS:
        print(f"\n{name}", flush=True)
        PARTS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
