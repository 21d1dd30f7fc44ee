"""Where in a query a cursor is: what was begun, which parameters and rows there are, what can follow."""

from __future__ import annotations

import re
from typing import Any, Final

from treadle.lsp.place import shape
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.lalr import Driver, Token
from treadle.riff.partial import Block, before, open_blocks
from treadle.riffql import syntax as q
from treadle.riffql.parse import Parsed, Reader

_MEMBERS: Final = (q.Query, q.Statement, q.Return, q.Member)
_WORD: Final = re.compile(r"(?:\$|[A-Za-z_])[A-Za-z0-9_]*\Z|\$[A-Za-z_][A-Za-z0-9_]*\Z")


class QueryPlace:
    """A cursor's place. `word` is what is written there of a name, a word or a parameter already."""

    def __init__(self, driver: Driver, word: Extent) -> None:
        self.word = word
        self.driver = driver
        self.expected = frozenset(driver.expected())
        self.blocks = open_blocks(driver, _MEMBERS)
        self.path, self.begun = _path(self.blocks[-1].tail)
        self.shape = shape(self.begun)
        self.parameters: dict[str, q.ParameterType] = {}
        self.rows: dict[str, str] = {}
        for block in self.blocks:
            for value in (*block.head, *block.members, *block.tail):
                self._take(value)
        self._open_statement()

    def _take(self, value: Any) -> None:
        """Enter what a value of the parser declares."""
        match value:
            case tuple() | list():
                for each in value:
                    self._take(each)
            case q.Parameter():
                self.parameters.setdefault(value.name.text, value.type)
            case q.Statement():
                self.rows.setdefault(value.row.text, value.entity.text)
            case _:
                pass

    def _open_statement(self) -> None:
        """The row of the statement that is being written."""
        self.own = ""
        for block in self.blocks:
            values = block.tail if block is self.blocks[-1] else [*block.tail, *self._after(block)]
            for place in range(len(values) - 3):
                word, row, by, entity = values[place : place + 4]
                begun = _kind(word) in ("ONE", "MAYBE", "MANY") and _kind(by) == "FROM"
                if begun and isinstance(row, s.Name) and isinstance(entity, s.Name):
                    self.own = row.text
                    self.rows.setdefault(row.text, entity.text)

    def _after(self, block: Block) -> list[Any]:
        """The head of the next block, which was this block's."""
        return self.blocks[self.blocks.index(block) + 1].head

    def ends(self, pattern: str) -> bool:
        """Whether what was begun ends in these words."""
        return re.search(f"(?:^| )(?:{pattern})$", self.shape) is not None

    @property
    def shaped(self) -> str:
        """The row whose members are being chosen, such as `job` in `job { … }`; '' elsewhere."""
        head = self.blocks[-1].head
        last = head[-1] if head else None
        name = last.text if isinstance(last, s.Name | s.Path) else ""
        return name if len(self.blocks) > 2 and name in self.rows else ""

    @property
    def answering(self) -> bool:
        """Whether what is written belongs to the answer."""
        return any(_kind(value) == "RETURN" for block in self.blocks for value in (*block.head, *block.tail))

    @property
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


def _kind(value: Any) -> str:
    return value.kind if isinstance(value, Token) else ""


def _path(tail: list[Any]) -> tuple[str, list[Any]]:
    """The name before a dot at the end of what was begun, and what stands before it."""
    if len(tail) > 1 and _kind(tail[-1]) == "DOT" and isinstance(tail[-2], s.Name):
        return tail[-2].text, tail[:-2]
    return "", tail


def query_place(parsed: Parsed, offset: int) -> QueryPlace | None:
    """The place of a cursor; None inside of a comment or a string, and where no parser can go."""
    for comment in parsed.lexed.comments:
        if comment.start < offset <= comment.end:
            return None
    for token in parsed.lexed.tokens:
        if token.kind in ("QUOTED", "INTEGER", "FIXED") and token.start < offset < token.end:
            return None
    written = _WORD.search(parsed.source.text, max(0, offset - 300), offset)
    word = Extent(written.start() if written is not None else offset, offset)
    driver = before(parsed.lexed, offset, Reader)
    return QueryPlace(driver, word) if driver is not None else None
