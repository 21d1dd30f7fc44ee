"""JSON from outside is read strictly."""

from __future__ import annotations

import pytest

from treadle.cli.jsontext import parse_json
from treadle.errors import Malformed
from treadle.limits import COMMAND_BYTES, JSON_NESTING


@pytest.mark.parametrize(
    "text, value",
    [
        ('{"a": [1, "x", null, true]}', {"a": [1, "x", None, True]}),
        (b'\xef\xbb\xbf"b"', "b"),
        ("18446744073709551615", 2**64 - 1),
        ("[" * JSON_NESTING + "]" * JSON_NESTING, None),
        ('"' + "[" * 100 + '\\"{"', "[" * 100 + '"{'),
    ],
)
def test_values(text: str | bytes, value: object) -> None:
    found = parse_json(text, "input")
    assert value is None or found == value


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "input: not JSON at line 1, column 2"),
        ("", "input: not JSON at line 1, column 1"),
        ('{"a": 1, "a": 1}', "input: 'a' is given twice; keep one of them"),
        ("[NaN]", "input: NaN is no JSON number"),
        ("[-Infinity]", "input: -Infinity is no JSON number"),
        ("[" * 33 + "]" * 33, "input: nested deeper than 32"),
        ('{"a":' * 10_000, "input: nested deeper than 32"),
        (b'"\xff"', "input: not UTF-8 at byte 1"),
        (b" " * (COMMAND_BYTES + 1), "input: more than 16 MiB"),
        ("1" * 5_000, "input: "),
        ('"\ud800', "input: not JSON"),
    ],
)
def test_what_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse_json(text, "input")
    assert caught.value.message.startswith(message)
