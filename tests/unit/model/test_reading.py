"""What goes in: each type's Python and JSON forms, and every refusal with its words."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import uuid
import zoneinfo
from typing import Any, NamedTuple
from unittest import mock

import pytest

from tests.unit.model.everything import STATE, State, codec
from treadle.errors import InvalidInput
from treadle.model import types as t

CODEC = codec()
D = decimal.Decimal
UTC = datetime.UTC
HOUR = datetime.timedelta(hours=1)
MAXIMUM = datetime.datetime.max.replace(tzinfo=UTC)


class Number(enum.IntEnum):
    FIVE = 5


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("never asked")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("never asked")

    def __hash__(self) -> int:
        raise RuntimeError("never asked")


class Pair(NamedTuple):
    a: int
    b: int


class SubUuid(uuid.UUID):
    @property
    def bytes(self) -> Any:
        raise RuntimeError("never asked")


class Later(datetime.datetime):
    pass


def read(kind: t.Type, value: Any) -> Any:
    return CODEC.reader(kind)(value, "input.x")


@pytest.mark.parametrize(
    "kind, value, cell",
    [
        (t.BOOL, True, True),
        (t.BOOL, False, False),
        (t.U64_, 0, 0),
        (t.U64_, 2**64 - 1, 2**64 - 1),
        (t.U64_, "18446744073709551615", 2**64 - 1),
        (t.U64_, "0", 0),
        (t.U64_, Number.FIVE, 5),
        (t.I64_, -(2**63), -(2**63)),
        (t.I64_, "-9223372036854775808", -(2**63)),
        (t.I64_, "9223372036854775807", 2**63 - 1),
        (t.UUID, uuid.UUID(int=1), bytes(15) + b"\x01"),
        (t.UUID, "00000000-0000-0000-0000-0000000000fF", bytes(15) + b"\xff"),
        (t.UUID, SubUuid(int=1), bytes(15) + b"\x01"),
        (t.String(3), "né", "né"),
        (t.String(3), "", ""),
        (t.String(9), Text("abc"), "abc"),
        (t.String(4), "😀", "😀"),
        (t.Bytes(2), b"\x00\xff", b"\x00\xff"),
        (t.Bytes(2), "AP8=", b"\x00\xff"),
        (t.Bytes(2), "", b""),
        (STATE, "Done", "Done"),
        (STATE, State.WAITING, "Waiting"),
        (STATE, Text("Done"), "Done"),
        (t.DATE, datetime.date(1, 1, 1), -719_162),
        (t.DATE, "9999-12-31", 2_932_896),
        (t.DATE, datetime.date(1970, 1, 2), 1),
        (t.Decimal(6, 2), D("12.5"), 1250),
        (t.Decimal(6, 2), "-9999.99", -999_999),
        (t.Decimal(6, 2), D("-0.00"), 0),
        (t.Decimal(6, 2), D("1E+3"), 100_000),
        (t.Decimal(6, 2), D("0E+1000000"), 0),
        (t.Decimal(38, 38), D("0." + "9" * 38), 10**38 - 1),
        (t.Decimal(38, 0), "9" * 38, 10**38 - 1),
        (t.Decimal(1, 1), "0.9", 9),
        (t.Money("EUR"), "12", 1200),
        (t.Money("EUR"), D("9" * 36 + ".99"), 10**38 - 1),
        (t.Optional(t.U64_), None, None),
        (t.Optional(t.U64_), 5, 5),
        (t.List(t.U64_, 0, 3), [1, "2", 3], (1, 2, 3)),
        (t.List(t.U64_, 0, 3), (), ()),
        (t.List(t.Optional(t.U64_), 0, 3), [None, 1], (None, 1)),
        (t.List(t.U64_, 0, 3), Pair(1, 2), (1, 2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_accepted(kind: t.Type, value: Any, cell: Any) -> None:
    found = read(kind, value)
    assert found == cell
    assert type(found) is type(cell)


@pytest.mark.parametrize(
    "value, cell",
    [
        (datetime.datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC), 1),
        (datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), -1),
        (datetime.datetime.min.replace(tzinfo=UTC), -62_135_596_800_000_000),
        (MAXIMUM, 253_402_300_799_999_999),
        (datetime.datetime(1970, 1, 1, 1, tzinfo=datetime.timezone(HOUR)), 0),
        (
            datetime.datetime(2026, 10, 25, 2, 30, fold=0, tzinfo=zoneinfo.ZoneInfo("UTC")),
            1_792_895_400_000_000,
        ),
        (Later(1970, 1, 1, tzinfo=UTC), 0),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01 00:00:00+00:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T00:00:00.1Z", 100_000),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1970-01-01T00:00:00.12345+00:00", 123_450),
        ("1970-01-01T05:30:00+05:30", 0),
        ("1969-12-31T23:00:00-01:00", 0),
        ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000_000),
    ],
)
def test_timestamps(value: Any, cell: int) -> None:
    assert read(t.TIMESTAMP, value) == cell


def test_a_zone_with_daylight_saving_counts_in_utc() -> None:
    try:
        zone = zoneinfo.ZoneInfo("Europe/Berlin")
    except zoneinfo.ZoneInfoNotFoundError:
        pytest.skip("this machine has no time zone database")
    first = datetime.datetime(2026, 10, 25, 2, 30, tzinfo=zone)
    second = first.replace(fold=1)
    assert read(t.TIMESTAMP, second) - read(t.TIMESTAMP, first) == 3_600_000_000


class Zone(datetime.tzinfo):
    def dst(self, when: datetime.datetime | None) -> datetime.timedelta | None:
        return None

    def tzname(self, when: datetime.datetime | None) -> str | None:
        return None


class Broken(Zone):
    def utcoffset(self, when: datetime.datetime | None) -> datetime.timedelta | None:
        raise ZeroDivisionError("broken")


class Nowhere(Zone):
    def utcoffset(self, when: datetime.datetime | None) -> datetime.timedelta | None:
        return None


class Fine(datetime.datetime):
    """As pandas' Timestamp: a datetime that knows nanoseconds."""

    nanosecond = 1


