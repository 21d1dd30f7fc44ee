"""The types of the language, as values that serialise.

A type says what a cell may hold. The cell itself is a plain Python value:

    bool bool · i64, u64 int · timestamp int, microseconds since 1970 UTC · date int, days since 1970
    uuid bytes of length 16 · decimal, money int, unscaled · string str · bytes bytes · enum str, the
    variant's name · an absent optional None · list tuple of cells · record tuple of cells, key first
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec


class _Type(msgspec.Struct, frozen=True, tag_field="t"):
    """A type of the language. Equal types are equal values."""


class Bool(_Type, frozen=True, tag="bool"):
    def __str__(self) -> str:
        return "bool"


class I64(_Type, frozen=True, tag="i64"):
    def __str__(self) -> str:
        return "i64"


class U64(_Type, frozen=True, tag="u64"):
    def __str__(self) -> str:
        return "u64"


class Timestamp(_Type, frozen=True, tag="timestamp"):
    def __str__(self) -> str:
        return "timestamp"


class Date(_Type, frozen=True, tag="date"):
    def __str__(self) -> str:
        return "date"


class Uuid(_Type, frozen=True, tag="uuid"):
    def __str__(self) -> str:
        return "uuid"


class Decimal(_Type, frozen=True, tag="decimal"):
    """`decimal<precision, scale>`: exact, at most `precision` digits, `scale` of them after the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal<{self.precision}, {self.scale}>"


class Money(_Type, frozen=True, tag="money"):
    """`money<CUR>`: exact, precision 38, scale 2."""

    currency: str

    def __str__(self) -> str:
        return f"money<{self.currency}>"


class String(_Type, frozen=True, tag="string"):
    """`string<maximum>`: `maximum` counts UTF-8 bytes."""

    maximum: int

    def __str__(self) -> str:
        return f"string<{self.maximum}>"


class Bytes(_Type, frozen=True, tag="bytes"):
    maximum: int

    def __str__(self) -> str:
        return f"bytes<{self.maximum}>"


class Enum(_Type, frozen=True, tag="enum"):
    name: str

    def __str__(self) -> str:
        return self.name


class Record(_Type, frozen=True, tag="record"):
    """A whole row of an entity: its key fields, then its fields."""

    entity: str

    def __str__(self) -> str:
        return self.entity


class Optional(_Type, frozen=True, tag="optional"):
    item: Type

    def __str__(self) -> str:
        return f"optional<{self.item}>"


class List(_Type, frozen=True, tag="list"):
    """`list<item, [minimum..]maximum>`; `minimum` is 0 where none is written."""

    item: Type
    minimum: int
    maximum: int

    def __str__(self) -> str:
        return f"list<{self.item}, {self.minimum}..{self.maximum}>"


Type: TypeAlias = (
    Bool
    | I64
    | U64
    | Timestamp
    | Date
    | Uuid
    | Decimal
    | Money
    | String
    | Bytes
    | Enum
    | Record
    | Optional
    | List
)

MONEY_SCALE: Final = 2
MONEY_PRECISION: Final = 38
BOOL: Final = Bool()
I64_: Final = I64()
U64_: Final = U64()
TIMESTAMP: Final = Timestamp()
DATE: Final = Date()
UUID: Final = Uuid()


def required(kind: Type) -> Type:
    """The type without its `optional`, if it has one."""
    return kind.item if isinstance(kind, Optional) else kind
