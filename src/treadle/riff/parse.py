"""Tokens to a syntax tree, or to diagnostics that say what to write instead.

Total and linear: after an error, reading goes on at the next item, clause or declaration, at most as often
as diagnostics are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from treadle.limits import DIAGNOSTICS, NESTING
from treadle.riff import syntax
from treadle.riff.diagnostics import Diagnostic, Extent, Report, Source
from treadle.riff.lalr import END, Driver, Token
from treadle.riff.tokens import FOREIGN, Lexed, decode, kinds, lex, table, too_deep, words
from treadle.riff.tree import Tree


@dataclass(frozen=True)
class Parsed:
    """What was read: `tree` is None where the text is not of the grammar; `report` holds what was found."""

    source: Source
    tree: syntax.Contract | None
    lexed: Lexed
    report: Report

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.report.diagnostics(self.source)


_DECLARATIONS: Final = words("ENUM ENTITY AGGREGATE COMMAND REIMPORT")
_ALL_DECLARATIONS: Final = _DECLARATIONS | {"EVENT", "WORKFLOW", "BULK", "PRINCIPAL", "ROW"}
_CLAUSES: Final = words(
    "INPUT SERVICE IDEMPOTENCY_KEY READ MUTATE CREATE DELETE INIT_OR_MUTATE OBSERVE_OR_INITIALIZE DECIDE FOR"
    " REQUIRE SET EMIT TRANSITION LEASE RETURN"
)
_ITEMS: Final = words(
    "KEY FIELD INVARIANT INDEX UNIQUE REFERENCE DELETE_POLICY ROOT CHILD PARTITION_BY CONFLICT_KEY WHEN ALLOW"
    " RELATIONSHIP"
)
_STARTS: Final = _ALL_DECLARATIONS | _CLAUSES | _ITEMS
_TYPES: Final = words("BOOL I64 U64 TIMESTAMP DATE UUID DECIMAL MONEY STRING BYTES OPTIONAL LIST")
_OPERANDS: Final = words("BANG MINUS LPAR EXISTS TRUE FALSE NULL INTEGER FIXED QUOTED")
_OPERATORS: Final = words("OR AND EQUAL UNEQUAL LESS AT_MOST MORE AT_LEAST IN IS PLUS MINUS STAR SLASH DOT")
_AFTER_NAMES: Final = frozenset(("COLON", "COMMA", "RBRACE"))
_OPENS: Final = {"LBRACE": "}", "LPAR": ")"}
_HELP: Final = {
    "ELSE": "a binding, a requirement and a decision say what happens otherwise, as in `else NotFound {}`",
    "AS": "a binding has a name, as in `read Job(job_id) as job else NoJob {}`",
    "VERSION": "a contract begins `contract Name version 1 {`",
    "CONTRACT": "a contract begins `contract Name version 1 {`",
    "TRANSITION": "a workflow has a transition, as in `transition Start from (Waiting) to Running`",
    "INITIALIZE": "say the new row's fields, as in `initialize { count: 0 }`",
}


@cache
def _names() -> frozenset[str]:
    """The kinds of token that may be a name: what can follow the word `contract`."""
    moves = table().rows
    after = moves[moves[table().start]["CONTRACT"]]
    return frozenset(kind for kind in after if kind.isupper())


def parse(source: str | bytes, name: str = "<contract>") -> Parsed:
    """Read a contract's text: bytes are UTF-8, `name` is what diagnostics call it. Never raises."""
    report = Report()
    text = Source(decode(source, report), name)
    if report.failed():
        return Parsed(text, None, Lexed([], [], False), report)
    lexed = lex(text, report)
    deep = too_deep(lexed.tokens)
    if deep is not None:
        message = f"this nests deeper than {NESTING} brackets and prefix operators; split the expression"
        report.add("S006", Extent(deep.start, deep.end), message)
    if deep is not None or not lexed.complete:
        return Parsed(text, None, lexed, report)
    tree = Reader(lexed.tokens, report).read()
    return Parsed(text, None if report.failed() else tree, lexed, report)


