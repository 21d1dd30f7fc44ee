"""How long a string an expression may build.

``BIND(CONCAT(?a, ?a) AS ?b)`` forty times over asks for a terabyte, and the process dies of it.  The bound on
a built string is worked out from the text: a literal counts its length, a value from the data counts
`DATA_CHARACTERS`, CONCAT adds its arguments, REPLACE multiplies, GROUP_CONCAT counts `GROUP_ROWS` rows, and a
variable that the text defines counts what its definition does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from treadle.errors import SparqlLimit
from treadle.graph.sparql.tokens import IRIREF, NAME, PUNCT, STRING, VAR, WORD, Source, Token

DATA_CHARACTERS: Final = 4_096
GROUP_ROWS: Final = 1_024
BUILT_CHARACTERS: Final = 16 * 1024 * 1024
_BUILDERS: Final = frozenset(("CONCAT", "REPLACE", "GROUP_CONCAT"))
_WIDENING: Final = {"ENCODE_FOR_URI": 3, "UCASE": 3, "LCASE": 3}


def check_growth(source: Source, tokens: list[Token], closing: dict[int, int], start: int, end: int) -> None:
    """Refuses expressions that could build a string longer than `BUILT_CHARACTERS`.

    Raises:
        SparqlLimit: one could.
    """
    calls = [at for at in range(start, end) if tokens[at].kind == WORD and tokens[at].value in _BUILDERS]
    if calls:
        _Growth(source, tokens, closing).check(calls, list(_definitions(tokens, closing, start, end)))


def _definitions(
    tokens: list[Token], closing: dict[int, int], start: int, end: int
) -> Iterator[tuple[str, int, int]]:
    """For each ``(expression AS ?name)`` the name and the expression's token indexes."""
    opened: list[int] = []
    for at in range(start, end):
        token = tokens[at]
        if token.kind == PUNCT and at in closing:
            opened.append(at)
        elif token.kind == PUNCT and token.value in ("}", ")", "]") and opened:
            opened.pop()
        elif token.kind == WORD and token.value == "AS" and opened and at + 1 < end:
            yield tokens[at + 1].value, opened[-1] + 1, at


class _Growth:
    def __init__(self, source: Source, tokens: list[Token], closing: dict[int, int]) -> None:
        self._source = source
        self._tokens = tokens
        self._closing = closing
        self._lengths: dict[str, int] = {}

    def check(self, calls: list[int], definitions: list[tuple[str, int, int]]) -> None:
        """Follows definitions as far as one can feed another, then looks at every call."""
        for _ in definitions:
            changed = False
            for name, first, end in definitions:
                length = self._length(first, end)
                self._refuse_if_long(length, self._tokens[first])
                if length > self._lengths.get(name, 0):
                    self._lengths[name] = length
                    changed = True
            if not changed:
                break
        for call in calls:
            self._refuse_if_long(self._length(call, call + 1), self._tokens[call])

    def _refuse_if_long(self, length: int, token: Token) -> None:
        if length > BUILT_CHARACTERS:
            line, column = self._source.place(token.start)
            raise SparqlLimit(
                f"this could build a string of more than {BUILT_CHARACTERS} characters, at line {line}, "
                f"column {column}; build it where you use it"
            )

    def _length(self, index: int, end: int) -> int:
        """The longest string that the expression between two token indexes can be."""
        longest = 0
        while index < end:
            length, index = self._item(index)
            longest = max(longest, length)
        return longest

    def _item(self, index: int) -> tuple[int, int]:
        token = self._tokens[index]
        if token.kind == WORD and self._opens(index + 1, "("):
            return self._call(token.value, index + 1), self._closing[index + 1] + 1
        if token.kind == PUNCT and index in self._closing:
            braces = token.value == "{"  # a pattern within EXISTS builds nothing here
            return 0 if braces else self._length(index + 1, self._closing[index]), self._closing[index] + 1
        if token.kind in (STRING, IRIREF):
            return len(token.value), index + 1
        if token.kind == VAR:
            return max(self._lengths.get(token.value, 0), DATA_CHARACTERS), index + 1
        return (DATA_CHARACTERS if token.kind == NAME else len(token.value)), index + 1

    def _opens(self, index: int, value: str) -> bool:
        return index in self._closing and self._tokens[index].value == value

    def _call(self, name: str, opening: int) -> int:
        lengths = [self._length(first, end) for first, end in self._arguments(opening)]
        if name == "CONCAT":
            return sum(lengths)
        if name == "GROUP_CONCAT":
            return GROUP_ROWS * sum(lengths)
        if name == "REPLACE" and len(lengths) >= 3:
            return max(lengths[0], 1) * max(lengths[2], 1)
        return _WIDENING.get(name, 1) * max(lengths, default=0)

    def _arguments(self, opening: int) -> Iterator[tuple[int, int]]:
        """The token indexes of each argument; GROUP_CONCAT's separator counts as one."""
        end = self._closing[opening]
        first = at = opening + 1
        while at < end:
            token = self._tokens[at]
            if token.kind == PUNCT and token.value in (",", ";"):
                yield first, at
                first = at + 1
            at = self._closing.get(at, at) + 1
        yield first, end
