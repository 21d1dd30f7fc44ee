"""Entity tables and rows for tests of stores."""

from __future__ import annotations

from treadle.model import types
from treadle.model.facts import Cells, Key, Row, RowChange
from treadle.ports.store import Column, IndexSpec, LogEntry, Table

SHOP = b"s" * 16

JOB = Table(
    "Job",
    "Job",
    (
        Column("shop_id", "shop_id", types.UUID),
        Column("job_id", "job_id", types.UUID),
        Column("state", "state", types.Enum("JobState")),
        Column("title", "title", types.String(120)),
        Column("pages", "pages", types.U64_),
        Column("note", "note", types.Optional(types.String(200))),
        Column("printer", "printer", types.Optional(types.UUID)),
        Column("printer_until", "printer_until", types.Optional(types.TIMESTAMP)),
        Column("fence", "fence", types.U64_),
        Column("tries", "tries", types.U64_),
    ),
    2,
    True,
    (IndexSpec("by_state", (0, 2, 1)), IndexSpec("by_printer", (0, 6), (6,))),
)
"""The print shop's jobs: a workflow with a lease, an index, and an index of printed jobs only."""

EVERYTHING = Table(
    "Everything",
    "Everything",
    (
        Column("id", "id", types.U64_),
        Column("flag", "flag", types.BOOL),
        Column("signed", "signed", types.I64_),
        Column("big", "big", types.U64_),
        Column("at", "at", types.TIMESTAMP),
        Column("day", "day", types.DATE),
        Column("uuid", "uuid", types.UUID),
        Column("amount", "amount", types.Decimal(38, 4)),
        Column("price", "price", types.Money("EUR")),
        Column("name", "name", types.String(100)),
        Column("blob", "blob", types.Bytes(100)),
        Column("colour", "colour", types.Enum("Colour")),
        Column("tags", "tags", types.List(types.String(10), 0, 9)),
        Column("o_flag", "o_flag", types.Optional(types.BOOL)),
        Column("o_signed", "o_signed", types.Optional(types.I64_)),
        Column("o_big", "o_big", types.Optional(types.U64_)),
        Column("o_at", "o_at", types.Optional(types.TIMESTAMP)),
        Column("o_day", "o_day", types.Optional(types.DATE)),
        Column("o_uuid", "o_uuid", types.Optional(types.UUID)),
        Column("o_amount", "o_amount", types.Optional(types.Decimal(5, 0))),
        Column("o_price", "o_price", types.Optional(types.Money("USD"))),
        Column("o_name", "o_name", types.Optional(types.String(100))),
        Column("o_blob", "o_blob", types.Optional(types.Bytes(100))),
        Column("o_colour", "o_colour", types.Optional(types.Enum("Colour"))),
        Column("o_list", "o_list", types.Optional(types.List(types.UUID, 0, 9))),
    ),
    1,
    False,
)
"""One column of each type, and an optional one of each."""


def job(number: int, **fields: object) -> Cells:
    """A waiting job's cells."""
    values: dict[str, object] = {
        "shop_id": SHOP,
        "job_id": number.to_bytes(16, "big"),
        "state": "Waiting",
        "title": f"job {number}",
        "pages": 1,
        "note": None,
        "printer": None,
        "printer_until": None,
        "fence": 0,
        "tries": 0,
    }
    return tuple((values | fields).values())


def job_key(number: int) -> Key:
    return job(number)[:2]


def created(table: Table, cells: Cells, revision: int = 1) -> RowChange:
    """The change that creates a row."""
    return RowChange(table.entity, cells[: table.key_count], None, revision, cells)


def changed(table: Table, before: Row, cells: Cells) -> RowChange:
    """The change that gives a row new cells."""
    return RowChange(table.entity, cells[: table.key_count], before, before.revision + 1, cells)


def deleted(table: Table, before: Row) -> RowChange:
    """The change that removes a row."""
    return RowChange(table.entity, before.cells[: table.key_count], before, before.revision, None)


def entry(number: int, data: bytes = b"record") -> LogEntry:
    """A log record with a made-up hash."""
    return LogEntry(number, 1_000_000 * number, number.to_bytes(32, "big"), data)


def identity(number: int) -> bytes:
    """An idempotency identity."""
    return number.to_bytes(32, "little")
