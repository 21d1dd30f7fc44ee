"""One layout for all query texts, and the canonical form whose hash is a query's identity.

The canonical form is the text of every token, in order, each followed by a line feed, without the commas
that may be left out. Comments and blank space are not in it, so layout does not change what a query is. In
the one layout each clause has a line of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from treadle.riff.diagnostics import Extent
from treadle.riff.lalr import END, Token
from treadle.riffql import syntax as q
from treadle.riffql.parse import Parsed

_TIGHT_BEFORE: Final = frozenset(("COMMA", "RPAR", "DOT", "COLON"))
_TIGHT_AFTER: Final = frozenset(("LPAR", "DOT", "BANG"))
_STEP: Final = "  "
_WIDTH: Final = 100  # a longer answer has a line for each member


class _Line(NamedTuple):
    """A line that begins at this offset of the source, so deep."""

    start: int
    depth: int


_DOMAIN: Final = b"treadle riffql source 1\n"


def canonical(parsed: Parsed, node: q.Query) -> bytes:
    """A query's canonical form."""
    return b"".join(token.text.encode() + b"\n" for token in _kept(_within(parsed.lexed.tokens, node.at)))


def identity(parsed: Parsed, node: q.Query) -> str:
    """SHA-256, in hex, over `treadle riffql source 1` and a line feed, then the query's canonical form."""
    return hashlib.sha256(_DOMAIN + canonical(parsed, node)).hexdigest()


def laid_out(parsed: Parsed, node: q.Query) -> str:
    """One query in the one layout, without comments; ends with a line end."""
    return "".join(f"{line}\n" for line in _lines(_within(parsed.lexed.tokens, node.at), (), node))


def formatted(parsed: Parsed) -> str:
    """The whole text in the one layout, comments kept, a blank line between queries."""
    tokens, comments = parsed.lexed.tokens, list(parsed.lexed.comments)
    blocks: list[list[str]] = []
    for node in parsed.queries or ():
        own = [
            comment for comment in comments if comment.start < node.at.end or _beside(parsed, node, comment)
        ]
        comments = comments[len(own) :]
        blocks.append(list(_lines(_within(tokens, node.at), own, node, parsed.source.text)))
    if comments:
        blocks.append([comment.text for comment in comments])
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks)


def _within(tokens: Sequence[Token], at: Extent) -> list[Token]:
    return [token for token in tokens if at.start <= token.start < at.end and token.kind != END]


def _beside(parsed: Parsed, node: q.Query, comment: Token) -> bool:
    """Whether a comment stands on the line on which the query ends."""
    return "\n" not in parsed.source.text[node.at.end : comment.start]


def _breaks(tokens: Sequence[Token], node: q.Query) -> dict[int, _Line]:
    """Where lines begin, by the offset of their first token."""
    before = {token.start: (tokens[place - 1] if place else token) for place, token in enumerate(tokens)}
    earlier = {token.start: (tokens[place - 2] if place > 1 else token) for place, token in enumerate(tokens)}
    lines = [_Line(node.at.start, 0), _Line(node.answer.at.start, 1), _Line(tokens[-1].start, 0)]
    for statement in node.statements:
        lines.append(_Line(statement.at.start, 1))
        if statement.where is not None:
            lines.append(_Line(_word_before(tokens, statement.where.at.start), 2))
        if statement.group:
            lines.append(_Line(earlier[statement.group[0].at.start].start, 2))
        if statement.order:
            lines.append(_Line(earlier[statement.order[0].at.start].start, 2))
        if statement.take is not None:
            lines.append(_Line(statement.take.at.start, 2))
        if statement.otherwise is not None:
            lines.append(_Line(before[statement.otherwise.at.start].start, 2))
    if node.outcomes:
        lines.append(_Line(before[node.outcomes[0].at.start].start, 1))
    answer = _within(list(_kept(list(tokens))), node.answer.at)  # without the commas that will be gone
    if sum(len(token.text) + 1 for token in answer) > _WIDTH:
        lines += [_Line(member.at.start, 2) for member in node.answer.members]
        lines.append(_Line(_within(tokens, node.answer.at)[-1].start, 1))
    return {line.start: line for line in lines}


def _word_before(tokens: Sequence[Token], offset: int) -> int:
    """The `where` before a condition, which may begin with brackets that its node does not cover."""
    place = next(place for place, token in enumerate(tokens) if token.start >= offset) - 1
    while tokens[place].kind == "LPAR":
        place -= 1
    return tokens[place].start


def _lines(tokens: list[Token], comments: Sequence[Token], node: q.Query, source: str = "") -> Iterator[str]:
    breaks = _breaks(tokens, node)
    waiting = list(comments)
    line, depth, trailing = "", 0, ""
    previous: Token | None = None
    body = False
    for token in _kept(tokens):
        while waiting and waiting[0].start < token.start:
            comment = waiting.pop(0)
            if previous is not None and "\n" not in source[previous.end : comment.start]:
                trailing += f"  {comment.text}"
            elif token.start in breaks:
                yield from _flush(line, depth, trailing)
                line, trailing, depth = "", "", breaks[token.start].depth
                yield _STEP * depth + comment.text
            else:
                yield _STEP * depth + comment.text
        if token.start in breaks:
            yield from _flush(line, depth, trailing)
            line, trailing, depth = "", "", breaks[token.start].depth
        elif previous is not None and _spaced(previous, token, body):
            line += " "
        line += token.text
        body = body or token.kind == "LBRACE"
        previous = token
    rest = "".join(f"  {comment.text}" for comment in waiting)
    yield from _flush(line, depth, trailing + rest)


def _flush(line: str, depth: int, trailing: str) -> Iterator[str]:
    if line:
        yield _STEP * depth + line + trailing
    elif trailing:
        yield _STEP * depth + trailing.strip()


def _kept(tokens: list[Token]) -> Iterator[Token]:
    """The tokens without the commas that may be left out."""
    opened: list[str] = []
    for place, token in enumerate(tokens):
        if token.kind in ("LBRACE", "LPAR"):
            opened.append(token.kind)
        elif token.kind in ("RBRACE", "RPAR") and opened:
            opened.pop()
        following = tokens[place + 1].kind if place + 1 < len(tokens) else ""
        last = following in ("RPAR", "MORE")  # a comma before `>` ends the arguments of a type
        if token.kind == "COMMA" and (
            last or (opened and opened[-1] == "LBRACE" and not _in_order(tokens, place))
        ):
            continue
        yield token


def _in_order(tokens: list[Token], place: int) -> bool:
    """Whether a comma stands in `group by` or `order by`, directly in the query's braces."""
    depth = 0
    for token in reversed(tokens[:place]):
        if token.kind == "RBRACE":
            depth += 1
        elif token.kind == "LBRACE":
            if not depth:
                return False
            depth -= 1
        elif not depth and token.kind == "BY":
            return True
    return False


def _spaced(previous: Token, token: Token, body: bool) -> bool:
    """Whether a space stands between two tokens. Before the body `<` and `>` are brackets of types."""
    if token.kind in _TIGHT_BEFORE or previous.kind in _TIGHT_AFTER:
        return False
    if token.kind == "LPAR":
        return body and previous.kind in ("IN", "AND", "OR", "EQUAL", "WHERE", "COLON")
    if not body:
        signs = {previous.kind, token.kind}
        if previous.kind in ("LESS", "RANGE") or token.kind in ("LESS", "MORE", "RANGE"):
            return False
        return "RANGE" not in signs
    return previous.kind != "MINUS"
