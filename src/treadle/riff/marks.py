"""Where a contract's text may and must be broken: read off the syntax tree, as offsets of tokens.

The formatter works on tokens, so that it keeps every one of them; the tree tells it which braces hold
items, where each item begins, and before which words a long item is broken first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields

from treadle.riff import syntax as s
from treadle.riff.lalr import Token

_BLOCKS = (
    s.Contract,
    s.EntityDecl,
    s.EventDecl,
    s.AggregateDecl,
    s.WorkflowDecl,
    s.Lease,
    s.CommandDecl,
    s.ReimportDecl,
    s.Loop,
    s.Decision,
    s.Apply,
    s.RowPolicy,
    s.CascadePolicy,
)
"""Nodes that end with the brace of a block of items."""

SHORT: dict[type[s.Node], int] = {s.AggregateDecl: 4, s.Apply: 1}
"""Blocks of at most so many items stand on one line where they fit."""


@dataclass(slots=True)
class Marks:
    """All by token place. `blocks`: a block's braces and the places where its items begin.

    `breaks`: the rank of a break before a token, 1 the first to be taken. `tight`: parentheses that follow
    their name at once. `angles`: the brackets of types. `short`: the opening braces of blocks that may
    stand on one line.
    """

    blocks: dict[int, tuple[int, list[int]]] = field(default_factory=dict)
    breaks: dict[int, int] = field(default_factory=dict)
    tight: set[int] = field(default_factory=set)
    angles: set[int] = field(default_factory=set)
    short: set[int] = field(default_factory=set)


def marks(tree: s.Contract, tokens: Sequence[Token]) -> Marks:
    """The marks of a contract's tokens."""
    return _Marker(tokens).mark(tree)


def _nodes(tree: s.Node) -> Iterator[s.Node]:
    """Every node of a tree, parents first."""
    waiting: list[object] = [tree]
    while waiting:
        here = waiting.pop()
        if isinstance(here, tuple):
            waiting.extend(here)
        if isinstance(here, s.Node):
            yield here
            waiting.extend(getattr(here, each.name) for each in fields(here))


class _Marker:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.starts = [token.start for token in tokens]
        self.found = Marks()
        self.closing = self._pairs()

    def _pairs(self) -> dict[int, int]:
        """The opening bracket of each closing one, braces and parentheses."""
        pairs: dict[int, int] = {}
        opened: list[int] = []
        for place, token in enumerate(self.tokens):
            if token.kind in ("LBRACE", "LPAR"):
                opened.append(place)
            elif token.kind in ("RBRACE", "RPAR"):
                pairs[place] = opened.pop()
        return pairs

    def place(self, node: s.Node) -> int:
        """The place of a node's first token."""
        return bisect_left(self.starts, node.at.start)

    def after(self, node: s.Node) -> int:
        """The place of the token that follows a node."""
        return bisect_left(self.starts, node.at.end)

    def mark(self, tree: s.Contract) -> Marks:
        for node in _nodes(tree):
            if isinstance(node, _BLOCKS):
                self._block(node)
            self._breaks(node)
            self._brackets(node)
        return self.found

    def _block(self, node: s.Node) -> None:
        closing = bisect_right(self.starts, node.at.end - 1) - 1
        opening = self.closing[closing]
        self.found.blocks[opening] = (closing, sorted(self._items(node, opening)))
        if len(self.found.blocks[opening][1]) <= SHORT.get(type(node), 0):
            self.found.short.add(opening)

    def _items(self, node: s.Node, opening: int) -> list[int]:
        """Where the items of a block begin; clauses that are no nodes begin at the word before their name."""
        match node:
            case s.Contract():
                return self._places(*node.declarations)
            case s.EntityDecl() | s.AggregateDecl():
                return self._places(*node.items)
            case s.EventDecl():
                return [*([opening + 1] if node.partition_by else []), *self._places(*node.fields)]
            case s.WorkflowDecl():
                named = [node.entity, node.state, node.initial]
                words = [self.place(name) - 1 for name in named if name is not None]
                return words + self._places(*node.transitions, *([node.lease] if node.lease else []))
            case s.Lease():
                parts = [node.owner, node.expires_at, node.fencing_token, node.attempts]
                words = [self.place(name) - 1 for name in parts if name is not None]
                return [*words, self.place(node.minimum) - 2]
            case s.CommandDecl() | s.Loop() | s.Apply():
                return self._places(*node.clauses)
            case s.ReimportDecl():
                words = [self.place(node.entity) - 1, self.place(node.success) - 1]
                return self._places(node.input) + words
            case s.Decision():
                return self._places(*node.arms)
            case s.RowPolicy():
                return self._places(*node.rules)
            case s.CascadePolicy():
                return self._places(*node.relationships)
        return []

    def _places(self, *nodes: s.Node) -> list[int]:
        return [self.place(node) for node in nodes]

    def _break(self, rank: int, *nodes: s.Node | None, words: int = 0) -> None:
        """Break before each node, or before the `words` tokens that introduce it."""
        for node in nodes:
            if node is not None:
                self.found.breaks[self.place(node) - words] = rank

    def _breaks(self, node: s.Node) -> None:
        match node:
            case s.Decision() if node.observe is not None:
                self._break(0, node.binding, words=1)
            case s.Binding():
                self._break(1, *node.handlers)
                self._break(1, node.restrict, node.cascade, node.initialize, words=1)
                self._break(2, node.failure, words=1)
            case s.Index():
                self._break(1, *node.options)
            case s.Reference():
                self._break(1, node.target, words=1)
            case s.Require():
                self._break(1, node.failure, words=1)
            case s.Set() | s.Entry():
                self._break(2, *node.reveals, words=1)
            case s.DoTransition():
                self._break(1, node.stale, words=1)
                self._break(2, node.illegal, words=1)
            case s.DoLease():
                self._break(1, node.outcomes[0][1], words=1)
                self._break(2, *(outcome for _, outcome in node.outcomes[1:]), words=1)
            case s.ReimportDecl():
                self._break(1, node.failure, words=1)
            case s.Chain():
                rank = {"||": 3, "&&": 4}.get(node.steps[0].operator, 5)
                self._break(rank, *node.steps)
            case _:
                pass

    def _brackets(self, node: s.Node) -> None:
        match node:
            case s.Binding():
                self.found.tight.add(self.after(node.entity))
            case s.Exists():
                self.found.tight.add(self.after(node.index))
            case (
                s.DecimalType()
                | s.MoneyType()
                | s.StringType()
                | s.BytesType()
                | s.OptionalType()
                | s.ListType()
            ):
                self.found.angles.add(self.place(node) + 1)
                self.found.angles.add(bisect_right(self.starts, node.at.end - 1) - 1)
            case _:
                pass
