"""`treadle format`: the one layout of a contract, with every token and every comment kept.

The layout depends on the tokens and comments alone: formatting what was formatted changes nothing, and
the formatted text says the same. Commas that end a list are left out; a comment inside a line that is
joined goes above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from treadle.riff.canonical import canonical_tokens
from treadle.riff.diagnostics import Diagnostic
from treadle.riff.lalr import END, Token
from treadle.riff.layout import (
    BLANK,
    HARD,
    NOTHING,
    SPACE,
    STEP,
    Block,
    Document,
    Group,
    Indent,
    Suffix,
    lay_out,
    one_line,
    width_of,
)
from treadle.riff.marks import Marks, marks
from treadle.riff.parse import Parsed, parse

WIDTH: Final = 100

_NO_SPACE_BEFORE: Final = frozenset(("COMMA", "COLON", "RPAR", "DOT", "RANGE"))
_NO_SPACE_AFTER: Final = frozenset(("LPAR", "DOT", "RANGE", "BANG"))
_CLOSING: Final = {"LBRACE": "RBRACE", "LPAR": "RPAR"}
_RANKS: Final = 5


@dataclass(frozen=True)
class Formatted:
    """`text` is None where the contract cannot be read; then `diagnostics` say why."""

    text: str | None
    diagnostics: tuple[Diagnostic, ...]


def format_contract(source: str | bytes, name: str = "<contract>") -> Formatted:
    """Lay out a contract's text. A contract that the checks refuse is laid out like any other."""
    parsed = parse(source, name)
    if parsed.tree is None:
        return Formatted(None, parsed.diagnostics)
    return Formatted(_Formatter(parsed).text(), ())


@dataclass(slots=True)
class _Comment:
    """A comment: after which token it stands (-1: before the first), and whether on that token's line."""

    text: str
    after: int
    beside: bool
    blank_before: bool
    blank_after: bool
    used: bool = False


@dataclass(slots=True)
class _Item:
    """Tokens from `start` up to `end`, and the comments that belong to them."""

    start: int
    end: int
    above: list[_Comment] = field(default_factory=list)
    beside: _Comment | None = None