class Liar:
    """Says it is what it is not."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    @property
    def __class__(self) -> Any:
        return self.kind

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError


class BrokenMapping(collections.UserDict[str, Any]):
    def keys(self) -> Any:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "kind, value, says",
    [
        (t.BOOL, 1, "write True or False"),
        (t.BOOL, "true", "not str"),
        (t.U64_, True, "not bool"),
        (t.U64_, 1.0, "not float"),
        (t.U64_, D(1), "not Decimal"),
        (t.U64_, None, "not null"),
        (t.U64_, -1, "holds 0 to 18446744073709551615"),
        (t.U64_, 2**64, "out of range"),
        (t.U64_, "18446744073709551616", "out of range"),
        (t.U64_, "-1", "out of range"),
        (t.U64_, "01", "leading zeros"),
        (t.U64_, "+1", "leading zeros"),
        (t.U64_, " 1", "leading zeros"),
        (t.U64_, "1\n", "leading zeros"),
        (t.U64_, "", "leading zeros"),
        (t.U64_, "1_0", "leading zeros"),
        (t.U64_, "٣", "leading zeros"),
        (t.U64_, "9" * 5000, "leading zeros"),
        (t.I64_, "-0", "leading zeros"),
        (t.I64_, 2**63, "out of range"),
        (t.I64_, -(2**63) - 1, "out of range"),
        (t.UUID, 1, "not int"),
        (t.UUID, b"0" * 16, "not bytes"),
        (t.UUID, "", "36 characters"),
        (t.UUID, "{00000000-0000-0000-0000-000000000000}", "36 characters"),
        (t.UUID, "00000000000000000000000000000000", "36 characters"),
        (t.UUID, "00000000-0000-0000-0000-00000000000g", "36 characters"),
        (t.UUID, "00000000-0000-0000-0000-0000000000 0", "36 characters"),
        (t.UUID, "00000000-0000-0000-0000-00000000-000", "36 characters"),
        (t.UUID, "00000000-0000-0000-0000-0000000000  ", "36 characters"),
        (t.UUID, "00000000-0000-0000-0000-0000000000--", "36 characters"),
        (t.UUID, "00000000-0000-0000-0000-00000000000٣", "36 characters"),
        (t.String(3), b"abc", "not bytes"),
        (t.String(3), "abcd", "4 bytes of UTF-8"),
        (t.String(3), "€€", "6 bytes of UTF-8"),
        (t.String(3), "a\0", "NUL"),
        (t.String(9), "\ud800", "lone surrogate"),
        (t.Bytes(2), bytearray(b"a"), "not bytearray"),
        (t.Bytes(2), b"abc", "3 bytes"),
        (t.Bytes(2), "AAAA", "3 bytes"),
        (t.Bytes(2), "A" * 1_000_000, "too long"),
        (t.Bytes(2), "AA", "base64"),
        (t.Bytes(2), "AA==\n", "base64"),
        (t.Bytes(2), "AB==", "base64"),
        (t.Bytes(2), "_w==", "base64"),
        (t.Bytes(2), "é", "base64"),
        (t.Bytes(2), "\ud800", "base64"),
        (STATE, "Wating", "the nearest is Waiting"),
        (STATE, "waiting", "the variants are Waiting, Printing, Done"),
        (STATE, Number.FIVE, "not Number"),
        (STATE, "\ud800", "no variant"),
        (t.DATE, datetime.datetime(2026, 1, 1, tzinfo=UTC), "value.date()"),
        (t.DATE, "2026-02-30", "calendar"),
        (t.DATE, "20260230", "not str"),
        (t.DATE, "2026-1-1", "not str"),
        (t.DATE, "0000-01-01", "calendar"),
        (t.DATE, 5, "not int"),
        (t.Decimal(6, 2), 1, "not int"),
        (t.Decimal(6, 2), 1.5, "not float"),
        (t.Decimal(6, 2), D("NaN"), "finite"),
        (t.Decimal(6, 2), D("sNaN"), "finite"),
        (t.Decimal(6, 2), D("-Infinity"), "finite"),
        (t.Decimal(6, 2), D("1.234"), "at most 2"),
        (t.Decimal(6, 2), D("1.230"), "at most 2"),
        (t.Decimal(6, 2), D("1E-1000000"), "at most 2"),
        (t.Decimal(6, 2), D("1E+1000000"), "4 digits before the point"),
        (t.Decimal(6, 2), "10000", "4 digits before the point"),
        (t.Decimal(6, 2), "1e2", "plain digits"),
        (t.Decimal(6, 2), "+1", "plain digits"),
        (t.Decimal(6, 2), ".5", "plain digits"),
        (t.Decimal(6, 2), "1.", "plain digits"),
        (t.Decimal(6, 2), "NaN", "plain digits"),
        (t.Decimal(6, 2), "1" * 1_000_000, "plain digits"),
        (t.Decimal(2, 2), "1", "0 digits before the point"),
        (t.Money("EUR"), "0.001", "at most 2"),
        (t.TIMESTAMP, datetime.datetime(2026, 1, 1), "naive"),
        (t.TIMESTAMP, datetime.datetime(2026, 1, 1, tzinfo=Nowhere()), "naive"),
        (t.TIMESTAMP, datetime.datetime(2026, 1, 1, tzinfo=Broken()), "raised ZeroDivisionError"),
        (t.TIMESTAMP, Fine(2026, 1, 1, tzinfo=UTC), "nanoseconds"),
        (t.TIMESTAMP, datetime.date(2026, 1, 1), "not date"),
        (t.TIMESTAMP, 0, "not int"),
        (t.TIMESTAMP, datetime.datetime.min.replace(tzinfo=datetime.timezone(HOUR)), "years 1 to 9999"),
        (t.TIMESTAMP, datetime.datetime.max.replace(tzinfo=datetime.timezone(-HOUR)), "years 1 to 9999"),
        (t.TIMESTAMP, "0001-01-01T00:00:00+00:01", "years 1 to 9999"),
        (t.TIMESTAMP, "0000-01-01T00:00:00Z", "calendar"),
        (t.TIMESTAMP, "2026-01-01T00:00:00", "RFC 3339"),
        (t.TIMESTAMP, "2026-01-01", "RFC 3339"),
        (t.TIMESTAMP, "2026-01-01T00:00Z", "RFC 3339"),
        (t.TIMESTAMP, "2026-01-01T00:00:00.1234567Z", "six digits"),
        (t.TIMESTAMP, "2026-01-01T00:00:00.1234560Z", "six digits"),
        (t.TIMESTAMP, "2026-12-31T23:59:60Z", "leap second"),
        (t.TIMESTAMP, "2026-01-01T24:00:00Z", "calendar"),
        (t.TIMESTAMP, "2026-02-29T00:00:00Z", "calendar"),
        (t.TIMESTAMP, "2026-01-01T00:00:00+24:00", "calendar"),
        (t.TIMESTAMP, "2026-01-01T00:00:00+0100", "RFC 3339"),
        (t.TIMESTAMP, "2026-01-01T00:00:00Z ", "RFC 3339"),
        (t.TIMESTAMP, "٢026-01-01T00:00:00Z", "RFC 3339"),
        (t.List(t.U64_, 1, 2), [], "has 0 entries"),
        (t.List(t.U64_, 1, 2), [1, 2, 3], "holds 1 to 2"),
        (t.List(t.U64_, 1, 2), {1}, "not set"),
        (t.List(t.U64_, 1, 2), "12", "not str"),
        (t.List(t.U64_, 1, 2), iter([1]), "write a list"),
        (t.U64_, mock.Mock(spec=int), "not Mock"),
        (t.Record("Thing"), BrokenMapping(), "raised ZeroDivisionError"),
        (t.Record("Thing"), [], "not list"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_refused_with_words_that_help(kind: t.Type, value: Any, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(kind, value)
    assert caught.value.path == "input.x"
    assert caught.value.message.startswith("input.x: ")
    assert says in caught.value.message
    assert caught.value.code == "invalid_input"


@pytest.mark.parametrize("name", ["str", "int", "dict", "list", "datetime", "UUID", "Decimal", "bytes"])
def test_a_class_that_lies_about_its_instances_is_not_believed(name: str) -> None:
    kinds = (str, int, dict, list, datetime.datetime, uuid.UUID, D, bytes)
    liar = Liar(next(kind for kind in kinds if kind.__name__ == name))
    types: list[t.Type] = [t.U64_, t.String(5), t.UUID, t.TIMESTAMP, t.DATE, t.Bytes(5), STATE]
    for kind in [*types, t.List(t.U64_, 0, 2), t.Decimal(6, 2), t.Record("Thing")]:
        with pytest.raises(InvalidInput, match="not Liar"):
            read(kind, liar)


def test_a_bad_entry_is_named_by_its_place() -> None:
    with pytest.raises(InvalidInput) as caught:
        CODEC.reader(t.List(t.List(t.U64_, 0, 9), 0, 9))([[1], [2, 3, "x"]], "input.rows")
    assert caught.value.path == "input.rows[1][2]"


def test_messages_never_hold_the_value() -> None:
    secret = "correct-horse-battery"
    for kind in (t.U64_, t.UUID, t.TIMESTAMP, t.DATE, t.Decimal(6, 2), t.Bytes(4), t.String(4), STATE):
        with pytest.raises(InvalidInput) as caught:
            read(kind, secret)
        assert secret not in caught.value.message


def test_the_callers_decimal_context_changes_nothing() -> None:
    with decimal.localcontext(decimal.Context(prec=2, traps=[])):
        assert read(t.Decimal(38, 2), D("123456789.12")) == 12_345_678_912
        assert CODEC.python(t.Decimal(38, 2))(12_345_678_912) == D("123456789.12")
