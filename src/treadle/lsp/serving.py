"""Serving over standard input and output, with nothing but the protocol on it."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

from treadle.lsp.server import server


def serve() -> bool:
    """Serve the client at standard input and output until it says goodbye or goes away.

    Whatever else would be printed goes to standard error. Returns whether the client took its leave first.
    """
    out = _output()
    made = server()
    made.start_io(sys.stdin.buffer, out)
    return made.left


def _output() -> BinaryIO:
    """Standard output for the protocol alone: its descriptor then leads to standard error for all others."""
    sys.stdout.flush()
    own = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return own
