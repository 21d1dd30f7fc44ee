"""Where in a contract a cursor is: which block, what was begun there, and what the grammar expects next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.lalr import Driver, Token
from treadle.riff.parse import Parsed
from treadle.riff.partial import Block, before, open_blocks

_ROLES: Final = tuple(
    (role, re.compile(f"(?:^| )(?:{pattern})$"))
    for role, pattern in (
        ("contract", "CONTRACT name VERSION INTEGER"),
        ("enum", "ENUM name"),
        ("entity", "ENTITY name"),
        ("event", "EVENT name"),
        ("aggregate", "AGGREGATE name"),
        ("workflow", "WORKFLOW name"),
        ("reimport", "REIMPORT COMMAND name"),
        ("command", "COMMAND name"),
        ("loop", "FOR name IN name"),
        ("decide", "DECIDE name"),
        ("arm", "APPLY"),
        ("lease", "LEASE name"),
        ("cascade", "CASCADE"),
        ("policy", "POLICY name ON name"),
        ("emit", "EMIT name"),
        ("initialize", "INITIALIZE"),
        ("payload", "name"),
    )
)
"""What a block is, by what stands before its brace."""


def shape(values: Sequence[Any]) -> str:
    """What the parser holds, as words: kinds of tokens, `name`, `list`, and `node` for everything else."""
    return " ".join(map(_word, values))


def _word(value: Any) -> str:
    if isinstance(value, Token):
        return "name" if value.kind == "IDENT" else value.kind
    if isinstance(value, s.Name):
        return "name"
    return "list" if isinstance(value, list) else "node"


class Place:
    """A cursor's place. `word` is what is written there of a name or word already."""

    def __init__(self, driver: Driver, word: Extent) -> None:
        self.driver = driver
        self.word = word
        self.blocks: list[Block] = open_blocks(driver)
        self.expected = frozenset(driver.expected())
        self.path, self._rest = _path(self.blocks[-1].tail)

    @cached_property
    def roles(self) -> list[str]:
        """What each open block is, outermost first; the first is the text itself, ''."""
        return ["", *(_role(block) for block in self.blocks[1:])]

    @property
    def role(self) -> str:
        return self.roles[-1]

    @cached_property
    def shape(self) -> str:
        """What was begun in the innermost block, without the names that the cursor's path begins with."""
        return shape(self._rest)

    @property
    def begun(self) -> list[Any]:
        """The same as values."""
        return self._rest

    def block(self, *roles: str) -> Block | None:
        """The innermost open block of one of these roles."""
        for block, role in zip(reversed(self.blocks), reversed(self.roles), strict=True):
            if role in roles:
                return block
        return None

    def ends(self, pattern: str) -> bool:
        """Whether what was begun ends in these words."""
        return re.search(f"(?:^| )(?:{pattern})$", self.shape) is not None

    def named(self, *after: str) -> s.Name | None:
        """The last name that stands right behind a word of one of these kinds, in what was begun."""
        values = self._rest
        for here in range(len(values) - 1, 0, -1):
            word = values[here - 1]
            if isinstance(word, Token) and word.kind in after and isinstance(values[here], s.Name):
                name: s.Name = values[here]
                return name
        return None

    @property
    def expression(self) -> bool:
        """Whether an expression can begin here."""
        return "QUOTED" in self.expected

    @property
    def type(self) -> bool:
        return "BOOL" in self.expected

    @property
    def name(self) -> bool:
        return "IDENT" in self.expected

    @cached_property
    def keywords(self) -> list[str]:
        """The words that can stand here as words of the language, and not only as names."""
        return [kind for kind in sorted(self.expected) if self._is_word(kind)]

    def _is_word(self, kind: str) -> bool:
        text = self.driver.table.texts.get(kind, "")
        after = self.driver.after(kind) if text[:1].isalpha() else None
        if after is None:
            return False
        moves = self.driver.table.rows[after].values()
        return not all(move < 0 and self.driver.table.rules[~move].origin == "name" for move in moves)


def _role(block: Block) -> str:
    found = shape(block.head)
    return next((role for role, pattern in _ROLES if pattern.search(found)), "")


def _path(tail: list[Any]) -> tuple[tuple[str, ...], list[Any]]:
    """The names before a dot at the end of what was begun, and what stands before them."""
    if not tail or not (isinstance(tail[-1], Token) and tail[-1].kind == "DOT"):
        return (), tail
    parts: list[str] = []
    here = len(tail) - 2
    if here >= 0 and isinstance(tail[here], list):
        parts = [part.text for part in tail[here] if isinstance(part, s.Name)]
        here -= 1
    if here >= 0 and isinstance(tail[here], s.Name):
        return (tail[here].text, *parts), tail[:here]
    return (), tail


def place(parsed: Parsed, offset: int) -> Place | None:
    """The place of a cursor; None inside of a comment or a string, and where no parser can go."""
    for comment in parsed.lexed.comments:
        if comment.start < offset <= comment.end:
            return None
    word = Extent(offset, offset)
    for token in parsed.lexed.tokens:
        if token.kind in ("QUOTED", "INTEGER", "FIXED") and token.start < offset < token.end:
            return None
        if token.start < offset <= token.end and (token.text[:1].isalpha() or token.text[:1] == "_"):
            word = Extent(token.start, token.end)
    driver = before(parsed.lexed, offset)
    return Place(driver, word) if driver is not None else None
