"""A small LALR(1) driver over a generated table.

The table comes from a grammar file (`generate.py` makes it with Lark); driving it needs neither Lark nor
the grammar. No grammar of ours has an empty rule, so every reduction covers at least one token.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from treadle.errors import check
from treadle.riff.diagnostics import Extent

END: Final = "$END"
SPLICE: Final = -2  # in a shape: -2 splices child 0, -3 child 1, …; -1 stands for None, 0… for the child


class Rule(msgspec.Struct, frozen=True, array_like=True):
    """`origin` of `length` symbols calls `action` with the children that `shape` names.

    An empty action passes its one child on; `+` starts or extends the list of a repetition.
    """

    origin: str
    length: int
    action: str
    shape: tuple[int, ...]


class TableFile(msgspec.Struct, frozen=True):
    """What a table file holds. A state's row lists (move, index of the symbols that make it).

    A move that is not negative goes to that state; `~move` is the rule that is reduced.
    """

    grammar: str
    start: int
    end: int
    texts: dict[str, str]
    symbols: tuple[tuple[str, ...], ...]
    rules: tuple[Rule, ...]
    rows: tuple[tuple[tuple[int, int], ...], ...]


class Table(NamedTuple):
    """A table ready to drive. `texts` maps each terminal of fixed text to that text."""

    grammar: str
    start: int
    end: int
    texts: Mapping[str, str]
    rules: Sequence[Rule]
    rows: Sequence[Mapping[str, int]]


def load(path: Path) -> Table:
    """Read a table file. Raises `msgspec.ValidationError` for anything else."""
    data = msgspec.json.decode(path.read_bytes(), type=TableFile)
    symbols = [tuple(sys.intern(symbol) for symbol in group) for group in data.symbols]
    rows = []
    for row in data.rows:
        moves: dict[str, int] = {}
        for move, group in row:
            moves.update(dict.fromkeys(symbols[group], move))
        rows.append(moves)
    texts = {sys.intern(name): sys.intern(text) for name, text in data.texts.items()}
    return Table(data.grammar, data.start, data.end, texts, data.rules, rows)


class Token(NamedTuple):
    """A token of `kind` (the terminal's name); `start` and `end` are offsets in code points."""

    kind: str
    text: str
    start: int
    end: int


Build = Callable[..., Any]
_Bound = tuple[str, int, Build | None, tuple[int, ...], bool]


def _repetition(shape: Sequence[int], children: Sequence[Any]) -> list[Any]:
    """Start the list of a repetition, or extend the one that its first child is (linear, in place)."""
    if shape[0] > SPLICE:
        return [children[place] for place in shape]
    grown: list[Any] = children[SPLICE - shape[0]]
    grown.extend(children[place] for place in shape[1:])
    return grown


def _arguments(shape: Sequence[int], children: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for place in shape:
        if place >= 0:
            found.append(children[place])
        elif place == -1:
            found.append(None)
        else:
            found.extend(children[SPLICE - place])
    return found


class Driver:
    """The parser's stacks. `builders` maps a rule's action to `build(extent, *children)`."""

    def __init__(self, table: Table, builders: Mapping[str, Build]) -> None:
        self.table = table
        self.states = [table.start]
        self.values: list[Any] = []
        self.starts: list[int] = []
        self.offset = 0  # where the last shifted token ends
        self._rules = [self._bound(rule, builders) for rule in table.rules]

    @staticmethod
    def _bound(rule: Rule, builders: Mapping[str, Build]) -> _Bound:
        build = None if rule.action in ("", "+") else builders[rule.action]
        check(
            rule.action or (len(rule.shape) == 1 and rule.shape[0] >= 0), f"{rule.origin} passes one child on"
        )
        return sys.intern(rule.origin), rule.length, build, rule.shape, rule.action == "+"

    def feed(self, token: Token) -> bool:
        """Shift the token after the reductions that it asks for; false if it cannot stand here.

        A token that is refused leaves the stacks as they were before it.
        """
        kind = token.kind
        states = self.states
        rows = self.table.rows
        move = rows[states[-1]].get(kind)
        if move is not None and move < 0:
            if not self.accepts(kind):
                return False
            while move is not None and move < 0:
                self._reduce(~move)
                move = rows[states[-1]].get(kind)
        if move is None:
            return False
        states.append(move)
        self.values.append(token)
        self.starts.append(token.start)
        self.offset = token.end
        return True

    def _reduce(self, number: int) -> None:
        origin, length, build, shape, repeats = self._rules[number]
        states, values, starts = self.states, self.values, self.starts
        children = values[-length:]
        if repeats:
            value: Any = _repetition(shape, children)
        elif build is None:
            value = children[shape[0]]
        else:
            value = build(Extent(starts[-length], self.offset), *_arguments(shape, children))
        del states[-length:]
        del values[-length:]
        if length > 1:
            del starts[1 - length :]
        states.append(self.table.rows[states[-1]][origin])
        values.append(value)

    def reduce_by(self, move: int) -> bool:
        """Make the reduction that a move is; false for a move that shifts."""
        if move >= 0:
            return False
        self._reduce(~move)
        return True

    def accepts(self, kind: str) -> bool:
        """Whether a token of this kind can stand here; changes nothing."""
        return self._accepts(kind, len(self.states))

    def _accepts(self, kind: str, depth: int) -> bool:
        return self._after(kind, depth) is not None

    def after(self, kind: str) -> int | None:
        """The state in which the parser would be after a token of this kind; None where none can stand."""
        return self._after(kind, len(self.states))

    def _after(self, kind: str, depth: int) -> int | None:
        """Follow the reductions on a copy of the top only: a list of new states over `depth` old ones."""
        rows = self.table.rows
        fresh: list[int] = []
        while True:
            state = fresh[-1] if fresh else self.states[depth - 1]
            move = rows[state].get(kind)
            if move is None:
                return state if kind == END and state == self.table.end else None
            if move >= 0:
                return move
            rule = self.table.rules[~move]
            taken = min(rule.length, len(fresh))
            if taken:
                del fresh[-taken:]
            depth -= rule.length - taken
            state = fresh[-1] if fresh else self.states[depth - 1]
            fresh.append(rows[state][rule.origin])

    def expected(self) -> list[str]:
        """The kinds of token that can stand here, sorted."""
        row = self.table.rows[self.states[-1]]
        kinds = [kind for kind in row if kind.isupper()]  # rules have lower-case names
        return sorted(kind for kind in kinds if self.accepts(kind))

    def unwind(self, kind: str, without: str = "", above: int = 0, below: int = 1 << 62) -> bool:
        """Drop the shortest top of the stacks after which `kind` can stand; false if there is none.

        `without` is a kind that must not be able to stand there; at least `above` and at most `below`
        values stay.
        """
        for depth in range(min(len(self.values), below), above - 1, -1):
            if self._accepts(kind, depth + 1) and not (without and self._accepts(without, depth + 1)):
                del self.states[depth + 1 :]
                del self.values[depth:]
                del self.starts[depth:]
                return True
        return False

    def innermost(self, kind: str) -> int:
        """The place on the stack of the last token of this kind, or -1."""
        for place in range(len(self.values) - 1, -1, -1):
            value = self.values[place]
            if isinstance(value, Token) and value.kind == kind:
                return place
        return -1

    def finish(self) -> Any:
        """The value of the whole text, once `END` is accepted."""
        while self.states[-1] != self.table.end:
            self._reduce(~self.table.rows[self.states[-1]][END])
        return self.values[-1]
