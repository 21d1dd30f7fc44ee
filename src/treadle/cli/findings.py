"""The compiler's findings, as `check` and `deploy` print them."""

from __future__ import annotations

import sys
from typing import Final, TextIO

from treadle.cli import screen

COLOURS: Final = {"error": "bad", "warning": "mild"}


def coloured_findings(text: str, stream: TextIO | None = None) -> str:
    """Rendered findings with the word that begins each in its colour."""
    stream = stream or sys.stderr
    lines = []
    for line in text.splitlines():
        word, space, rest = line.partition(" ")
        painted = screen.paint(word, COLOURS[word], stream) if word in COLOURS else word
        lines.append(painted + space + rest)
    return "\n".join(lines)
