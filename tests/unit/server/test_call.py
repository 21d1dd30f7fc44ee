"""Headers and bodies of one request, without a network."""

from __future__ import annotations

import pytest

from treadle.access.caller import Caller
from treadle.errors import InvalidInput, Malformed
from treadle.server.call import accepts, content_type, preferences
from treadle.server.gate import host_name
from treadle.server.requests import header_key, request_of


@pytest.mark.parametrize(
    "header, wanted",
    [
        (b"*/*", True),
        (b"application/json", True),
        (b"APPLICATION/JSON", True),
        (b"text/html, application/*;q=0.5", True),
        (b"application/json;q=0, */*", False),
        (b"*/*;q=0", False),
        (b"application/*;q=0, */*", False),
        (b"text/*", False),
        (b"", False),
        (b"\xff", False),
        (b"application/json;q=0.001", True),
        (b"application/json;version=2", True),
    ],
)
def test_the_most_specific_range_counts(header: bytes, wanted: bool) -> None:
    assert accepts(header, "application/json") is wanted


@pytest.mark.parametrize(
    "header, kind",
    [
        (b"application/json", "application/json"),
        (b"Application/JSON ; Charset=UTF-8", "application/json"),
        (b"application/json;charset=utf-16", ""),
        (b"application/json;boundary=x", "application/json"),
        (b"", ""),
    ],
)
def test_the_type_of_a_body(header: bytes, kind: str) -> None:
    assert content_type(header) == kind


def test_preferences_are_read_by_name_and_the_first_counts() -> None:
    assert preferences(b'Integers=string, wait=5; x=y, wait=9, ,"') == {
        "integers": "string", "wait": "5", "": "", '"': "",
    }  # fmt: skip
    assert preferences(b"") == {"": ""}


@pytest.mark.parametrize(
    "header, name",
    [
        (b"localhost", "localhost"),
        (b"LocalHost:7480", "localhost"),
        (b"localhost:", "localhost"),
        (b"[::1]:80", "[::1]"),
        (b"[::1]", "[::1]"),
        (b"[::1]x", ""),
        (b"localhost:80x", ""),
        (b"a b", ""),
        (b"user@localhost", ""),
        (b"", ""),
        ("ä".encode("latin-1"), ""),
    ],
)
def test_the_name_in_a_host_header(header: bytes, name: str) -> None:
    assert host_name(header) == name


def test_a_key_is_bare_or_a_quoted_string() -> None:
    assert header_key("abc") == header_key('"abc"') == "abc"
    assert header_key('"a\\"b\\\\"') == 'a"b\\'
    for wrong in ("", '"', '""', '"a', '"a"b"', "x" * 129, "a\x7f"):
        with pytest.raises(Malformed):
            header_key(wrong)


def test_a_request_is_read_from_its_body_or_its_line() -> None:

    who = Caller("p")
    line = request_of({"command": "A", "input": {"x": 1}, "history": None}, who, b"\0" * 16)
    assert (line.command, line.input, line.history) == ("A", {"x": 1}, None)
    body = request_of({"input": {}, "contract": "ab"}, who, b"\0" * 16, "B", ("key", "k"))
    assert (body.command, body.input, body.contract) == ("B", {"key": "k"}, "ab")
    for wrong in (
        {},
        {"command": 7, "input": {}},
        {"command": "A", "input": 1},
        {"command": "A", "input": {}, "x": 1},
    ):
        with pytest.raises(InvalidInput):
            request_of(wrong, who, b"\0" * 16)
    with pytest.raises(Malformed, match="differ"):
        request_of({"input": {"key": "other"}}, who, b"\0" * 16, "B", ("key", "k"))
