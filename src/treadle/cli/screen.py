"""What is printed: text for a person, JSON for a program, colour only on a terminal that wants it.

Text out of the database is printed with its control characters spelled out, so that no row can move the
cursor or colour the screen.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, TextIO

import typer

from treadle.errors import ContractError, TreadleError
from treadle.registry import load

COLOURS: Final = {"good": "green", "bad": "red", "mild": "yellow", "key": "cyan"}


def out(text: str = "") -> None:
    """A line to standard output."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """A line to standard error: what a pipe should not carry."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def out_json(value: object) -> None:
    """A JSON value on one line of standard output."""
    out(json.dumps(value, ensure_ascii=False, allow_nan=False))


def coloured(stream: TextIO) -> bool:
    """Whether colour is welcome: a terminal, no NO_COLOR, not a dumb one."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    """`text` in one of `COLOURS`, where colour is welcome."""
    return typer.style(text, fg=COLOURS[colour]) if coloured(stream or sys.stdout) else text


def strong(text: str) -> str:
    """`text` in bold, where colour is welcome."""
    return typer.style(text, bold=True) if coloured(sys.stdout) else text


def plain(text: str) -> str:
    """`text` on one line, with whatever could move, colour or reorder a terminal's text spelled out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def counted(count: int, one: str, many: str = "") -> str:
    """`1 row`, `2 rows`; `many` where the plural is not made with an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def table(rows: Iterable[Sequence[str]]) -> None:
    """Rows of text in columns, each as wide as its widest cell; the last column is not padded."""
    lines = [tuple(map(plain, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        out("  ".join(padded).rstrip())


def indented(rows: Sequence[tuple[str, str]], by: int = 2) -> None:
    """Names and values, one pair a line, the values below one another."""
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        out(f"{' ' * by}{name.ljust(width)}  {plain(text)}".rstrip())


def error_json(error: TreadleError) -> dict[str, Any]:
    """An error as `--json` prints it."""
    body: dict[str, Any] = {"code": error.code, "message": error.message, "recovery": error.recovery}
    for name in ("path", "constraint", "commit", "replayed", "reason"):
        value = getattr(error, name, None)
        if value not in (None, ""):
            body[name] = value
    if isinstance(error, ContractError) and error.diagnostics:
        body |= load("riff").to_json(error.diagnostics)
    return {"error": body}


def error_text(error: TreadleError) -> str:
    """An error for a person: its code and one sentence that says what to do."""
    return f"{paint('error', 'bad', sys.stderr)} {error.code}: {error.message}"