class _Formatter:
    def __init__(self, parsed: Parsed) -> None:
        self.tokens = list(canonical_tokens(parsed.lexed.tokens))
        tree = parsed.tree
        self.marks: Marks = marks(tree, self.tokens) if tree is not None else Marks()
        self.comments = list(_comments(parsed.source.text, self.tokens, parsed.lexed.comments))
        self.by_token: dict[int, list[_Comment]] = {}
        for comment in self.comments:
            self.by_token.setdefault(comment.after, []).append(comment)
        self.closing = self._pairs()

    def _pairs(self) -> dict[int, int]:
        pairs: dict[int, int] = {}
        opened: list[int] = []
        for place, token in enumerate(self.tokens):
            if token.kind in _CLOSING:
                opened.append(place)
            elif token.kind in ("RBRACE", "RPAR"):
                pairs[opened.pop()] = place
        return pairs

    def text(self) -> str:
        whole = self._items([0], len(self.tokens), -1, blank=True)
        return lay_out(whole, WIDTH)

    # Items: one below the other, with their comments.

    def _items(self, starts: Sequence[int], end: int, opening: int, *, blank: bool = False) -> Document:
        """The items that begin at `starts` and end before `end`, where a block was opened at `opening`."""
        items = [_Item(start, after) for start, after in zip(starts, [*starts, end][1:], strict=True)]
        bodies = [self._item(item) for item in items]
        self._claim(items, opening)
        left = [comment for comment in self._between(end - 1, end - 1) if not comment.used]
        lines: list[Document] = []
        above: tuple[_Item, Document] | None = None
        for item, body in zip(items, bodies, strict=True):
            if lines:
                lines.append(BLANK if blank and not self._joined(item, body, above) else HARD)
            above = item, body
            lines.append([*self._above(item.above), body])
            if item.beside is not None:
                lines.append(Suffix(f" {item.beside.text}"))
        for comment in left:
            comment.used = True
            lines.append([BLANK if comment.blank_before else HARD, comment.text] if lines else comment.text)
        return lines

    def _joined(self, item: _Item, body: Document, above: tuple[_Item, Document] | None) -> bool:
        """Whether two declarations of a line each stand together, as those of one kind do."""
        return (
            above is not None
            and not item.above
            and self.tokens[item.start].kind == self.tokens[above[0].start].kind
            and all(
                one_line(each) and width_of(each, WIDTH) <= WIDTH - len(STEP) for each in (body, above[1])
            )
        )

    def _between(self, first: int, last: int) -> Iterator[_Comment]:
        """The comments that stand after the tokens from `first` to `last`."""
        for place in range(first, last + 1):
            yield from self.by_token.get(place, ())

    def _claim(self, items: list[_Item], opening: int) -> None:
        """Give each item the comments above it and beside its end, and those inside that are left."""
        before = opening
        for item in items:
            for comment in self._between(before, item.end - 1):
                last = comment.after == item.end - 1
                if comment.used or (last and not comment.beside):
                    continue
                comment.used = True
                if last and comment.beside:
                    item.beside = comment
                else:
                    item.above.append(comment)
            before = item.end - 1

    @staticmethod
    def _above(comments: list[_Comment]) -> Iterator[Document]:
        for place, comment in enumerate(comments):
            following = comments[place + 1] if place + 1 < len(comments) else None
            apart = comment.blank_after and (following is None or following.blank_before)
            yield [comment.text, BLANK if apart else HARD]

    def _item(self, item: _Item) -> Document:
        arrow = next((at for at in self._top(item.start, item.end) if self.tokens[at].kind == "THEN"), None)
        if arrow is None:
            return Group(self._ranked(item.start, item.end, 0))
        return [Group(self._ranked(item.start, arrow, 1)), " ", Group(self._tokens(arrow, item.end))]

    # Tokens: on one line, or broken at the lowest rank first.

    def _ranked(self, start: int, end: int, rank: int) -> Document:
        """The tokens of an item, broken before those of `rank`, and within the parts before higher ranks."""
        if rank > _RANKS:
            return self._tokens(start, end)
        cuts = [
            place for place in self._top(start, end) if self.marks.breaks.get(place) == rank and place > start
        ]
        if not cuts:
            return self._ranked(start, end, rank + 1)
        parts = [
            Group(self._ranked(low, high, rank + 1))
            for low, high in zip([start, *cuts], [*cuts, end], strict=True)
        ]
        line = SPACE if rank else HARD
        rest: list[Document] = [each for part in parts[1:] for each in (line, part)]
        return [parts[0], Indent(rest)] if rank else Block([parts[0], rest])

    def _top(self, start: int, end: int) -> Iterator[int]:
        """The places that are in no bracket of their own."""
        place = start
        while place < end:
            yield place
            place = self.closing.get(place, place) + 1

    def _tokens(self, start: int, end: int) -> Document:
        parts: list[Document] = []
        for place in self._top(start, end):
            if place > start and self._spaced(place):
                parts.append(" ")
            parts.append(self._bracket(place) if place in self.closing else self.tokens[place].text)
        return parts

    def _spaced(self, place: int) -> bool:
        """Whether a space stands before a token on its line."""
        token, before = self.tokens[place], self.tokens[place - 1]
        if place in self.marks.angles or place in self.marks.tight or token.kind in _NO_SPACE_BEFORE:
            return False
        if before.kind in _NO_SPACE_AFTER or (place - 1 in self.marks.angles and before.kind == "LESS"):
            return False
        return not self._prefix(place - 1)

    def _prefix(self, place: int) -> bool:
        """Whether a token is the minus of a negative value."""
        if self.tokens[place].kind != "MINUS":
            return False
        return place not in self.marks.breaks  # a binary minus is a step of a chain

    def _bracket(self, opening: int) -> Document:
        """A bracket and all it holds."""
        closing = self.closing[opening]
        first, last = self.tokens[opening].text, self.tokens[closing].text
        if closing == opening + 1 and not self.by_token.get(opening):
            return first + last
        block = self.marks.blocks.get(opening)
        starts = block[1] if block else self._entries(opening, closing)
        beside = self._beside(opening)
        commented = beside is not None or any(True for _ in self._between(opening, closing - 1))
        short = block is None or (opening in self.marks.short)
        edge = SPACE if first == "{" else NOTHING
        if short and not commented:
            body: list[Document] = []
            for start, end in zip(starts, [*starts, closing][1:], strict=True):
                body.extend(([SPACE] if body else []) + [self._ranked(start, end, 0)])
            return Group([first, Indent([edge, *body]), edge, last])
        lines = self._items(starts, closing, opening, blank=block is not None and opening == self._outer())
        head: Document = [first, Suffix(f" {beside.text}")] if beside is not None else first
        return Block([head, Indent([HARD, lines]) if lines else [], HARD, last])

    def _outer(self) -> int:
        """The brace of the contract itself, whose items stand apart."""
        return 4

    def _beside(self, opening: int) -> _Comment | None:
        """The comment on the line of an opening bracket."""
        for comment in self.by_token.get(opening, ()):
            if comment.beside and not comment.used:
                comment.used = True
                return comment
        return None

    def _entries(self, opening: int, closing: int) -> list[int]:
        """Where the entries of a list begin; each but the last ends with its comma."""
        if closing == opening + 1:
            return []
        commas = (place for place in self._top(opening + 1, closing) if self.tokens[place].kind == "COMMA")
        return [opening + 1, *(place + 1 for place in commas)]


def _comments(text: str, tokens: Sequence[Token], comments: Sequence[Token]) -> Iterator[_Comment]:
    """Each comment with the token before it, and what blank space is around it."""
    place = -1
    for comment in comments:
        while (
            place + 1 < len(tokens)
            and tokens[place + 1].start < comment.start
            and tokens[place + 1].kind != END
        ):
            place += 1
        before = text[tokens[place].end if place >= 0 else 0 : comment.start]
        gap = before[before.rfind("//") :] if "//" in before else before
        following = text[comment.end : comment.end + 200]
        blank_after = following.replace("\r", "").replace(" ", "").replace("\t", "").startswith("\n\n")
        lines = gap.count("\n")
        yield _Comment(
            comment.text.rstrip(), place, "\n" not in before and place >= 0, lines > 1, blank_after
        )
