"""Every value that is drawn is one of its type: the contract's own codec takes it."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from tests.support.effort import effort
from treadle.errors import TreadleError
from treadle.model import contract as c
from treadle.model import types as t
from treadle.model.values import Codec
from treadle.simulation.values import Values

TYPES: list[t.Type] = [
    t.BOOL,
    t.I64_,
    t.U64_,
    t.TIMESTAMP,
    t.DATE,
    t.UUID,
    t.Decimal(38, 0),
    t.Decimal(38, 38),
    t.Decimal(5, 2),
    t.Money("EUR"),
    t.String(1),
    t.String(7),
    t.String(5_000),
    t.Bytes(1),
    t.Bytes(64),
    t.Enum("Colour"),
    t.Optional(t.String(9)),
    t.List(t.U64_, 0, 3),
    t.List(t.UUID, 2, 2),
]
CONTRACT = c.Contract("Types", 1, "00" * 32, enums=(c.EnumDecl("Colour", ("Red", "Blue")),))


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_it_is_of_its_type(kind: t.Type) -> None:
    values = Values(random.Random(1), CONTRACT, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    read = Codec(CONTRACT).fields_reader("Some", (c.Field("value", kind),))
    found = [values.draw(kind) for _ in range(effort(300))]
    for value in found:
        try:
            read({"value": value}, "fields")
        except TreadleError as error:
            raise AssertionError(f"{value!r} is no {kind}") from error
    assert len({repr(value) for value in found}) > 1


def drawn(seed: int) -> list[object]:
    values = Values(random.Random(seed), CONTRACT, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    return [values.draw(kind) for kind in TYPES]


def test_the_same_dice_draw_the_same() -> None:
    assert drawn(7) == drawn(7) != drawn(8)
