"""Diagnostics as text: the place, the source line, a caret under it, help."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

from treadle.riff.diagnostics import Diagnostic, Source, Span

WINDOW: Final = 120  # code points of a long line that are shown
LEAD: Final = 40  # of them before the span


def _cell(character: str) -> str:
    """A character as a terminal may show it: no control character reaches it, a tab is one space."""
    if character == "\t":
        return " "
    return character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"


def _width(text: str) -> int:
    """Columns of a terminal that the text takes: wide characters two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def _excerpt(source: Source, span: Span) -> tuple[str, str]:
    """The line of the span's start, cut to a window around it, and the carets under it."""
    line = "".join(map(_cell, source.line(span.start.line)[: span.start.column + WINDOW]))
    column = span.start.column - 1
    end = span.end.column - 1 if span.end.line == span.start.line else len(line)
    first = max(0, column - LEAD) if len(line) > WINDOW else 0
    shown = line[first : first + WINDOW]
    before = _width(shown[: column - first])
    marked = _width(shown[column - first : end - first])
    return shown, " " * before + "^" * max(1, marked)


def _place(source: Source, span: Span) -> list[str]:
    number = str(span.start.line)
    margin = " " * len(number)
    shown, carets = _excerpt(source, span)
    return [
        f"{margin}--> {source.name}:{number}:{span.start.column}",
        f"{margin} |",
        f"{number} | {shown}".rstrip(),
        f"{margin} | {carets}",
    ]


def render_one(found: Diagnostic, source: Source) -> str:
    """One diagnostic as some lines of text, without a line end after the last."""
    lines = [f"{found.severity} {found.code}: {found.message}", *_place(source, found.span)]
    for other in found.related:
        lines.append(f"  note: {other.message}")
        lines.extend(_place(source, other.span))
    if found.help:
        lines.append(f"  help: {found.help}")
    return "\n".join(lines)


def render(diagnostics: Iterable[Diagnostic], source: Source) -> str:
    """All diagnostics, a blank line between two."""
    return "\n\n".join(render_one(found, source) for found in diagnostics)
