"""A call on a pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TREADLE = (sys.executable, "-m", "treadle.cli")


def on_a_terminal(words: tuple[str, ...], folder: Path, **environment: str) -> str:
    """What a call prints on a pseudo-terminal."""
    master, slave = os.openpty()
    process = subprocess.Popen(
        [*TREADLE, *words],
        cwd=folder,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={key: value for key, value in os.environ.items() if key != "NO_COLOR"} | environment,
    )
    os.close(slave)
    printed = b""
    while True:
        try:
            chunk = os.read(master, 65_536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        printed += chunk
    process.wait(timeout=60)
    os.close(master)
    return printed.decode()
