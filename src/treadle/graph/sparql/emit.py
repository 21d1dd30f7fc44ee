"""Tokens back into text, for the index's own parser.

Its parser never sees what the caller wrote.  It sees names and IRIs in full, strings in one spelling, no
comments, no prologue, a blank between tokens: so it cannot read a token where we read none, and its
complaints are mapped back to the caller's line and column.  ``NOW()`` is replaced by the sealed time here,
and bound variables by their terms.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from treadle.errors import SparqlSyntax
from treadle.graph.sparql.names import Scope
from treadle.graph.sparql.tokens import (
    BLANK,
    FUNCTIONS,
    IRIREF,
    LANG,
    NAME,
    NUMBER,
    PUNCT,
    STRING,
    VAR,
    WORD,
    Source,
    Token,
)
from treadle.graph.terms import XSD_DATETIME, BlankNode, Literal, Term, escape

_PLACE: Final = re.compile(r"error at (\d+):(\d+): expected (?:one of )?(.*)", re.DOTALL)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN_CHOICES: Final = 6
_CLASS: Final = re.compile(r"\[(?:[^\]']|'[^']*')*\]")
_FUNCTION: Final = re.compile(r"<[^<>]+>")
_NOT_OFFERED: Final = frozenset(("<unreported>", "LATERAL", "SERVICE", '"{|"', '"~"', '"<<"', '"<<("'))
_SIMPLE: Final = {value: f" {value}" for value in "{}[].,;"}
_CHOICE: Final = re.compile(r'"(?:\\.|[^"\\])*"|[^,]+')


def instant(now: int) -> Literal:
    """A time in microseconds since 1970 UTC as an ``xsd:dateTime``, in canonical spelling."""
    moment = _EPOCH + timedelta(microseconds=now)
    text = moment.replace(tzinfo=None).isoformat(timespec="microseconds")
    return Literal(text.rstrip("0").rstrip(".") + "Z", XSD_DATETIME)


class Emitter:
    """Builds one text for the index's parser and remembers where each piece stood.

    Args:
        source: the caller's text.
        tokens: its tokens.
        now: what ``NOW()`` stands for, microseconds since 1970 UTC.
        bindings: terms to put in place of variables.
    """

    __slots__ = ("_bindings", "_length", "_marks", "_now", "_parts", "_source", "_tokens")

    def __init__(
        self, source: Source, tokens: list[Token], *, now: int, bindings: Mapping[str, Term] | None = None
    ) -> None:
        self._source = source
        self._tokens = tokens
        self._now = now
        # A blank node cannot be written into a pattern: such a variable stays, for the store to substitute.
        self._bindings = {
            name: term for name, term in (bindings or {}).items() if type(term) is not BlankNode
        }
        self._parts: list[str] = []
        self._marks: list[tuple[int, int]] = []
        self._length = 0

    @property
    def text(self) -> str:
        """What was emitted so far; it has no line ends."""
        return "".join(self._parts)

    def raw(self, text: str) -> None:
        """Adds text of our own."""
        self._parts.append(text)
        self._length += len(text)

    def span(self, start: int, end: int, scope: Scope) -> None:
        """Adds the tokens from index `start` to before `end`, with names resolved in `scope`."""
        index, length = start, self._length
        add, mark, tokens, source = self._parts.append, self._marks.append, self._tokens, self._source
        while index < end:
            token = tokens[index]
            kind, value, place = token
            mark((length, place))
            if kind == IRIREF:
                text, taken = f" <{scope.iri(source, token)}>", 1
            elif kind == PUNCT and value in _SIMPLE:
                text, taken = _SIMPLE[value], 1
            else:
                text, taken = self._piece(token, index, scope)
                text = text if self._glued(token, index) else " " + text
            add(text)
            length += len(text)
            index += taken
        self._length = length

    def _glued(self, token: Token, index: int) -> bool:
        """Whether a token stands close to the one before it: parts of a literal, a function's arguments.

        The index's parser does not read ``COALESCE (``, with a blank.
        """
        if token.kind != PUNCT:
            return token.kind == LANG
        if token.value == "(" and index:
            before = self._tokens[index - 1]
            return before.kind == WORD and before.value in FUNCTIONS
        return token.value == "^^"

    def _piece(self, token: Token, index: int, scope: Scope) -> tuple[str, int]:
        """The text of the token at an index and how many tokens it stands for."""
        kind, value = token.kind, token.value
        if kind in (PUNCT, NUMBER):
            return value, 1
        if kind in (IRIREF, NAME):
            return f"<{scope.iri(self._source, token)}>", 1
        if kind == VAR:
            bound = self._bindings.get(value)
            return (f"?{value}", 1) if bound is None else (self._bound(bound, token, index), 1)
        if kind == STRING:
            return f'"{escape(value)}"', 1
        if kind == WORD:
            return self._word(value, index)
        return (f"_:{value}" if kind == BLANK else f"@{value}"), 1

    def _word(self, value: str, index: int) -> tuple[str, int]:
        if value == "NOW" and self._values(index + 1, 2) == ["(", ")"]:
            return f"( {instant(self._now).n3()} )", 3
        if value == "BOUND" and self._bound_argument(index):
            return "true", 4
        return (value.lower() if value in ("TRUE", "FALSE") else value), 1

    def _values(self, index: int, count: int) -> list[str]:
        return [token.value for token in self._tokens[index : index + count] if token.kind == PUNCT]

    def _bound_argument(self, index: int) -> bool:
        if not self._bindings or index + 3 >= len(self._tokens):
            return False
        opening, argument, closing = self._tokens[index + 1 : index + 4]
        return (
            (opening.value, closing.value) == ("(", ")")
            and argument.kind == VAR
            and argument.value in self._bindings
        )

    def _bound(self, term: Term, token: Token, index: int) -> str:
        """A bound variable's term, in the form that its place asks for."""
        before = self._tokens[index - 1] if index else token
        if before.kind == WORD and before.value in ("AS", "VALUES"):
            message = f"?{token.value} is bound by the caller and cannot be assigned here"
            raise self._source.error(message, token.start)
        place = _clause(self._tokens, index)
        if place == "VALUES":
            message = f"?{token.value} is bound by the caller and cannot be a VALUES column"
            raise self._source.error(message, token.start)
        if place == "SELECT":
            return f"( {term.n3()} AS ?{token.value} )"
        return f"( {term.n3()} )" if place == "BY" else term.n3()

    def end(self, text: str, index: int) -> None:
        """Adds text of our own that stands for the end of something, at the place of a token's index."""
        if index < len(self._tokens):
            self._marks.append((self._length + 1, self._tokens[index].start))
        self.raw(text)

    def offset(self, emitted: int) -> int:
        """The caller's offset of the token that stands at or before an emitted offset."""
        if not self._marks:
            return 0
        at = bisect_right(self._marks, emitted, key=lambda mark: mark[0])
        return self._marks[max(at - 1, 0)][1]

    def complaint(self, problem: SyntaxError) -> SparqlSyntax:
        """A complaint of the index's parser about this text, at the caller's line and column."""
        message = str(problem.msg if problem.lineno else problem)
        if problem.lineno and problem.offset:
            return self._source.error(_document_message(message), self.offset(problem.offset - 1))
        match = _PLACE.match(message)
        if match is None:
            return SparqlSyntax(message)
        offset = self.offset(int(match.group(2)) - 1)
        return self._source.error(_query_message(match.group(3), self._source.word(offset)), offset)

    def unsupported(self, problem: RuntimeError) -> SparqlSyntax:
        """What the evaluator refuses only when it runs, such as a function that it does not know."""
        match = _FUNCTION.search(str(problem))
        at = self.text.find(match.group()) if match else -1
        if match is None or at < 0:
            return SparqlSyntax(str(problem))
        return self._source.error(f"there is no function {match.group()}", self.offset(at))