class Reader:
    """Feeds the driver, and finds its way after an error."""

    def __init__(self, tokens: list[Token], report: Report) -> None:
        self.tokens = tokens
        self.report = report
        self.driver = Driver(table(), Tree(report).builders)

    def read(self) -> syntax.Contract | None:
        """The tree, or None where a syntax error was found."""
        place: int | None = 0
        whole = True
        feed = self.driver.feed
        while place is not None:
            token = self.tokens[place]
            foreign = token.kind == "IDENT" and token.text in FOREIGN
            if token.kind == END and self.driver.accepts(END):
                break
            if not (foreign and self._begins_something(place)) and feed(token):
                place += 1
                continue
            whole = False
            self._refuse(place, foreign)
            place = self._recover(place, foreign) if self.report.errors < DIAGNOSTICS else None
        if not whole:
            return None
        tree: syntax.Contract = self.driver.finish()
        return tree

    def _begins_something(self, place: int) -> bool:
        """Whether the word at `place` would begin a type, or an item rather than name one."""
        accepts = self.driver.accepts
        return accepts("BOOL") or (accepts("RBRACE") and self.tokens[place + 1].kind not in _AFTER_NAMES)

    def _recover(self, place: int, foreign: bool) -> int | None:
        """Where reading goes on: an item, a clause, a declaration or a closing bracket that can stand.

        Brackets that open on the way are skipped whole; a word outside the language takes the first
        bracket after it along.
        """
        depth = 0
        for here in range(place + foreign, len(self.tokens) - 1):
            kind = self.tokens[here].kind
            if kind in _OPENS:
                depth += 1
            elif kind in ("RBRACE", "RPAR"):
                if depth:
                    depth -= 1
                elif (after := self._close(kind, here)) is not None:
                    return after
            elif kind in _STARTS and (not depth or kind in _DECLARATIONS - {"ENTITY"}) and self._begins(kind):
                return here
        return None

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

    def _begins(self, kind: str) -> bool:
        """Unwind to the list in which `kind` begins a member."""
        return self.driver.unwind(kind, without="IDENT")

    def _refuse(self, place: int, foreign: bool) -> None:
        token = self.tokens[place]
        at = Extent(token.start, token.end)
        if foreign:
            message = f"`{token.text}` is not part of the language; remove it and what belongs to it"
            self.report.add("S008", at, message)
            return
        if self.report.has("S003", at):
            return  # the token is refused already, and what stands in for it cannot stand here
        expected = self.driver.expected()
        wanted = _wanted(expected)
        related = self._unclosed(place) if "RBRACE" in expected or "RPAR" in expected else []
        help = _HELP.get(expected[0], "") if len(expected) == 1 else ""
        if token.kind == END:
            message = f"the text ends too early; write {wanted}"
            self.report.add("S005", at, message, help=help, related=related)
            return
        found = f"`{_shown(token.text)}`"
        if token.kind in _ALL_DECLARATIONS and "RBRACE" in expected:
            message = f"a `}}` is missing before {found}, where the next declaration begins"
        elif "IDENT" in expected and token.text[0].isalpha():
            message = f"{found} is a word of the language; write {wanted}, such as `{token.text}_`"
        elif expected == [END]:
            message = f"{found} stands after the contract's last `}}`; remove it, or the bracket before it"
        else:
            related = []
            message = f"{found} cannot stand here; write {wanted}"
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
        ("a declaration", "ENUM", _ALL_DECLARATIONS),
        ("a clause", "EMIT", _CLAUSES),
        ("an operator", "PLUS", _OPERATORS),
    ):
        if mark in left:
            groups.append(name)
            left -= members
    texts = {kind: text for text, kind in kinds().items()}
    literals = {"INTEGER": "an integer", END: "the end of the text"}
    groups.extend(literals.get(kind) or f"`{texts[kind]}`" for kind in sorted(left))
    return groups[0] if len(groups) == 1 else ", ".join(groups[:-1]) + " or " + groups[-1]
