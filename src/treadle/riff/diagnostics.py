"""Diagnostics: what is wrong with a contract, where, and what to write instead.

A `Report` collects them while a text is compiled and gives at most 32, in source order. `render` prints
them with the source line and a caret; `to_json` is the form of `treadle check --json`.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from treadle.limits import DIAGNOSTICS
from treadle.text import nearest

ERROR: Final = "error"
WARNING: Final = "warning"
Severity = Literal["error", "warning"]


class Extent(NamedTuple):
    """A piece of the source: offsets in code points, `end` exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Position:
    """`line` and `column` count from 1, columns in code points; `offset` counts code points from 0."""

    line: int
    column: int
    offset: int


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` up to and without `end`."""

    start: Position
    end: Position


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that explains a diagnostic, such as the first of two declarations."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `message` says what is wrong and what to write instead; `help` may add how or why."""

    code: str
    severity: Severity
    message: str
    span: Span
    help: str = ""
    related: tuple[Related, ...] = ()

    @property
    def is_error(self) -> bool:
        return self.severity == ERROR


class Source:
    """A contract's text with its lines. A line ends at LF (a CR before it belongs to the line's end)."""

    def __init__(self, text: str, name: str = "<contract>") -> None:
        self.text = text
        self.name = name
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def position(self, offset: int) -> Position:
        line = bisect.bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1, offset)

    def span(self, extent: Extent) -> Span:
        return Span(self.position(extent.start), self.position(extent.end))

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].removesuffix("\r")


@dataclass(slots=True)
class _Entry:
    code: str
    severity: Severity
    message: str
    at: Extent
    help: str
    related: Sequence[tuple[str, Extent]]
    misspelt: str
    known: Iterable[str]


@dataclass(slots=True)
class Report:
    """Collects findings, in any order. A finding is reported once for one code and place."""

    entries: dict[tuple[str, int, int], _Entry] = field(default_factory=dict)
    errors: int = 0

    def add(
        self,
        code: str,
        at: Extent,
        message: str,
        *,
        help: str = "",
        related: Sequence[tuple[str, Extent]] = (),
        misspelt: str = "",
        known: Iterable[str] = (),
    ) -> None:
        """Add a finding; with `misspelt`, its message ends with the nearest of the `known` names."""
        key = (code, at.start, at.end)
        if key in self.entries:
            return
        severity: Severity = WARNING if code.startswith("W") else ERROR
        self.errors += severity == ERROR
        self.entries[key] = _Entry(code, severity, message, at, help, related, misspelt, known)

    def failed(self) -> bool:
        return self.errors > 0

    def has(self, code: str, at: Extent) -> bool:
        return (code, at.start, at.end) in self.entries

    def diagnostics(self, source: Source) -> tuple[Diagnostic, ...]:
        """The first 32 in source order; a warning never takes the place of an error."""
        ordered = sorted(self.entries.values(), key=lambda entry: (entry.at, entry.code))
        errors = [entry for entry in ordered if entry.severity == ERROR][:DIAGNOSTICS]
        warnings = [entry for entry in ordered if entry.severity != ERROR][: DIAGNOSTICS - len(errors)]
        kept = sorted(errors + warnings, key=lambda entry: (entry.at, entry.code))
        return tuple(_diagnostic(entry, source) for entry in kept)


def _diagnostic(entry: _Entry, source: Source) -> Diagnostic:
    message = entry.message
    if entry.misspelt:  # looked up here, for at most 32: comparing every bad name with every good one is slow
        message += nearest(entry.misspelt, entry.known)
    related = tuple(Related(text, source.span(at)) for text, at in entry.related)
    return Diagnostic(entry.code, entry.severity, message, source.span(entry.at), entry.help, related)


def to_json(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """`{"diagnostics": […]}` with lines and columns from 1, columns in code points."""
    return {"diagnostics": [_json(found) for found in diagnostics]}


def _json(found: Diagnostic) -> dict[str, Any]:
    return {
        "code": found.code,
        "severity": found.severity,
        "message": found.message,
        "help": found.help,
        "span": _json_span(found.span),
        "related": [{"message": other.message, "span": _json_span(other.span)} for other in found.related],
    }


def _json_span(span: Span) -> dict[str, Any]:
    return {
        "start": {"line": span.start.line, "column": span.start.column},
        "end": {"line": span.end.line, "column": span.end.column},
    }