def _clause(tokens: list[Token], index: int) -> str | None:
    """The clause in which a variable stands bare: `SELECT`, `BY` (after GROUP or ORDER), `VALUES` or None."""
    depth = 0
    for at in range(index - 1, -1, -1):
        token = tokens[at]
        if token.kind == PUNCT:
            if token.value in ")]":
                depth += 1
            elif token.value in "([":
                depth -= 1
                if depth < 0:
                    return _values_header(tokens, at)
            elif token.value in "{}.;":
                return None
        elif token.kind == WORD and depth == 0:
            if token.value == "SELECT":
                return "SELECT"
            if token.value == "BY":
                return "BY"
            if token.value not in FUNCTIONS and token.value not in ("DISTINCT", "REDUCED", "ASC", "DESC"):
                return None
    return None


def _values_header(tokens: list[Token], opening: int) -> str | None:
    before = tokens[opening - 1] if opening else None
    return "VALUES" if before is not None and before.kind == WORD and before.value == "VALUES" else None


def _document_message(message: str) -> str:
    """A complaint of the Turtle parser without its own place."""
    _, _, rest = message.partition(": ")
    text = rest if message.startswith("Parser error at line") and rest else message
    return f"the statement ends too early: '.'{text[1:]}" if text.startswith(". ") else text


def _query_message(expected: str, found: str) -> str:
    """A complaint of the query parser: its own words where it has any, else the first choices it saw."""
    listed: list[str] = _CHOICE.findall(_CLASS.sub("", expected))
    choices = [choice.strip() for choice in listed if choice.strip()]
    for choice in choices:
        if " " in choice and choice[0] != '"':
            return choice
    shown = [choice.strip('"') for choice in choices if choice not in _NOT_OFFERED]
    if not shown:
        return f"{found!r} cannot stand here"
    more = " …" if len(shown) > _SHOWN_CHOICES else ""
    return f"{found!r} cannot stand here; expected {' or '.join(shown[:_SHOWN_CHOICES])}{more}"
