"""Places in a text: offsets in code points here, lines and columns in the client's units there.

A line of the protocol ends at LF, CRLF or CR; a column counts UTF-8 bytes, UTF-16 units or code points,
as was agreed. An offset that lies within a line's end counts as the end of the line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from lsprotocol import types as lsp

from treadle.riff.diagnostics import Extent

_ENDS: Final = re.compile(r"\r\n?|\n")


def _utf8(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


MEASURES: Final[Mapping[str, Callable[[str], int]]] = {
    lsp.PositionEncodingKind.Utf32: len,
    lsp.PositionEncodingKind.Utf16: _utf16,
    lsp.PositionEncodingKind.Utf8: _utf8,
}
"""How long a text is in each unit, the one that we like best first."""


def chosen(offered: Sequence[str] | None) -> str:
    """The unit to count columns in: ours where it is offered, else the client's first; UTF-16 without any."""
    known = [str(getattr(each, "value", each)) for each in offered or ()]
    for unit in MEASURES:
        if unit == lsp.PositionEncodingKind.Utf32 and unit in known:
            return unit
    return next((unit for unit in known if unit in MEASURES), lsp.PositionEncodingKind.Utf16)


class Lines:
    """A text with its lines, for one unit. Immutable.

    `skip` characters at the beginning do not count in offsets: a byte order mark, which the compiler leaves
    out and the client counts.
    """

    def __init__(self, text: str, unit: str = lsp.PositionEncodingKind.Utf16, *, skip: int = 0) -> None:
        self.text = text
        self._skip = skip
        self._measure = MEASURES[unit]
        ends = [found.span() for found in _ENDS.finditer(text)]
        self._starts = [0, *(end for _, end in ends)]
        self._stops = [*(start for start, _ in ends), len(text)]

    def position(self, offset: int) -> lsp.Position:
        """The position of an offset; one past the text's end is the end."""
        offset += self._skip
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        stop = min(offset, self._stops[line])
        return lsp.Position(line, self._measure(self.text[start:stop]))

    def range(self, extent: Extent) -> lsp.Range:
        return lsp.Range(self.position(extent.start), self.position(extent.end))

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position. One past a line's end, or the text's, is that end; one inside a character
        is its beginning."""
        return max(0, self._offset(position) - self._skip)

    def _offset(self, position: lsp.Position) -> int:
        if position.line >= len(self._starts):
            return len(self.text)
        start, stop = self._starts[position.line], self._stops[position.line]
        text = self.text[start:stop]
        if text.isascii() or self._measure is len:
            return min(start + position.character, stop)
        low, high = 0, len(text)
        while low < high:  # the most characters that fit
            middle = (low + high + 1) // 2
            if self._measure(text[:middle]) <= position.character:
                low = middle
            else:
                high = middle - 1
        return start + low

    def extent(self, range: lsp.Range) -> Extent:
        start = self.offset(range.start)
        return Extent(start, max(start, self.offset(range.end)))

    @property
    def whole(self) -> lsp.Range:
        """The range of the whole text."""
        return self.range(Extent(-self._skip, len(self.text)))
