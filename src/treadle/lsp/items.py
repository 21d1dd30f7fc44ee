"""What a completion offers, before it is put into the protocol's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from treadle.lsp.names import Kind
from treadle.lsp.words import WORDS
from treadle.model import types as t
from treadle.riff.symbols import FieldSymbol


class Item(NamedTuple):
    """One offer. `kind` is a symbol's, `word` or `type`; lower ranks come first.

    `snippet` is the text with places to fill in, `${1:like this}`; without it the label is inserted.
    """

    label: str
    kind: Kind | str
    detail: str = ""
    help: str = ""
    rank: int = 1
    snippet: str = ""


def names(kind: Kind, found: Iterable[str], detail: str = "") -> Iterator[Item]:
    yield from (Item(name, kind, detail) for name in found)


def fields(
    found: Mapping[str, FieldSymbol], wanted: t.Type | None = None, *, kind: Kind = "field"
) -> Iterator[Item]:
    """Fields with their types; those of the wanted type first."""
    for name, member in found.items():
        marks = [word for word, holds in (("key", member.key), ("secret", member.secret)) if holds]
        detail = ", ".join([str(member.type) if member.type is not None else "?", *marks])
        yield Item(name, kind, detail, rank=rank(member.type, wanted))


def rank(kind: t.Type | None, wanted: t.Type | None) -> int:
    """Lower for what fits: the very type, then its optional or required form, then the rest."""
    if wanted is None or kind is None:
        return 1
    if kind == wanted:
        return 0
    if t.required(kind) == t.required(wanted):
        return 1
    plain, other = t.required(kind), t.required(wanted)
    return 1 if type(plain) is type(other) and isinstance(plain, t.String | t.Bytes) else 2


def word(text: str, rank: int = 5, snippet: str = "") -> Item:
    """A word of the language."""
    return Item(text, "word", "", WORDS.get(text, ""), rank, snippet)
