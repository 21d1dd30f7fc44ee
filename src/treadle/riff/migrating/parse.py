"""Migration text to a syntax tree, or to diagnostics that say what to write instead.

Total and linear, as the contract's reader is: after an error, reading goes on at the next item.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from treadle.limits import DIAGNOSTICS, NESTING
from treadle.riff.diagnostics import Diagnostic, Extent, Report, Source
from treadle.riff.lalr import END, Driver, Token
from treadle.riff.migrating import syntax
from treadle.riff.migrating.language import NOUN, language, table
from treadle.riff.syntax import Expression, Integer, Name
from treadle.riff.tokens import Lexed, decode, lex, too_deep, words
from treadle.riff.tree import Tree

_ITEMS: Final = words("FIELD INDEX UNIQUE REFERENCE INVARIANT")
_OPERANDS: Final = words("BANG MINUS LPAR TRUE FALSE NULL INTEGER FIXED QUOTED")
_OPERATORS: Final = words("OR AND EQUAL UNEQUAL LESS AT_MOST MORE AT_LEAST IS PLUS MINUS STAR SLASH DOT")
_BEGIN: Final = "a migration begins `migrate 1 to 2 {`"
_HELP: Final = {
    "MIGRATE": _BEGIN,
    "TO": _BEGIN,
    "ASSIGN": "say what the field begins with, as in `field Job.priority = 3`",
}


class MigrationTree(Tree):
    """Builds the nodes of a migration; expressions are built as a contract's."""

    def migration(self, at: Extent, before: Token, after: Token, *items: syntax.Item) -> syntax.Migration:
        self._members("this migration", items)
        return syntax.Migration(at, _integer(before), _integer(after), items)

    def fill(self, at: Extent, owner: Name, name: Name, value: Expression) -> syntax.Fill:
        return syntax.Fill(at, owner, name, value)

    def named(self, at: Extent, word: Token, owner: Name, name: Name) -> syntax.Named:
        kind: Any = word.text
        return syntax.Named(at, kind, owner, name)


def _integer(token: Token) -> Integer:
    return Integer(Extent(token.start, token.end), token.text)


@dataclass(frozen=True)
class Parsed:
    """What was read: `tree` is None where the text is not of the grammar; `report` has the findings."""

    source: Source
    tree: syntax.Migration | None
    lexed: Lexed
    report: Report

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.report.diagnostics(self.source)


def parse(source: str | bytes, name: str = "<migration>") -> Parsed:
    """Read a migration's text: bytes are UTF-8, `name` is what diagnostics call it. Never raises."""
    report = Report()
    text = Source(decode(source, report, NOUN), name)
    if report.failed():
        return Parsed(text, None, Lexed([], [], False), report)
    lexed = lex(text, report, language())
    deep = too_deep(lexed.tokens)
    if deep is not None:
        message = f"this nests deeper than {NESTING} brackets and prefix operators; split the expression"
        report.add("S006", Extent(deep.start, deep.end), message)
    if deep is not None or not lexed.complete:
        return Parsed(text, None, lexed, report)
    tree = _Reader(lexed.tokens, report).read()
    return Parsed(text, None if report.failed() else tree, lexed, report)


class _Reader:
    """Feeds the driver, and goes on at the next item after an error."""

    def __init__(self, tokens: list[Token], report: Report) -> None:
        self.tokens = tokens
        self.report = report
        self.driver = Driver(table(), MigrationTree(report).builders)

    def read(self) -> syntax.Migration | None:
        """The tree, or None where a syntax error was found."""
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
            self._refuse(token)
            place = self._recover(place) if self.report.errors < DIAGNOSTICS else None
        if not whole:
            return None
        tree: syntax.Migration = driver.finish()
        return tree

    def _recover(self, place: int) -> int | None:
        """The next word that begins an item, or the brace that ends the migration."""
        last = len(self.tokens) - 1
        for here in range(place, last):
            kind = self.tokens[here].kind
            begins = kind == "RBRACE" or (kind in _ITEMS and self.tokens[min(here + 2, last)].kind == "DOT")
            if begins and self.driver.unwind(kind, without="IDENT"):
                return here
        return None

    def _refuse(self, token: Token) -> None:
        at = Extent(token.start, token.end)
        if self.report.has("S003", at):
            return  # the token is refused already, and what stands in for it cannot stand here
        expected = self.driver.expected()
        wanted = _wanted(expected)
        help = _HELP.get(expected[0], "") if len(expected) == 1 else ""
        if token.kind == END:
            self.report.add("S005", at, f"the text ends too early; write {wanted}", help=help)
        elif expected == [END]:
            message = "one text holds one migration; remove what stands after its last `}`"
            self.report.add("S004", at, message)
        else:
            found = token.text if len(token.text) <= 40 else token.text[:40] + "…"
            self.report.add("S004", at, f"`{found}` cannot stand here; write {wanted}", help=help)


@cache
def _names() -> frozenset[str]:
    """The kinds of token that may be a name: IDENT and the words that are not reserved."""
    return frozenset(table().texts) - _OPERANDS - _OPERATORS - {
        "DATE",
        "LBRACE",
        "RBRACE",
        "RPAR",
        "ASSIGN",
    } | {
        "IDENT",
        "IS",
    }


def _wanted(expected: Iterable[str]) -> str:
    """What can stand here, in words: groups by their name, then single words and signs."""
    left = set(expected)
    groups: list[str] = []
    for name, mark, members in (
        ("an expression", "QUOTED", _OPERANDS | _names()),
        ("a name", "IDENT", _names()),
        ("an operator", "PLUS", _OPERATORS),
    ):
        if mark in left:
            groups.append(name)
            left -= members
    texts = {**table().texts, "INTEGER": "a version", END: "the end of the text"}
    groups.extend(texts[kind] if kind in ("INTEGER", END) else f"`{texts[kind]}`" for kind in sorted(left))
    return groups[0] if len(groups) == 1 else ", ".join(groups[:-1]) + " or " + groups[-1]
