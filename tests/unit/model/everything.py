"""A contract with every type, and user values for each, for the tests of model."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from decimal import Decimal
from typing import Any, Final

from treadle.model import contract as c
from treadle.model import types as t
from treadle.model.values import Codec

STATES: Final = ("Waiting", "Printing", "Done")
STATE: Final = t.Enum("State")
THING: Final = t.Record("Thing")
PRICE: Final = t.Decimal(6, 2)
EUR: Final = t.Money("EUR")

KEY: Final = (c.Field("shop_id", t.UUID), c.Field("number", t.U64_))
FIELDS: Final = (
    c.Field("state", STATE),
    c.Field("title", t.String(20)),
    c.Field("balance", t.I64_),
    c.Field("open", t.BOOL),
    c.Field("at", t.TIMESTAMP),
    c.Field("day", t.DATE),
    c.Field("price", PRICE),
    c.Field("total", EUR),
    c.Field("raw", t.Bytes(8)),
    c.Field("tags", t.List(t.String(5), 0, 3)),
    c.Field("note", t.Optional(t.String(10))),
    c.Field("owner", t.Optional(t.UUID)),
)
THING_ENTITY: Final = c.Entity("Thing", KEY, FIELDS)

COMMAND: Final = c.Command(
    name="Make",
    bulk=False,
    inputs=(
        c.Field("key", t.String(128)),
        c.Field("shop_id", t.UUID),
        c.Field("seconds", t.U64_),
        c.Field("class", t.Optional(t.String(10))),
        c.Field("things", t.List(THING, 0, 4)),
    ),
    services=(c.ServiceValue("made_id", "uuid_v7"), c.ServiceValue("made_at", "transaction_time")),
    idempotency_key="key",
    bindings=(),
    decisions=(),
    loop=None,
    requires=(),
    effects=(),
    success=c.Outcome("Made"),
    outcomes=(
        c.OutcomeDecl("Missing", (), False),
        c.OutcomeDecl("Made", (c.Field("thing", THING), c.Field("note", t.Optional(t.U64_))), True),
    ),
    partition=None,
)
LOOK: Final = c.Command(
    "Look", False, (c.Field("number", t.U64_),), (), None, (), (), None, (), (), c.Outcome("Seen"),
    (c.OutcomeDecl("Seen", (), True),), None,
)  # fmt: skip
CONTRACT: Final = c.Contract(
    name="Shop",
    version=1,
    identity="00" * 32,
    enums=(c.EnumDecl("State", STATES),),
    entities=(THING_ENTITY,),
    events=(c.Event("ThingMade", ("shop_id",), (c.Field("at", t.TIMESTAMP), c.Field("shop_id", t.UUID))),),
    commands=(COMMAND, LOOK),
    reimports=(
        c.Reimport(
            "RestoreThings",
            c.Field("records", t.List(THING, 1, 3)),
            "Thing",
            c.Outcome("Exists"),
            c.Outcome("Restored"),
            (c.OutcomeDecl("Exists", (), False), c.OutcomeDecl("Restored", (), True)),
        ),
    ),
    principal_facts=(c.Field("team", t.String(20)), c.Field("shops", t.Optional(t.List(t.UUID, 0, 9)))),
)


def codec() -> Codec:
    return Codec(CONTRACT)


class State(enum.StrEnum):
    """What generated code declares for the enum."""

    WAITING = "Waiting"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MakeInput:
    """What generated code declares for the command's input: `class` is a keyword."""

    key: str
    shop_id: uuid.UUID
    seconds: int
    class_: str | None = None
    things: tuple[Any, ...] = ()


SHOP: Final = uuid.UUID(int=0x0102030405060708090A0B0C0D0E0F10)
AT: Final = datetime.datetime(2026, 11, 30, 20, 15, 0, 250_000, tzinfo=datetime.UTC)
AT_CELL: Final = 1_796_069_700_250_000

PYTHON: Final[dict[str, Any]] = {
    "shop_id": SHOP,
    "number": 2**64 - 1,
    "state": State.WAITING,
    "title": "né",
    "balance": -(2**63),
    "open": True,
    "at": AT,
    "day": datetime.date(2026, 11, 30),
    "price": Decimal("12.50"),
    "total": Decimal("-0.01"),
    "raw": b"\x00\xff",
    "tags": ("a", "b"),
    "note": None,
    "owner": SHOP,
}
JSON: Final[dict[str, Any]] = {
    "shop_id": "01020304-0506-0708-090a-0b0c0d0e0f10",
    "number": 2**64 - 1,
    "state": "Waiting",
    "title": "né",
    "balance": -(2**63),
    "open": True,
    "at": "2026-11-30T20:15:00.250000Z",
    "day": "2026-11-30",
    "price": "12.50",
    "total": "-0.01",
    "raw": "AP8=",
    "tags": ["a", "b"],
    "note": None,
    "owner": "01020304-0506-0708-090a-0b0c0d0e0f10",
}
CELLS: Final[tuple[Any, ...]] = (
    SHOP.bytes, 2**64 - 1, "Waiting", "né", -(2**63), True, AT_CELL, 20_787, 1250, -1, b"\x00\xff",
    ("a", "b"), None, SHOP.bytes,
)  # fmt: skip
