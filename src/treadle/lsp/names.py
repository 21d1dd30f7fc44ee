"""Which names stand where in a text, and what each stands for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from treadle.riff.diagnostics import Extent

Kind: TypeAlias = Literal[
    "contract", "enum", "variant", "entity", "field", "invariant", "index", "unique", "reference", "event",
    "event field", "aggregate", "workflow", "transition", "lease", "command", "input", "service", "binding",
    "element", "requirement", "outcome", "answer", "fact", "policy", "query", "parameter", "row", "builtin",
]  # fmt: skip


class Symbol(NamedTuple):
    """What a name stands for. `owner` is what it belongs to, such as the entity of a field, '' at the top.

    `at` is where it is declared (for an outcome, where it is answered first), in the document itself or in
    the contract that it is about; None for what the language brings. Of two declarations of one name each
    has its own symbol.
    """

    kind: Kind
    name: str
    owner: str = ""
    at: Extent | None = None


class Occurrence(NamedTuple):
    at: Extent
    symbol: Symbol


class Names:
    """The names of one text, in source order."""

    def __init__(self, found: list[Occurrence]) -> None:
        self.occurrences = sorted(found, key=lambda each: each.at)
        self._starts = [each.at.start for each in self.occurrences]

    def at(self, offset: int) -> Occurrence | None:
        """The name that an offset is in or right behind; the one that begins there goes first."""
        place = bisect_right(self._starts, offset) - 1
        for here in (place, place - 1):
            if here >= 0:
                found = self.occurrences[here]
                if found.at.start <= offset <= found.at.end:
                    return found
        return None

    def of(self, symbol: Symbol) -> Iterator[Extent]:
        """Everywhere that a symbol is named, its declaration included."""
        return (each.at for each in self.occurrences if each.symbol == symbol)
