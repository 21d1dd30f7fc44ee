"""Packed tuples: their order, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.errors import DatabaseCorrupt
from treadle.model.packing import pack, unpack

ORDERED: list[list[Any]] = [
    [None, False, True],
    [None, -(2**127), -(2**63) - 1, -(2**63), -2, -1, 0, 1, 255, 256, 2**63, 2**64 - 1, 2**64, 2**127 - 1],
    [None, "", "\x01", "a", "a\x01", "aa", "b", "é", "€", "\ufffd", "😀"],
    [None, b"", b"\0", b"\0\0", b"\0\x01", b"\0\xff", b"\x01", b"a", b"a\0", b"a\x01", b"\xff", b"\xff\xff"],
]


@pytest.mark.parametrize("cells", ORDERED)
def test_bytes_sort_as_values(cells: list[Any]) -> None:
    packed = [pack((cell,)) for cell in cells]
    assert packed == sorted(packed)
    assert len(set(packed)) == len(cells)
    followed = [pack((cell, tail)) for cell in cells for tail in (None, 0, "z", b"\0")]
    assert followed == sorted(followed)


def test_a_tuple_sorts_before_longer_ones_that_begin_with_it() -> None:
    assert pack(()) < pack((None,)) < pack((None, None)) < pack((None, 0)) < pack((False,))
    assert pack(("a", 1)).startswith(pack(("a",)))
    assert not pack(("ab",)).startswith(pack(("a",)))
    assert not pack((b"\0\xff",)).startswith(pack((b"\0",)))


@pytest.mark.parametrize("cell", [2**127, -(2**127) - 1, "a\0", "\ud800", 1.5, (1,), ["a"], bytearray(b"a")])
def test_what_cannot_be_packed(cell: Any) -> None:
    with pytest.raises((KeyError, ValueError, OverflowError)):
        pack((cell,))


@pytest.mark.parametrize(
    "hexadecimal",
    [
        "00",
        "04",
        "ff",
        "12",
        "1200000000000000",
        "110000000000000000",
        "10" + "ff" * 16,
        "10" + "00" * 16,
        "13" + "00" * 16,
        "13" + "ff" * 16,
        "13" + "00" * 15,
        "20",
        "2061",
        "20ff00",
        "21",
        "2100ff",
        "2100ffff",
    ],
)
def test_other_bytes_are_refused(hexadecimal: str) -> None:
    with pytest.raises(DatabaseCorrupt):
        unpack(bytes.fromhex(hexadecimal))
