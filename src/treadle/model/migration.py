"""A checked migration: how rows that live under one contract become rows of its successor.

`treadle.riff.migrating` makes it from text, `treadle.plan.migration` runs it, and the database keeps it as
JSON (`encode`, `decode`), so that a history can be checked without the reader.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias
from typing import Literal as OneOf

import msgspec

from treadle.model.contract import Expr

Kind: TypeAlias = OneOf["field", "index", "unique", "reference", "invariant"]


class Need(NamedTuple):
    """A member of a successor that live rows must be brought to. `owner` is an entity, or an aggregate."""

    kind: Kind
    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.owner}.{self.name}"


class Fill(msgspec.Struct, frozen=True):
    """`field entity.field = value`: what an appended field begins with in rows that are there.

    `value` is made of constants, the row's own fields as they were before (`OwnField`), and the time at
    which the migration began (`TxTime`).
    """

    entity: str
    field: str
    value: Expr


class Migration(msgspec.Struct, frozen=True):
    """A migration from version `before` to version `after` of a contract.

    `identity` is the SHA-256 (hex) of its canonical source form, `text` the source as it was given;
    `needs` are (kind, owner, name) of everything that it names, fields included.
    """

    identity: str
    text: str
    before: int
    after: int
    fills: tuple[Fill, ...] = ()
    needs: tuple[tuple[Kind, str, str], ...] = ()

    def covers(self, need: Need) -> bool:
        """Whether the migration names this member."""
        return tuple(need) in self.needs

    def fills_of(self, entity: str) -> tuple[Fill, ...]:
        """The fills of an entity's fields."""
        return tuple(fill for fill in self.fills if fill.entity == entity)


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Migration)


def encode(migration: Migration) -> bytes:
    """The compiled form that a database keeps: JSON, the same bytes for the same migration."""
    return _ENCODER.encode(migration)


def decode(data: bytes) -> Migration:
    """The migration that `encode` wrote; raises `msgspec.ValidationError` for anything else."""
    return _DECODER.decode(data)
