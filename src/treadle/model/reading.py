"""User values to cells: what goes in, exactly, and what is refused with the words that help.

A reader takes one value, as its Python type or as its JSON form, and returns the cell. It raises
`Refusal` with a message that says what to write and never quotes the value; whoever knows where the
value stands puts the path before it. The common case of each type comes first and costs two or three
comparisons; everything else goes the long way round. Types are asked of `type(value)`, never of the
object: a class can lie about its instances, but not about itself, so no code of the value's own runs
except through `foreign`.
"""

from __future__ import annotations

import binascii
import datetime
import decimal
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from treadle import limits
from treadle.errors import InvalidInput
from treadle.model.facts import Cell, Cells
from treadle.model.scalars import DAY_ZERO, EPOCH, microseconds, unscaled
from treadle.text import nearest

Read: TypeAlias = Callable[[Any], Cell]


class Refusal(Exception):
    """A value is not of its declared type. `steps` lead from the value that was read to the one at fault."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.steps: list[str] = []

    def under(self, step: str) -> Refusal:
        """The same refusal, seen from the value that holds this one: `.name` or `[position]`."""
        self.steps.append(step)
        return self

    def at(self, path: str) -> InvalidInput:
        """The error for a caller, with the whole path."""
        return InvalidInput(self.message, path=path + "".join(reversed(self.steps)))


def kind_of(value: object) -> str:
    return "null" if value is None else type(value).__name__


def foreign(call: Callable[..., Any], *arguments: Any) -> Any:
    """Run code that came with the caller's value (a tzinfo, a mapping, an attribute).

    It may raise anything, and whatever it raises means that the value cannot be read.
    """
    try:
        return call(*arguments)
    except Exception as error:
        raise Refusal(f"reading the value raised {type(error).__name__}; pass a plain value") from error


# Numbers and truth.


def read_bool(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise Refusal(f"expects a bool, not {kind_of(value)}: write True or False (true or false in JSON)")


_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,18}|[1-9][0-9]{19}")


def _whole(value: Any, kind: str, low: int, high: int) -> int:
    if issubclass(type(value), bool) or not issubclass(type(value), int | str):
        raise Refusal(f"expects {kind}, not {kind_of(value)}: write a whole number, or its digits as text")
    if issubclass(type(value), int):
        number = int.__int__(value)
    else:
        text = str.__str__(value)
        if not _INTEGER.fullmatch(text):
            raise Refusal(f"expects {kind}: write plain digits, without +, leading zeros or spaces")
        number = int(text)
    if not low <= number <= high:
        raise Refusal(f"is out of range: {kind} holds {low} to {high}")
    return number


def read_u64(value: Any) -> int:
    if type(value) is int and 0 <= value <= 0xFFFF_FFFF_FFFF_FFFF:
        return value
    return _whole(value, "u64", 0, limits.U64_MAX)


def read_i64(value: Any) -> int:
    if type(value) is int and -0x8000_0000_0000_0000 <= value <= 0x7FFF_FFFF_FFFF_FFFF:
        return value
    return _whole(value, "i64", limits.I64_MIN, limits.I64_MAX)


_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_DECIMAL_TEXT: Final = 64  # characters; the longest decimal has 41


def decimal_reader(kind: str, precision: int, scale: int) -> Read:
    """Reads a `Decimal` or its text into the unscaled integer."""
    before = precision - scale

    def read(value: Any) -> int:
        if issubclass(type(value), decimal.Decimal):
            exact = decimal.Decimal(value)
            if not exact.is_finite():
                raise Refusal(f"expects {kind}: a finite number, not an infinity or NaN")
        elif issubclass(type(value), str):
            text = str.__str__(value)
            if len(text) > _DECIMAL_TEXT or not _DECIMAL.fullmatch(text):
                raise Refusal(f'expects {kind}: write plain digits such as "12.50", without exponent or +')
            exact = decimal.Decimal(text)
        else:
            raise Refusal(f'expects {kind}, not {kind_of(value)}: write Decimal("12.50") or the text "12.50"')
        exponent = exact.as_tuple().exponent
        if isinstance(exponent, int) and -exponent > scale:
            raise Refusal(f"has too many decimal places: {kind} holds at most {scale}; round it first")
        if exact and exact.adjusted() >= before:
            raise Refusal(f"is out of range: {kind} holds at most {before} digits before the point")
        return unscaled(exact, scale) if exact else 0

    return read


# Time.

_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_TIMESTAMP_HELP: Final = "write an aware datetime, or RFC 3339 text such as 2026-01-31T12:00:00.123456Z"


def _timestamp_of_text(text: str) -> datetime.datetime:
    found = _TIMESTAMP.fullmatch(text) if len(text) <= 64 else None
    if found is None:
        raise Refusal(f"expects timestamp: {_TIMESTAMP_HELP}")
    second, fraction = found.groups()
    if fraction and len(fraction) > 6:
        raise Refusal("is finer than a microsecond: write at most six digits after the point")
    if second == "60":
        raise Refusal("is a leap second, which no timestamp holds: write second 59, or 00 of the next minute")
    if fraction and len(fraction) < 6:
        text = text.replace("." + fraction, "." + fraction.ljust(6, "0"))
    try:
        return datetime.datetime.fromisoformat(text.upper())
    except ValueError:
        raise Refusal(f"is no date and time of the calendar: {_TIMESTAMP_HELP}") from None


def _datetime_of(value: Any) -> Any:
    if issubclass(type(value), str):
        return _timestamp_of_text(str.__str__(value))
    if not issubclass(type(value), datetime.datetime):
        raise Refusal(f"expects timestamp, not {kind_of(value)}: {_TIMESTAMP_HELP}")
    if any("nanosecond" in vars(base) for base in type(value).__mro__):
        raise Refusal("comes from a class with nanoseconds; convert it to a datetime.datetime first")
    return value


def read_timestamp(value: Any) -> int:
    if type(value) is datetime.datetime and value.tzinfo is datetime.UTC:
        delta = value - EPOCH
        return delta.days * 86_400_000_000 + delta.seconds * 1_000_000 + delta.microseconds
    cell: int = foreign(microseconds, _aware(_datetime_of(value)))
    if not limits.TIMESTAMP_MIN <= cell <= limits.TIMESTAMP_MAX:
        raise Refusal("is out of range: in UTC a timestamp lies in the years 1 to 9999")
    return cell


def _aware(value: Any) -> Any:
    """Refuses a datetime whose tzinfo gives no offset, which Python too counts as naive."""
    if foreign(datetime.datetime.utcoffset, value) is None:
        raise Refusal("is a naive datetime: give it a time zone, such as tzinfo=datetime.UTC")
    return value


_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read_date(value: Any) -> int:
    if issubclass(type(value), datetime.datetime):
        raise Refusal("expects date, not datetime: say which day, such as value.date()")
    if issubclass(type(value), datetime.date):
        return datetime.date.toordinal(value) - DAY_ZERO
    if issubclass(type(value), str):
        text = str.__str__(value)
        if _DATE.fullmatch(text):
            try:
                return datetime.date.fromisoformat(text).toordinal() - DAY_ZERO
            except ValueError:
                raise Refusal("is no date of the calendar: write YYYY-MM-DD, such as 2026-01-31") from None
    raise Refusal(f"expects date, not {kind_of(value)}: write a datetime.date, or text such as 2026-01-31")


# Bytes and text.


def _uuid_of_text(text: str) -> bytes:
    if len(text) == 36 and text[8] == text[13] == text[18] == text[23] == "-":
        try:
            raw = bytes.fromhex(text.replace("-", ""))
        except ValueError:
            raw = b""
        # Further hyphens, or the spaces that fromhex skips, leave fewer bytes.
        if len(raw) == 16:
            return raw
    raise Refusal("expects uuid: write its 36 characters, such as 123e4567-e89b-12d3-a456-426614174000")


def read_uuid(value: Any) -> bytes:
    if type(value) is uuid.UUID:
        return value.int.to_bytes(16, "big")
    if issubclass(type(value), str):
        return _uuid_of_text(str.__str__(value))
    if issubclass(type(value), uuid.UUID):
        return bytes(uuid.UUID.bytes.__get__(value))
    raise Refusal(f"expects uuid, not {kind_of(value)}: write a uuid.UUID, or its 36 characters as text")


def string_reader(maximum: int) -> Read:
    """Reads text of at most `maximum` bytes of UTF-8."""

    def read(value: Any) -> str:
        if type(value) is str and len(value) <= maximum and value.isascii() and "\0" not in value:
            return value
        return _text(value, maximum)

    return read


def _text(value: Any, maximum: int) -> str:
    if not issubclass(type(value), str):
        raise Refusal(f"expects string<{maximum}>, not {kind_of(value)}: write a str")
    text = str.__str__(value)
    if "\0" in text:
        raise Refusal("holds a NUL character, which a string cannot; take it out")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Refusal(
            "holds a lone surrogate, which is no character; decode the text rightly first"
        ) from None
    if size > maximum:
        raise Refusal(f"is too long: {size} bytes of UTF-8, and string<{maximum}> holds at most {maximum}")
    return text


def bytes_reader(maximum: int) -> Read:
    """Reads bytes, or base64 text, of at most `maximum` bytes."""

    def read(value: Any) -> bytes:
        if issubclass(type(value), bytes):
            raw = bytes.__bytes__(value)
        elif issubclass(type(value), str):
            raw = _base64(str.__str__(value), maximum)
        else:
            raise Refusal(f"expects bytes<{maximum}>, not {kind_of(value)}: write bytes, or base64 text")
        if len(raw) > maximum:
            raise Refusal(f"is too long: {len(raw)} bytes, and bytes<{maximum}> holds at most {maximum}")
        return raw

    return read


def _base64(text: str, maximum: int) -> bytes:
    if len(text) > 4 * (maximum + 2) // 3 + 4:
        raise Refusal(f"is too long: bytes<{maximum}> holds at most {maximum} bytes")
    try:
        raw = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raw = None
    # Only one spelling for each value: what strict mode lets pass is compared with its own encoding.
    if raw is None or binascii.b2a_base64(raw, newline=False).decode() != text:
        raise Refusal("expects base64 text: the alphabet with + and /, padded with =, without line breaks")
    return raw


def enum_reader(name: str, variants: Sequence[str]) -> Read:
    """Reads a variant's name, as text or a `StrEnum` member."""
    known = {variant: variant for variant in variants}

    def read(value: Any) -> str:
        if not issubclass(type(value), str):
            raise Refusal(
                f"expects {name}, not {kind_of(value)}: write a variant's name, such as {variants[0]}"
            )
        found = known.get(str.__str__(value))
        if found is None:
            near = nearest(str.__str__(value), variants)
            raise Refusal(f"is no variant of {name}{near}; the variants are {some(variants)}")
        return found

    return read


def some(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


# Compounds.


def optional_reader(item: Read) -> Read:
    """Reads None as absent."""

    def read(value: Any) -> Cell:
        return None if value is None else item(value)

    return read


def list_reader(kind: str, item: Read, minimum: int, maximum: int) -> Read:
    """Reads a list or tuple of `minimum` to `maximum` entries."""

    def read(value: Any) -> Cells:
        if type(value) is not list and type(value) is not tuple:
            if not issubclass(type(value), list | tuple):
                raise Refusal(f"expects {kind}, not {kind_of(value)}: write a list")
            value = foreign(list, value)
        if not minimum <= len(value) <= maximum:
            raise Refusal(f"has {len(value)} entries, and {kind} holds {minimum} to {maximum}")
        entries: list[Cell] = []
        try:
            for entry in value:
                entries.append(item(entry))
        except Refusal as refusal:
            raise refusal.under(f"[{len(entries)}]") from None
        return tuple(entries)

    return read
