"""A command's input: from what the caller passed to cells and to the bytes that are hashed and logged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from treadle.errors import Malformed
from treadle.model import coders, compounds
from treadle.model.compounds import Member
from treadle.model.contract import Field
from treadle.model.facts import Cells
from treadle.model.fields import Fields
from treadle.model.reading import Refusal


class ReadInput(NamedTuple):
    """An input as read: its cells in declared order, and its canonical bytes without the idempotency key."""

    cells: Cells
    canonical: bytes


class InputReader:
    """Reads a command's inputs.

    The canonical bytes leave out the idempotency key, which is never stored, and absent optionals, so
    that a contract that adds an optional input does not change the hash of an old request.
    """

    def __init__(
        self, inputs: Sequence[Field], key: str | None, fields: Fields, members: Sequence[Member]
    ) -> None:
        self._read = fields
        names = [field.name for field in inputs]
        self.key_position = names.index(key) if key is not None else None
        kept = compounds.record([None if member.name == key else member for member in members])
        self.encode = coders.writer(kept)
        """The canonical bytes of cells, without the idempotency key."""
        self.decode = coders.reader(kept)
        """The cells of logged bytes, None for the key. Raises `DatabaseCorrupt` for other bytes."""

    def read(self, given: Any, path: str = "input") -> ReadInput:
        """The input of a mapping by name, or of a generated input object.

        Raises `InvalidInput` with the path of the value at fault, and `Malformed` for an empty
        idempotency key.
        """
        try:
            cells = self._read(given)
        except Refusal as refusal:
            raise refusal.at(path) from None
        if self.key_position is not None and not cells[self.key_position]:
            raise Malformed("the idempotency key is empty; give each command its own, such as treadle.key()")
        return ReadInput(cells, self.encode(cells))


__all__ = ["InputReader", "ReadInput"]
