"""How many bytes a value has in its canonical form: bounds from types, and the measure of a cell.

Where a bound shows that a row or a command cannot pass its limit, nothing is measured when it runs.
The figures follow the table of canonical values (docs/formats): a tag byte, then a body of fixed width or
with a four-byte count; a record has a two-byte count and its present fields by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from treadle import limits
from treadle.model import contract as c
from treadle.model import types as t
from treadle.model.facts import Cells

Measure: TypeAlias = Callable[[Any], int]

_FIXED: Final[dict[type, int]] = {
    t.Bool: 1,
    t.I64: 9,
    t.U64: 9,
    t.Timestamp: 9,
    t.Date: 5,
    t.Uuid: 17,
    t.Decimal: 18,
    t.Money: 20,
}
_NULL: Final = 1
_COUNTED: Final = 5  # tag and four-byte count: strings, bytes, lists
_ENUM: Final = 3  # tag and two-byte count
_RECORD: Final = 3
_FIELD: Final = 2  # the two-byte count of a field's name


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a contract's types. `bound` and `measure` take a type, `record_…` named fields."""

    variants: Mapping[str, int]
    entities: Mapping[str, tuple[c.Field, ...]]

    @staticmethod
    def of(contract: c.Contract) -> Sizes:
        variants = {enum.name: max(map(len, enum.variants)) for enum in contract.enums}
        return Sizes(variants, {entity.name: entity.members for entity in contract.entities})

    def bound(self, kind: t.Type) -> int:
        """The most bytes that a value of this type can have."""
        match kind:
            case t.String() | t.Bytes():
                return _COUNTED + kind.maximum
            case t.Enum():
                return _ENUM + self.variants[kind.name]
            case t.Optional():
                return max(_NULL, self.bound(kind.item))
            case t.List():
                return _COUNTED + kind.maximum * self.bound(kind.item)
            case t.Record():
                return self.record_bound(self.entities[kind.entity])
            case _:
                return _FIXED[type(kind)]

    def measure(self, kind: t.Type) -> Measure:
        """A function from a cell of this type to its bytes."""
        match kind:
            case t.String():
                return lambda cell: _COUNTED + _text(cell)
            case t.Bytes():
                return lambda cell: _COUNTED + len(cell)
            case t.Enum():
                return lambda cell: _ENUM + len(cell)
            case t.Optional():
                item = self.measure(kind.item)
                return lambda cell: _NULL if cell is None else item(cell)
            case t.List():
                entry = self.measure(kind.item)
                return lambda cell: _COUNTED + sum(map(entry, cell))
            case t.Record():
                return self.record_measure(self.entities[kind.entity])
            case _:
                return _always(_FIXED[type(kind)])

    def record_bound(self, fields: Iterable[c.Field]) -> int:
        """The most bytes that a record of these fields can have."""
        return _RECORD + sum(_FIELD + len(field.name) + self.bound(field.type) for field in fields)

    def record_measure(self, fields: Iterable[c.Field]) -> Measure:
        """A function from a record's cells to its bytes; absent optionals are left out of a record."""
        parts = tuple((_FIELD + len(field.name), self.measure(field.type)) for field in fields)

        def measure(cells: Cells) -> int:
            pairs = zip(parts, cells, strict=True)
            return _RECORD + sum(head + size(cell) for (head, size), cell in pairs if cell is not None)

        return measure

    def row_measure(self, entity: str) -> Measure | None:
        """The measure of an entity's rows; None where no row can pass the limit."""
        members = self.entities[entity]
        return None if self.record_bound(members) <= limits.ROW_BYTES else self.record_measure(members)


def _text(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _always(size: int) -> Measure:
    return lambda cell: size
