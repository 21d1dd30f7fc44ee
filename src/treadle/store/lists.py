"""Lists as the stores that have no lists keep them: JSON text, the same bytes in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from treadle.model.facts import Cells
from treadle.model.types import Bytes, Decimal, List, Money, Type, Uuid, required

Convert = Callable[[Any], Any]


def list_codec(kind: List) -> tuple[Convert, Convert]:
    """From a list's cells to its text, and back."""
    there, back = _list_forms(kind)

    def encode(cells: Cells) -> str:
        return msgspec.json.encode(there(cells)).decode()

    def decode(text: str) -> Cells:
        cells: Cells = back(msgspec.json.decode(text))
        return cells

    return encode, decode


def _list_item(kind: Type) -> tuple[Convert, Convert] | None:
    """How an item of a list stands in JSON: to it, and back. None for one that stands as it is."""
    bare = required(kind)
    if isinstance(bare, Uuid | Bytes):
        return bytes.hex, bytes.fromhex
    if isinstance(bare, Decimal | Money):
        return str, int
    if isinstance(bare, List):
        return _list_forms(bare)
    return None


def _list_forms(kind: List) -> tuple[Convert, Convert]:
    """A list as a plain list for JSON, and back to a tuple of cells."""
    forms = _list_item(kind.item)
    if forms is None:
        return list, tuple
    there, back = forms
    return (
        lambda cells: [None if cell is None else there(cell) for cell in cells],
        lambda items: tuple(None if item is None else back(item) for item in items),
    )
