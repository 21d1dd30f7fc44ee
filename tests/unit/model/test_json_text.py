"""JSON that everyone reads alike, and all that is refused."""

from __future__ import annotations

import time
from typing import Any

import pytest

from treadle.errors import Malformed
from treadle.model.json_text import scan_json


@pytest.mark.parametrize(
    "text, value",
    [
        (b"null", None),
        ("{}", {}),
        (b' {"a": [1, -2, true, null, "x"], "b": 1.5} ', {"a": [1, -2, True, None, "x"], "b": 1.5}),
        (b"18446744073709551616", 2**64),
        (b"9" * 40, 10**40 - 1),
        (b"-" + b"9" * 39, -(10**39) + 1),
        (b"-0", 0),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\u0000"', "\0"),
        ('"\\\\ud800"', "\\ud800"),
        (bytearray(b"[]"), []),
        (memoryview(b"[]"), []),
        ("[" * 32 + "]" * 32, None),
        ('{"[[[[": ' + "[" * 31 + "]" * 31 + "}", None),
        ('["\\"' + "[" * 100 + '"]', ['"' + "[" * 100]),
        ("[" + ",".join(["[]"] * 1000) + "]", [[]] * 1000),
    ],
)
def test_accepted(text: Any, value: Any) -> None:
    found = scan_json(text)
    if value is not None:
        assert found == value


@pytest.mark.parametrize(
    "text, says",
    [
        (b"", "expecting value at line 1, column 1"),
        (b"\n\n [1,]", "line 3"),
        (b"[1] 2", "extra data at line 1, column 5"),
        (b"{'a': 1}", "line 1, column 2"),
        (b"[01]", "line 1, column 3"),
        (b"[+1]", "line 1, column 2"),
        (b"[1.]", "line 1"),
        (b"[.5]", "line 1"),
        (b'"\x01"', "control character"),
        (b'"\\x"', "escape"),
        (b'"abc', "unterminated string starting at line 1, column 1"),
        (b"tru", "expecting value"),
        (b"\xff", "byte 0 is not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b"\xef\xbb\xbf1", "byte order mark"),
        ("\ufeff1", "byte order mark"),
        ('"\ud800"', "lone surrogate at line 1, column 2"),
        (b'"\\ud800"', "lone surrogate"),
        (b'"\\uDFFF x"', "lone surrogate"),
        (b'"\\ude00\\ud83d"', "lone surrogate"),
        (b'{"\\ud800": 1}', "lone surrogate"),
        (b'[{"a": ["\\udc00"]}]', "lone surrogate"),
        (b'{"a": 1, "a": 1}', "the name 'a' stands twice"),
        (b'{"a": 1, "\\u0061": 2}', "stands twice"),
        (b'[{"b": {"": 1, "": 2}}]', "the name '' stands twice"),
        (b"[NaN]", "NaN"),
        (b"-Infinity", "-Infinity"),
        (b"1e999", "as text"),
        (b"-1e999", "as text"),
        (b"1." + b"0" * 100, "as text"),
        (b"9" * 41, "more than 40 digits"),
        (b"9" * 100_000, "more than 40 digits"),
        (b"[" * 33 + b"]" * 33, "nested more than 32 deep at line 1, column 33"),
        (b"[" * 1_000_000, "nested more than 32 deep"),
        (b'{"a":' * 1_000_000, "nested more than 32 deep"),
        (b'["\\"[' + b"[" * 40 + b'"' + b",[" * 40, "nested more than 32 deep"),
    ],
)
def test_refused(text: Any, says: str) -> None:
    with pytest.raises(Malformed) as caught:
        scan_json(text)
    assert says in caught.value.message
    assert caught.value.message.isprintable()
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "make",
    [
        lambda n: b'"' + b'\\"[' * n,
        lambda n: b"[" + b"[]," * n + b"1]",
        lambda n: b'{"z": 1,' + b",".join(b'"%d":1' % i for i in range(n)) + b',"%d":1}' % (n - 1),
        lambda n: b"[" + b'"\\ud83d\\ude00",' * n + b"1]",
        lambda n: b"\n" * n + b"x",
    ],
    ids=["brackets in a text", "many lists", "a late duplicate", "surrogate pairs", "lines"],
)
def test_time_is_linear(make: Any) -> None:
    def took(n: int) -> float:
        data = make(n)
        best = 9.9
        for _ in range(3):
            start = time.process_time()
            try:
                scan_json(data)
            except Malformed:
                pass
            best = min(best, time.process_time() - start)
        return best

    # Linear is 16 times, quadratic 256 times; the machine may be busy with other things.
    assert took(80_000) < 100 * took(5_000) + 0.5
