"""What is refused before any parser of the index sees it.

Small texts can kill or hang the index's parser, planner or evaluator, and none of them can be cancelled.  The
bounds are measured on the pinned index: a text within them is parsed and planned in well under a second on a
stack of 64 MiB.  They hold for queries, for the patterns of updates, and on every surface.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from treadle.errors import SparqlLimit
from treadle.graph.sparql.growth import check_growth
from treadle.graph.sparql.tokens import (
    BLANK,
    IRIREF,
    NAME,
    NUMBER,
    PUNCT,
    STRING,
    VAR,
    WORD,
    Source,
    Token,
)

TEXT_CHARACTERS: Final = 16 * 1024 * 1024
STRUCTURAL_TOKENS: Final = 4_096
SAME_OPERATORS: Final = 500
OPTIONALS: Final = 50
OPERATIONS: Final = 10_000
PATH_STEPS: Final = 50
JOINED_PATTERNS: Final = 64
JOINED_CONSTANT_PATTERNS: Final = 256

_OPERATORS: Final = frozenset(("||", "&&", "=", "!=", "<", ">", "<=", ">=", *"+-*/|^!?"))
_COUNTED_WORDS: Final = frozenset(("UNION", "MINUS", "FILTER", "BIND", "EXISTS", "IN", "AS", "GRAPH"))
_NODE_KINDS: Final = frozenset((IRIREF, NAME, VAR, STRING, NUMBER, BLANK))
_OWN_JOIN: Final = frozenset(("OPTIONAL", "MINUS", "EXISTS"))
_HEAD_WORDS: Final = frozenset(("SELECT", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"))
_PATH_OPERATORS: Final = frozenset("/|^!*+?")

_GROUP, _BRACKET, _COLLECTION, _PATH, _EXPRESSION = range(5)


def check_length(source: Source) -> None:
    """Refuses a text that is too long to be read at all.

    Raises:
        SparqlLimit: it is longer than `TEXT_CHARACTERS`.
    """
    if len(source.text) > TEXT_CHARACTERS:
        raise SparqlLimit(
            f"the text is longer than {TEXT_CHARACTERS} characters; load large data as a document instead"
        )


def check_pattern(
    source: Source, tokens: list[Token], closing: dict[int, int], start: int, end: int, *, spent: int = 0
) -> int:
    """Refuses a query, or the pattern of an update, that would endanger the process.

    Args:
        source: the text.
        tokens: its tokens.
        closing: its matched brackets.
        start, end: the first token's index and the index past the last one.
        spent: the structural tokens that earlier patterns of the same request took.

    Returns:
        The structural tokens spent so far, with these.

    Raises:
        SparqlLimit: a bound of this module is passed; the message names the bound and the place.
    """
    scan = _Scan(source, tokens, closing, spent)
    scan.run(start, end)
    check_growth(source, tokens, closing, start, end)
    return scan.structural


@dataclass(slots=True)
class _Join:
    """Triple patterns that the planner orders together."""

    patterns: int = 0
    steps: int = 0
    constant: bool = True


@dataclass(slots=True)
class _Frame:
    """One open bracket."""

    kind: int
    join: _Join
    at_start: bool = True  # the next node begins a statement
    head: bool = False  # between SELECT and its pattern, or among solution modifiers
    call: bool = False  # after FILTER, before its expression opens
    body: bool = field(default=False)  # the next brace is a subselect's pattern


class _Scan:
    """One pass over the tokens with a stack of open brackets.

    It counts; it does not judge syntax.  Where a text is no SPARQL the counts may be off, always upwards,
    and the parser refuses it afterwards.
    """

    def __init__(self, source: Source, tokens: list[Token], closing: dict[int, int], spent: int) -> None:
        self.structural = spent
        self._source = source
        self._tokens = tokens
        self._closing = closing
        self._optionals = 0
        self._same: Counter[str] = Counter()
        self._stack = [_Frame(_GROUP, _Join(), head=True)]

    def run(self, start: int, end: int) -> None:
        index = start
        while index < end:
            token = self._tokens[index]
            self.structural += 1
            if self.structural > STRUCTURAL_TOKENS:
                raise self._refusal(f"more than {STRUCTURAL_TOKENS} tokens outside data", token)
            index = self._one(token, index)

    def _one(self, token: Token, index: int) -> int:
        """Counts one token and says where the next one is."""
        if token.kind == PUNCT:
            return self._punct(token, index)
        if token.kind == WORD:
            return self._word(token, index)
        if token.kind == NUMBER and token.value[0] in "+-":
            self._signed(token, index)
        if token.kind in _NODE_KINDS:
            self._node(token, index, constant=token.kind not in (VAR, BLANK))
        return index + 1

    def _word(self, token: Token, index: int) -> int:
        frame, word = self._stack[-1], token.value
        if word in _COUNTED_WORDS:
            self._operator(word, token)
        if word == "OPTIONAL":
            self._optionals += 1
            if self._optionals > OPTIONALS:
                raise self._refusal(f"more than {OPTIONALS} OPTIONAL", token)
        elif word in _HEAD_WORDS:
            frame.head = True
            frame.body = frame.body or word == "SELECT"
        elif word == "FILTER":
            frame.call = True
        elif word == "CONSTRUCT":
            return self._past_template(index + 1)
        elif word == "VALUES":
            frame.at_start = True
            return self._past_values(index + 1)
        elif word in ("TRUE", "FALSE"):
            self._node(token, index, constant=True)
        return index + 1

    def _past_template(self, index: int) -> int:
        """A CONSTRUCT template is filled in, not planned."""
        return self._closing[index] + 1 if self._value(index) == "{" else index

    def _past_values(self, index: int) -> int:
        """The rows of VALUES are data."""
        while index < len(self._tokens) and self._value(index) != "{":
            index = self._closing.get(index, index) + 1
        return self._closing[index] + 1 if index < len(self._tokens) else index

    def _punct(self, token: Token, index: int) -> int:
        frame, value = self._stack[-1], token.value
        if value in _OPERATORS:
            self._operator(value, token)
        if value in "{[(":
            self._open(token, index)
        elif value in "}])":
            self._close()
        elif frame.kind != _EXPRESSION and not frame.head:
            self._separator(value, token, index)
        return index + 1

    def _separator(self, value: str, token: Token, index: int) -> None:
        frame = self._stack[-1]
        if value == ".":
            frame.at_start = True
        elif value == "," or (value == ";" and self._value(index + 1) not in (";", ".", "}", "]")):
            self._pattern(frame, token)
        elif value == "/":
            frame.join.steps += 1
            if frame.join.steps > PATH_STEPS:
                raise self._refusal(f"more than {PATH_STEPS} path steps joined with one another", token)

    def _open(self, token: Token, index: int) -> None:
        frame = self._stack[-1]
        if token.value == "{":
            self._stack.append(_Frame(_GROUP, self._join_of(frame, token, index)))
            return
        if token.value == "[":
            self._node(token, index, constant=False)
            if self._value(index + 1) != "]" and frame.kind != _EXPRESSION:
                self._pattern(frame, token)
            self._stack.append(_Frame(_BRACKET, frame.join, at_start=False))
            return
        kind = self._paren_kind(frame, index)
        if kind == _COLLECTION:
            self._node(token, index, constant=False)
        frame.call = False
        self._stack.append(_Frame(kind, frame.join, at_start=False))

    def _join_of(self, frame: _Frame, token: Token, index: int) -> _Join:
        """The patterns that those of the group opening here are joined with."""
        before = self._tokens[index - 1] if index else token
        if before.kind == WORD and before.value in _OWN_JOIN:
            return _Join()
        if before.kind == WORD and before.value == "UNION":
            return _Join()
        if frame.body or self._value(self._closing[index] + 1) == "UNION":
            frame.body = False
            frame.join.constant = False
            self._pattern(frame, token)  # a union, or a subselect, is one thing to be joined
            return _Join()
        return frame.join

    def _paren_kind(self, frame: _Frame, index: int) -> int:
        if frame.kind in (_EXPRESSION, _PATH):
            return frame.kind
        before = self._tokens[index - 1] if index else None
        if frame.call or frame.head:
            return _EXPRESSION
        if before is not None and before.kind == WORD and before.value not in ("a", "TRUE", "FALSE"):
            return _EXPRESSION
        return _PATH if self._is_path(index, before) else _COLLECTION

    def _is_path(self, index: int, before: Token | None) -> bool:
        if before is not None and before.kind == PUNCT and before.value in "/|^!":
            return True
        end = self._closing[index]
        if self._is_path_operator(end + 1):
            return True
        at = index + 1
        while at < end:
            if self._is_path_operator(at):
                return True
            at = self._closing.get(at, at) + 1
        return False

    def _is_path_operator(self, index: int) -> bool:
        return self._value(index) in _PATH_OPERATORS

    def _close(self) -> None:
        if len(self._stack) > 1:
            closed = self._stack.pop()
            if closed.kind in (_GROUP, _EXPRESSION):
                self._stack[-1].at_start = True
                self._stack[-1].call = False

    def _node(self, token: Token, index: int, *, constant: bool) -> None:
        """A term in a place where statements stand."""
        frame = self._stack[-1]
        if frame.kind == _COLLECTION:
            frame.join.constant = False
            self._pattern(frame, token)
            self._pattern(frame, token)
        elif frame.at_start and not (frame.head or frame.call) and frame.kind == _GROUP:
            if index and self._value(index - 1) in ("GRAPH", "^^"):
                return
            frame.at_start = False
            frame.join.constant = frame.join.constant and constant
            self._pattern(frame, token)
        if token.value == "[":
            frame.join.constant = False

    def _pattern(self, frame: _Frame, token: Token) -> None:
        join = frame.join
        join.patterns += 1
        bound = JOINED_CONSTANT_PATTERNS if join.constant else JOINED_PATTERNS
        if join.patterns > bound:
            raise self._refusal(
                f"more than {bound} triple patterns joined with one another; split the request, or name the "
                f"subjects (up to {JOINED_CONSTANT_PATTERNS} then)",
                token,
            )

    def _signed(self, token: Token, index: int) -> None:
        """``1 +2`` is an addition although the sign belongs to the number's token."""
        before = self._tokens[index - 1] if index else token
        if before.kind != PUNCT or before.value in ")":
            self._operator(token.value[0], token)

    def _operator(self, name: str, token: Token) -> None:
        self._same[name] += 1
        if self._same[name] > SAME_OPERATORS:
            raise self._refusal(f"more than {SAME_OPERATORS} times {name}", token)

    def _value(self, index: int) -> str:
        """The keyword or punctuation at an index, empty for anything else."""
        if index >= len(self._tokens) or self._tokens[index].kind not in (PUNCT, WORD):
            return ""
        return self._tokens[index].value

    def _refusal(self, message: str, token: Token) -> SparqlLimit:
        line, column = self._source.place(token.start)
        return SparqlLimit(f"{message}, at line {line}, column {column}")
