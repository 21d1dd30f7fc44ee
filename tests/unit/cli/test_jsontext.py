"""JSON that the command line was given is read strictly, and named."""

from __future__ import annotations

import pytest

from treadle.cli.jsontext import parse_json
from treadle.errors import Malformed
from treadle.limits import COMMAND_BYTES


@pytest.mark.parametrize(
    "text, value",
    [
        ('{"a": [1, "x", null, true]}', {"a": [1, "x", None, True]}),
        (b'\xef\xbb\xbf"b"', "b"),
        ("18446744073709551615", 2**64 - 1),
    ],
)
def test_values(text: str | bytes, value: object) -> None:
    assert parse_json(text, "input") == value


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "not JSON: "),
        ("", "not JSON: expecting value at line 1, column 1"),
        ('{"a": 1, "a": 1}', "stands twice in one object"),
        ("[NaN]", "NaN is no JSON value"),
        ("[" * 33 + "]" * 33, "nested more than 32 deep"),
        ('{"a":' * 10_000, "nested more than 32 deep"),
        (b'"\xff"', "byte 1 is not UTF-8"),
        (b" " * (COMMAND_BYTES + 1), "more than 16 MiB"),
        ("1" * 5_000, "fits no type"),
    ],
)
def test_what_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse_json(text, "input")
    assert caught.value.message.startswith("input: ") and message in caught.value.message
