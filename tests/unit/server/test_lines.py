"""Bytes to lines, however they are cut, in bounded memory."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from treadle.errors import TooLarge
from treadle.server.lines import Splitter


def split(parts: list[bytes], longest: int = 100) -> list[object]:
    splitter = Splitter(longest)
    found: list[object] = []
    for part in parts:
        found += splitter.feed(part)
        assert splitter.kept <= longest
    return [*found, *splitter.rest()]


@given(data=st.binary(max_size=60), cuts=st.lists(st.integers(0, 60), max_size=6))
def test_where_the_bytes_are_cut_does_not_matter(data: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    parts = [data[start:end] for start, end in pairwise(places)]
    assert split(parts) == [line for line in data.split(b"\n") if line.strip()]


def test_a_line_that_is_too_long_is_an_error_in_its_place_and_is_not_kept() -> None:
    parts = [b"a\n", *[b"x" * 30] * 1000, b"\nb\n" + b"y" * 10, b"y" * 5]
    first, second, third, fourth = split(parts)
    assert (first, third, fourth) == (b"a", b"b", b"y" * 15) and isinstance(second, TooLarge)


def test_a_line_of_just_the_longest_size() -> None:
    assert split([b"x" * 100 + b"\n"]) == [b"x" * 100]
    assert isinstance(split([b"x" * 101 + b"\n"])[0], TooLarge)
