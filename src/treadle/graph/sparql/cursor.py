"""A place in a list of tokens, with the brackets of the whole list matched beforehand."""

from __future__ import annotations

from typing import Final, NoReturn

from treadle.errors import SparqlLimit
from treadle.graph.sparql.names import Scope, is_iri
from treadle.graph.sparql.tokens import NAME, PUNCT, WORD, Source, Token

NESTING: Final = 100
_CLOSERS: Final = {"{": "}", "(": ")", "[": "]"}


def match_brackets(source: Source, tokens: list[Token]) -> dict[int, int]:
    """For each opening bracket's token index the index of its closing one.

    Raises:
        SparqlSyntax: a bracket has no partner.
        SparqlLimit: brackets are nested deeper than `NESTING`, which no parser below is asked to survive.
    """
    closing: dict[int, int] = {}
    stack: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind != PUNCT:
            continue
        value = token.value
        if value in _CLOSERS:
            stack.append(index)
            if len(stack) > NESTING:
                line, column = source.place(token.start)
                raise SparqlLimit(f"brackets nested deeper than {NESTING} at line {line}, column {column}")
        elif value in "})]":
            if not stack or _CLOSERS[tokens[stack[-1]].value] != value:
                raise source.error(f"{value!r} closes nothing that is open here", token.start)
            closing[stack.pop()] = index
    if stack:
        opener = tokens[stack[-1]]
        raise source.error(f"{opener.value!r} is never closed", opener.start)
    return closing


class Cursor:
    """Reads tokens in order. `index` is the place of the next one."""

    __slots__ = ("closing", "index", "scope", "source", "tokens")

    def __init__(self, source: Source, tokens: list[Token], base: str | None) -> None:
        self.source = source
        self.tokens = tokens
        self.closing = match_brackets(source, tokens)
        self.index = 0
        self.scope = Scope(base)

    @property
    def ended(self) -> bool:
        return self.index >= len(self.tokens)

    def peek(self) -> Token | None:
        """The next token, None at the end."""
        return None if self.ended else self.tokens[self.index]

    def at_word(self, *words: str) -> bool:
        """Whether the next token is one of these keywords."""
        token = self.peek()
        return token is not None and token.kind == WORD and token.value in words

    def at_punct(self, value: str) -> bool:
        """Whether the next token is this punctuation."""
        token = self.peek()
        return token is not None and token.kind == PUNCT and token.value == value

    def take_word(self, *words: str) -> str | None:
        """The next token if it is one of these keywords, which is then passed."""
        if not self.at_word(*words):
            return None
        self.index += 1
        return self.tokens[self.index - 1].value

    def expect_word(self, *words: str) -> str:
        """The same, a syntax error if it is none of them."""
        word = self.take_word(*words)
        if word is None:
            self.fail(f"expected {' or '.join(words)}")
        return word

    def expect_iri(self) -> str:
        """The full IRI that comes next, checked."""
        token = self.peek()
        if token is None or not is_iri(token):
            self.fail("expected an IRI")
        self.index += 1
        return str(self.scope.node(self.source, token).value)

    def expect_braces(self) -> tuple[int, int]:
        """The token indexes of the next `{` and its `}`, which are passed."""
        if not self.at_punct("{"):
            self.fail("expected '{'")
        start = self.index
        end = self.closing[start]
        self.index = end + 1
        return start, end

    def prologue(self) -> None:
        """Takes the BASE and PREFIX declarations that come next into the scope."""
        while word := self.take_word("BASE", "PREFIX"):
            if word == "BASE":
                self.scope = Scope(self._declared_iri(), self.scope.prefixes)
                continue
            token = self.peek()
            if token is None or token.kind != NAME or not token.value.endswith(":"):
                self.fail("expected a prefix such as 'ex:'")
            self.index += 1
            prefixes = {**self.scope.prefixes, token.value[:-1]: self._declared_iri()}
            self.scope = Scope(self.scope.base, prefixes)

    def _declared_iri(self) -> str:
        token = self.peek()
        if token is None or not is_iri(token) or token.kind == NAME:
            self.fail("expected an IRI between < and >")
        return self.expect_iri()

    def fail(self, message: str) -> NoReturn:
        """Raises a syntax error at the next token."""
        token = self.peek()
        if token is None:
            raise self.source.error(f"{message}, but the text ends here", len(self.source.text))
        raise self.source.error(f"{message}, found {self.source.word(token.start)!r}", token.start)
