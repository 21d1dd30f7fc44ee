"""Compiled encoders and decoders between cells and canonical bytes.

A `Coder` is made once per type, record or list and then called for every value, so it does at the start
all that does not depend on the value: the bytes before the value (a field's name and the tag) become the
first argument of a packer written in C, an enum becomes a table of finished bytes, a record becomes
straight-line code (see `straight`). What a decoder reads is exactly what its encoder writes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, cast

from treadle import limits
from treadle.errors import check
from treadle.model import items
from treadle.model.items import corrupt
from treadle.model.straight import Fragment, Slot, compile_encoder

Encode: TypeAlias = Callable[[Any], bytes]
Decode: TypeAlias = Callable[[bytes, int], tuple[Any, int]]

U16: Final = struct.Struct(">H")
U32: Final = struct.Struct(">I")


class Coder(NamedTuple):
    """How cells of one type become canonical bytes and come back.

    `fragment(prefix)` is the code that writes a cell after `prefix`; `decode(data, start)` reads one cell
    and says where it ends. A cell that a record may leave out has the coder of what is there in
    `present`; it is left out where it equals `default` (None, or an empty tuple or False).
    """

    fragment: Callable[[bytes], Fragment]
    decode: Decode
    present: Coder | None = None
    default: Any = None


def writer(coder: Coder) -> Encode:
    """The function that writes one cell by itself."""
    return encoder(coder, b"")


def encoder(coder: Coder, prefix: bytes) -> Encode:
    fragment = coder.fragment(prefix)
    if fragment.parts == _CALL:
        return cast(Encode, fragment.names["encode"])
    one = compile_encoder((b"",) * 2, 1, [Slot(0, fragment)])
    return lambda cell: one((cell,))


_CALL: Final = ("encode{n}({c})",)


def calling(encode: Encode) -> Fragment:
    """The fragment that calls a function with the cell."""
    return Fragment(_CALL, {"encode": encode})


def _table(table: Mapping[Any, bytes]) -> Fragment:
    """The fragment that looks the cell up among finished bytes."""
    return Fragment(("table{n}[{c}]",), {"table": table})


def reader(coder: Coder) -> Callable[[bytes], Any]:
    """The function that reads a whole bytes object; it raises `DatabaseCorrupt` for any other bytes."""
    decode = coder.decode

    def read(data: bytes) -> Any:
        try:
            cell, end = decode(data, 0)
        except (IndexError, struct.error):
            raise corrupt("it ends in the middle of a value") from None
        if end != len(data):
            raise corrupt(f"bytes after the value, from byte {end}")
        return cell

    return read


def expect(data: bytes, start: int, tag: int) -> int:
    if data[start] != tag:
        raise corrupt(f"another type than declared at byte {start}")
    return start + 1


def _slice(data: bytes, start: int, size: int) -> tuple[bytes, int]:
    end = start + size
    if end > len(data):
        raise corrupt(f"it ends in the middle of a value, at byte {len(data)}")
    return data[start:end], end


# Scalars.


def number(tag: int, form: str, low: int, high: int) -> Coder:
    """Integers of fixed width: `form` is the struct code."""
    tail = struct.Struct(">" + form)
    size = tail.size
    head = bytes((tag,))

    def fragment(prefix: bytes) -> Fragment:
        whole = prefix + head
        return calling(partial(struct.Struct(f">{len(whole)}s{form}").pack, whole))

    def decode(data: bytes, start: int) -> tuple[int, int]:
        if data[start] != tag:
            raise corrupt(f"another type than declared at byte {start}")
        (value,) = tail.unpack_from(data, start + 1)
        if not low <= value <= high:
            raise corrupt(f"a number out of its type's range at byte {start}")
        return value, start + 1 + size

    return Coder(fragment, decode)


I64: Final = number(items.I64, "q", limits.I64_MIN, limits.I64_MAX)
U64: Final = number(items.U64, "Q", 0, limits.U64_MAX)
TIMESTAMP: Final = number(items.TIMESTAMP, "q", limits.TIMESTAMP_MIN, limits.TIMESTAMP_MAX)
DATE: Final = number(items.DATE, "i", limits.DATE_MIN, limits.DATE_MAX)


def _bool_fragment(prefix: bytes) -> Fragment:
    return _table({False: prefix + b"\x01", True: prefix + b"\x02"})


def _bool_decode(data: bytes, start: int) -> tuple[bool, int]:
    tag = data[start]
    if tag not in (items.FALSE, items.TRUE):
        raise corrupt(f"another type than declared at byte {start}")
    return tag == items.TRUE, start + 1


BOOL: Final = Coder(_bool_fragment, _bool_decode)


def fixed(head: bytes, size: int) -> Coder:
    """Exactly `size` bytes after `head` (a tag, and a length where the tag has one)."""
    width = len(head)

    def fragment(prefix: bytes) -> Fragment:
        names = {"whole": prefix + head, "check": check}
        before = f'if len({{c}}) != {size}: check{{n}}(False, "a value of exactly {size} bytes")'
        return Fragment(("whole{n}", "{c}"), names, before)

    def decode(data: bytes, start: int) -> tuple[bytes, int]:
        if not data.startswith(head, start):
            raise corrupt(f"another type than declared at byte {start}")
        return _slice(data, start + width, size)

    return Coder(fragment, decode)


UUID: Final = fixed(bytes((items.UUID,)), 16)
HASH: Final = fixed(bytes((items.BYTES, 0, 0, 0, 32)), 32)
"""Bytes, always 32 of them."""


def exact(head: bytes) -> Coder:
    """Decimals and money: `head` is the tag with the scale or the currency, then 16 bytes unscaled."""
    size = len(head)

    def fragment(prefix: bytes) -> Fragment:
        return Fragment(("whole{n}", "{c}.to_bytes(16, 'big', signed=True)"), {"whole": prefix + head})

    def decode(data: bytes, start: int) -> tuple[int, int]:
        if not data.startswith(head, start):
            raise corrupt(f"another type than declared at byte {start}")
        raw, end = _slice(data, start + size, 16)
        value = int.from_bytes(raw, "big", signed=True)
        if not -items.DECIMAL_BOUND < value < items.DECIMAL_BOUND:
            raise corrupt(f"a decimal of more than {limits.DECIMAL_PRECISION} digits at byte {start}")
        return value, end

    return Coder(fragment, decode)


def decimal_(scale: int) -> Coder:
    return exact(bytes((items.DECIMAL, scale)))


def money(currency: str) -> Coder:
    return exact(bytes((items.MONEY,)) + currency.encode())


def _text_decode(data: bytes, start: int) -> tuple[str, int]:
    if data[start] != items.STRING:
        raise corrupt(f"another type than declared at byte {start}")
    body = start + 5
    end: int = body + U32.unpack_from(data, start + 1)[0]
    raw = data[body:end]
    if end > len(data) or b"\0" in raw:
        raise corrupt(f"text cut short or with a NUL at byte {start}")
    try:
        return raw.decode(), end
    except UnicodeDecodeError:
        raise corrupt(f"text that is not UTF-8 at byte {start}") from None


def counted(prefix: bytes, tag: int) -> Encode:
    """Packs a prefix, a tag and a four-byte count."""
    whole = prefix + bytes((tag,))
    return partial(struct.Struct(f">{len(whole)}sI").pack, whole)


def _text_fragment(prefix: bytes) -> Fragment:
    names = {"pack": counted(prefix, items.STRING)}
    return Fragment(("pack{n}(len(raw{n}))", "raw{n}"), names, "raw{n} = {c}.encode()")


STRING: Final = Coder(_text_fragment, _text_decode)


class _Memo(dict[str, bytes]):
    """Finished bytes of texts that come again and again; cleared when full, so it stays small."""

    def __init__(self, encode: Encode) -> None:
        super().__init__()
        self._encode = encode

    def __missing__(self, text: str) -> bytes:
        raw = self._encode(text)
        if len(raw) <= _MEMO_BYTES:
            if len(self) >= _MEMO_ENTRIES:
                self.clear()
            self[text] = raw
        return raw


_MEMO_ENTRIES: Final = 1_024
_MEMO_BYTES: Final = 512


def _label_fragment(prefix: bytes) -> Fragment:
    return _table(_Memo(encoder(STRING, prefix)))


LABEL: Final = Coder(_label_fragment, _text_decode)
"""A string that comes from a small set (names, principals): the same bytes as `STRING`, remembered."""


def _sized(tag: int) -> Coder:
    def fragment(prefix: bytes) -> Fragment:
        return Fragment(("pack{n}(len({c}))", "{c}"), {"pack": counted(prefix, tag)})

    def decode(data: bytes, start: int) -> tuple[bytes, int]:
        body = expect(data, start, tag) + 4
        return _slice(data, body, U32.unpack_from(data, body - 4)[0])

    return Coder(fragment, decode)


BYTES: Final = _sized(items.BYTES)
ENCLOSED: Final = _sized(items.ENCLOSED)
"""Canonical bytes of one value inside another value: readable without a schema, skipped by its length."""


def _enum_bytes(name: str) -> bytes:
    raw = name.encode()
    return bytes((items.ENUM,)) + U16.pack(len(raw)) + raw


def enum(variants: Sequence[str]) -> Coder:
    """One of these names."""
    spelled = {name: _enum_bytes(name) for name in variants}
    names = {raw: name for name, raw in spelled.items()}

    def fragment(prefix: bytes) -> Fragment:
        return _table({name: prefix + raw for name, raw in spelled.items()})

    def decode(data: bytes, start: int) -> tuple[str, int]:
        end = expect(data, start, items.ENUM) + 2
        end += U16.unpack_from(data, end - 2)[0]
        name = names.get(data[start:end])
        if name is None:
            raise corrupt(f"an unknown variant at byte {start}")
        return name, end

    return Coder(fragment, decode)
