"""Query text to a syntax tree, or to diagnostics that say what to write instead.

Total and linear, as the contract's reader is: after an error, reading goes on at the next statement, clause
or query, at most as often as diagnostics are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from treadle.limits import DIAGNOSTICS, NESTING
from treadle.riff.diagnostics import Diagnostic, Extent, Report, Source
from treadle.riff.lalr import END, Driver, Token
from treadle.riff.tokens import Lexed, decode, lex, too_deep, words
from treadle.riffql import syntax as q
from treadle.riffql.language import FOREIGN, INSTEAD, NOUN, language, table
from treadle.riffql.tree import QueryTree


@dataclass(frozen=True)
class Parsed:
    """What was read: `queries` is None where the text is not of the grammar; `report` has the findings."""

    source: Source
    queries: tuple[q.Query, ...] | None
    lexed: Lexed
    report: Report

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.report.diagnostics(self.source)


_STATEMENTS: Final = words("ONE MAYBE MANY RETURN")
_CLAUSES: Final = words("WHERE GROUP ORDER TAKE ELSE OUTCOMES")
_STARTS: Final = _STATEMENTS | _CLAUSES | {"QUERY"}
_TYPES: Final = words("BOOL I64 U64 TIMESTAMP DATE UUID DECIMAL MONEY STRING BYTES OPTIONAL LIST")
_OPERANDS: Final = words("BANG MINUS LPAR TRUE FALSE NULL INTEGER FIXED QUOTED PARAMETER WHEN")
_OPERATORS: Final = words(
    "OR AND EQUAL UNEQUAL LESS AT_MOST MORE AT_LEAST IN IS PREFIX PLUS MINUS STAR SLASH DOT"
)
_OPENS: Final = {"LBRACE": "}", "LPAR": ")"}
_HELP: Final = {
    "QUERY": "a query text holds queries, as in `query Waiting($shop: Job.shop_id) { … }`",
    "FROM": "a statement names a row and its entity, as in `many job from Job`",
    "BY": "write `order by job.created_at` or `group by job.state`",
}
_SIGNS: Final = {"=": "`=` sets nothing here; compare with `==`"}


@cache
def _names() -> frozenset[str]:
    """The kinds of token that may be a name: what can follow the word `query`."""
    rows = table().rows
    after = rows[rows[table().start]["QUERY"]]
    return frozenset(kind for kind in after if kind.isupper())


def parse(source: str | bytes, name: str = "<queries>") -> Parsed:
    """Read a text of queries: bytes are UTF-8, `name` is what diagnostics call it. Never raises."""
    report = Report()
    text = Source(decode(source, report, NOUN), name)
    if report.failed():
        return Parsed(text, None, Lexed([], [], False), report)
    lexed = lex(text, report, language())
    deep = too_deep(lexed.tokens)
    if deep is not None:
        message = f"this nests deeper than {NESTING} brackets and prefix operators; split the query"
        report.add("S006", Extent(deep.start, deep.end), message)
    if deep is not None or not lexed.complete:
        return Parsed(text, None, lexed, report)
    queries = Reader(lexed.tokens, report).read()
    return Parsed(text, None if report.failed() else queries, lexed, report)


class Reader:
    """Feeds the driver, and finds its way after an error."""

    def __init__(self, tokens: list[Token], report: Report) -> None:
        self.tokens = tokens
        self.report = report
        self.driver = Driver(table(), QueryTree(report).builders)

    def read(self) -> tuple[q.Query, ...] | None:
        """The queries, or None where a syntax error was found."""
        place: int | None = 0
        whole = True
        driver = self.driver
        while place is not None:
            token = self.tokens[place]
            if token.kind == END and driver.accepts(END):
                break
            if driver.feed(token):
                place += 1
                continue
            whole = False
            self._refuse(place)
            place = self._recover(place) if self.report.errors < DIAGNOSTICS else None
        if not whole:
            return None
        queries: tuple[q.Query, ...] = driver.finish()
        return queries

    def _recover(self, place: int) -> int | None:
        """Where reading goes on: a clause, a statement, a query or a closing bracket that can stand.

        Brackets that open on the way are skipped whole, unless a query begins in them.
        """
        depth = 0
        for here in range(place, len(self.tokens) - 1):
            kind = self.tokens[here].kind
            if kind in _OPENS:
                depth += 1
            elif kind in ("RBRACE", "RPAR"):
                if depth:
                    depth -= 1
                elif (after := self._close(kind, here)) is not None:
                    return after
            elif kind in _STARTS and (not depth or kind == "QUERY") and self._begins(kind, here):
                return here
        return None

    def _begins(self, kind: str, here: int) -> bool:
        """Unwind to where `kind` begins a clause; a word that may be a name needs its clause after it."""
        follows = self.tokens[here + 1].kind
        if kind in ("GROUP", "ORDER") and follows != "BY":
            return False
        if kind == "QUERY" and self.tokens[min(here + 2, len(self.tokens) - 1)].kind not in _OPENS:
            return False
        return self.driver.unwind(kind, without="IDENT")

    def _close(self, kind: str, here: int) -> int | None:
        """Close the block that is open with the bracket at `here`, or drop the block and go on after it."""
        driver = self.driver
        block = driver.innermost("LBRACE")
        if kind == "RPAR":
            opened = driver.innermost("LPAR")
            return here if opened > block and driver.unwind(kind, above=opened + 1) else None
        if block < 0 or driver.unwind(kind, above=block + 1):
            return here if block >= 0 else None
        return here + 1 if driver.unwind(kind, below=block) else None

    def _refuse(self, place: int) -> None:
        token = self.tokens[place]
        at = Extent(token.start, token.end)
        if self.report.has("S003", at):
            return  # the token is refused already, and what stands in for it cannot stand here
        if token.kind == "IDENT" and token.text.lower() in FOREIGN:
            message = (
                f"`{token.text}` is not part of the language; {INSTEAD.get(token.text.lower(), 'remove it')}"
            )
            self.report.add("S008", at, message)
            return
        expected = self.driver.expected()
        wanted = _wanted(expected)
        related = self._unclosed(place) if "RBRACE" in expected or "RPAR" in expected else []
        help = _HELP.get(expected[0], "") if len(expected) == 1 else ""
        if token.kind == END:
            message = f"the text ends too early; write {wanted}"
            self.report.add("S005", at, message, help=help, related=related)
            return
        found = f"`{_shown(token.text)}`"
        if token.kind in _SIGNS:
            message, related = _SIGNS[token.kind], []
        elif "IDENT" in expected and token.text[0].isalpha():
            message = f"{found} is a word of the language; write {wanted}"
        else:
            message = f"{found} cannot stand here; write {wanted}"
            related = related if token.kind in _STARTS else []
        self.report.add("S004", at, message, help=help, related=related)

    def _unclosed(self, place: int) -> list[tuple[str, Extent]]:
        """The innermost bracket that is open at a token."""
        opened: list[Token] = []
        for token in self.tokens[:place]:
            if token.kind in _OPENS:
                opened.append(token)
            elif token.kind in ("RBRACE", "RPAR") and opened:
                opened.pop()
        if not opened:
            return []
        last = opened[-1]
        return [(f"this `{last.text}` waits for its `{_OPENS[last.kind]}`", Extent(last.start, last.end))]


def _shown(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"


def _wanted(expected: Iterable[str]) -> str:
    """What can stand here, in words: groups by their name, then single words and signs."""
    left = set(expected)
    groups: list[str] = []
    for name, mark, members in (
        ("an expression", "QUOTED", _OPERANDS | _names()),
        ("a type", "BOOL", _TYPES | _names()),
        ("a name", "IDENT", _names()),
        ("an operator", "PLUS", _OPERATORS),
    ):
        if mark in left:
            groups.append(name)
            left -= members
    texts = {kind: text for text, kind in language().kinds.items()}
    literals = {
        "INTEGER": "an integer",
        "PARAMETER": "a parameter such as `$shop`",
        END: "the end of the text",
    }
    groups.extend(literals.get(kind) or f"`{texts[kind]}`" for kind in sorted(left))
    return groups[0] if len(groups) == 1 else ", ".join(groups[:-1]) + " or " + groups[-1]
