"""What a hostile client sends: nothing crashes, hangs or grows, and nothing is told that should not be."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given as each
from hypothesis import settings
from hypothesis import strategies as st

from tests.server.conftest import item, problem, run
from tests.support.effort import effort
from tests.support.server import Raw, Running, client, head, serving

JSON = "content-type: application/json"
PATH = "/v1/commands/AddItem"


@pytest.fixture(autouse=True)
def alive(server: Running, http: httpx2.Client) -> Iterator[None]:
    """Whatever a test sent, the server still answers, and said nothing of an error of its own."""
    yield
    assert run(http, "AddItem", item()).status_code == 200
    assert server.process.poll() is None
    assert not [line for line in server.log() if line["event"] == "internal error"]


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 10_000 + b"]" * 10_000,
        b'{"input":' * 10_000,
        b'{"input": ' + b"[" * 33 + b"]" * 33 + b"}",
        b'{"input": {"title": ' + b"9" * 5_000 + b"}}",
        b'{"input": {"title": 1e999999}}',
        b'{"input": {"title": NaN}}',
        b'{"input": {"title": -Infinity}}',
        b'{"input": {"title": "\\ud800"}}',
        b'{"input": {"title": "\xed\xa0\x80"}}',
        b'{"input": {"title": "\xff"}}',
        b"\xff\xfe{\x00}\x00",
        b'\xef\xbb\xbf{"input": {}}',
        b'{"input": {}, "input": {}}',
        b'{"input": {"key": "a", "key": "b"}}',
        b'{"input": {}} trailing',
        b"",
        b"\0" * 1000,
        b"{" + b'"a":{' * 40 + b"}" * 41,
    ],
)
def test_json_that_readers_disagree_about_is_malformed(http: httpx2.Client, body: bytes) -> None:
    began = time.monotonic()
    answer = http.post(PATH, content=body, headers={"content-type": "application/json"})
    problem(answer, 400, "malformed")
    assert len(answer.content) < 1_000 and time.monotonic() - began < 5


@pytest.mark.parametrize("value", ["a\0b", "\udc00", "x" * 121, "ü" * 61, 7, None, [], {"a": 1}, 1e300])
def test_values_that_are_no_string(http: httpx2.Client, value: Any) -> None:
    body = json.dumps({"input": item(title=value)})
    answer = http.post(PATH, content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422) and answer.json()["code"] in ("malformed", "invalid_input")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=effort(60))
@each(body=JSON_VALUES)
def test_any_json_is_answered(http: httpx2.Client, body: Any) -> None:
    for path in (PATH, "/v1/queries/WaitingItems"):
        given = {"input": body} if path == PATH else {"parameters": body}
        for sent in (body, given):
            text = json.dumps(sent)
            answer = http.post(path, content=text, headers={"content-type": "application/json"})
            assert answer.status_code in (200, 400, 422), answer.text


@settings(max_examples=effort(60))
@each(data=st.binary(max_size=200))
def test_any_bytes_are_answered_or_the_connection_ends(server: Running, data: bytes) -> None:
    with Raw(server.port) as raw:
        raw.send(data + b"\r\n\r\n")
        raw.socket.shutdown(socket.SHUT_WR)
        answer = raw.rest()
        assert not answer or answer.startswith(b"HTTP/1.1 ")
        assert not answer.startswith(b"HTTP/1.1 5") or answer.startswith(b"HTTP/1.1 501")


@settings(max_examples=effort(60))
@each(place=st.integers(0, 400), byte=st.integers(0, 255))
def test_a_request_with_one_byte_changed(
    server: Running, tokens: dict[str, str], place: int, byte: int
) -> None:
    body = json.dumps({"input": item()}).encode()
    sent = bytearray(
        head(PATH, tokens["all"], JSON, f"content-length: {len(body)}", "connection: close") + body
    )
    sent[place % len(sent)] = byte
    with Raw(server.port) as raw:
        raw.send(bytes(sent))
        raw.socket.shutdown(socket.SHUT_WR)
        answer = raw.rest()
        assert not answer.startswith(b"HTTP/1.1 500")


# Sizes.


def test_a_body_past_the_limit_by_its_length(server: Running, tokens: dict[str, str]) -> None:
    with Raw(server.port) as raw:
        raw.send(head(PATH, tokens["all"], JSON, f"content-length: {17 << 20}"))
        assert raw.status() == 413  # before any of it was sent
        assert b"connection: close" in raw.received


def test_a_chunked_body_past_the_limit(server: Running, tokens: dict[str, str]) -> None:
    with Raw(server.port) as raw:
        raw.send(head(PATH, tokens["all"], JSON, "transfer-encoding: chunked"))
        chunk = b"%x\r\n%b\r\n" % (1 << 20, b" " * (1 << 20))
        sent = 0
        try:
            while sent < 40:
                raw.send(chunk)
                sent += 1
        except OSError:
            pass
        assert sent < 40 and raw.rest().startswith(b"HTTP/1.1 413")


def test_a_length_that_is_none(server: Running, tokens: dict[str, str]) -> None:
    for length in ("-1", "1e3", "0x10", "99999999999999999999999", "5, 6", "+5", ""):
        with Raw(server.port) as raw:
            raw.send(
                head(PATH, tokens["all"], JSON, f"content-length: {length}", "connection: close") + b"{}"
            )
            assert raw.status() in (400, 413), length


def test_a_request_that_could_be_read_in_two_ways(server: Running, tokens: dict[str, str]) -> None:
    for more in (
        ("content-length: 5", "transfer-encoding: chunked"),
        ("content-length: 5", "content-length: 6"),
        ("transfer-encoding: chunked, identity",),
        ("transfer-encoding: xchunked",),
    ):
        with Raw(server.port) as raw:
            raw.send(head(PATH, tokens["all"], JSON, *more) + b"0\r\n\r\nGET /health HTTP/1.1\r\n\r\n")
            raw.socket.shutdown(socket.SHUT_WR)
            answer = raw.rest()
            assert answer.count(b"HTTP/1.1 200") == 0, (more, answer)


@pytest.mark.parametrize("size", [70_000, 1_000_000])
def test_a_head_that_is_too_large(server: Running, size: int) -> None:
    with Raw(server.port) as raw:
        raw.send(b"GET /health HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer " + b"A" * size)
        assert raw.status() == 431
    with Raw(server.port) as raw:
        raw.send(b"GET /" + b"a" * size)
        assert raw.status() in (414, 431)


def test_too_many_headers(server: Running) -> None:
    many = b"".join(b"x-%d: y\r\n" % number for number in range(500))
    with Raw(server.port) as raw:
        raw.send(b"GET /health HTTP/1.1\r\nhost: localhost\r\n" + many + b"\r\n")
        assert raw.status() == 431


def test_a_head_just_within_the_limit(server: Running, tokens: dict[str, str]) -> None:
    with client(server, tokens["all"]) as http:
        assert http.get("/health", headers={"x-long": "x" * 60_000}).status_code == 200


# Time.


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET", b"GET /health HTTP/1.1\r\nhost: localhost\r\nx-a: b\r\n"],
    ids=["nothing", "method", "head"],
)
def test_a_client_that_never_finishes_its_head(server: Running, begun: bytes) -> None:
    with Raw(server.port) as raw:
        began = time.monotonic()
        raw.send(begun)
        answer = raw.rest()
        assert 0.5 < time.monotonic() - began < 8  # server.idle_seconds is 1 here
        assert answer.startswith(b"HTTP/1.1 408") if begun else answer == b""


def test_a_head_that_drips(server: Running) -> None:
    with Raw(server.port) as raw:
        began = time.monotonic()
        raw.send(b"GET /health HTTP/1.1\r\n")
        try:
            while time.monotonic() - began < 12:
                raw.send(b"x")
                time.sleep(0.2)
        except OSError:
            pass
        assert time.monotonic() - began < 8


def test_a_body_that_never_comes(server: Running, tokens: dict[str, str]) -> None:
    with Raw(server.port) as raw:
        began = time.monotonic()
        raw.send(head(PATH, tokens["all"], JSON, "content-length: 10") + b"{")
        assert raw.rest().startswith(b"HTTP/1.1 408") and time.monotonic() - began < 8


def test_a_body_that_comes_slowly_is_read(server: Running, tokens: dict[str, str]) -> None:
    body = json.dumps({"input": item()}).encode()
    with Raw(server.port) as raw:
        raw.send(head(PATH, tokens["all"], JSON, f"content-length: {len(body)}"))
        step = len(body) // 5 + 1
        for start in range(0, len(body), step):
            time.sleep(0.6)
            raw.send(body[start : start + step])
        assert raw.status() == 200


def test_a_client_that_reads_nothing_is_cut_off(server: Running, tokens: dict[str, str]) -> None:
    before = held(server, tokens)
    with Raw(server.port, timeout=30) as raw:
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        asked = head("/openapi.json", tokens["all"], method="GET")
        began = time.monotonic()
        try:
            while time.monotonic() - began < 15:
                raw.send(asked * 50)
        except (OSError, TimeoutError):
            pass
        assert time.monotonic() - began < 14
    assert held(server, tokens) <= before + 1


def held(server: Running, tokens: dict[str, str]) -> float:
    with client(server, tokens["all"]) as http:
        lines = http.get("/metrics").text.splitlines()
    return float(
        next(line for line in lines if line.startswith("treadle_http_requests_in_flight")).split()[1]
    )


def memory(pid: int) -> int:
    """Resident bytes of a process; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_bodies_that_are_begun_do_not_fill_the_memory(server: Running, tokens: dict[str, str]) -> None:
    before = memory(server.process.pid)
    raws = [Raw(server.port) for _ in range(30)]
    try:
        for raw in raws:  # 30 times 12 MiB is more than the server holds of all bodies
            raw.send(head(PATH, tokens["all"], JSON, f"content-length: {13 << 20}"))
            try:
                raw.send(b" " * (12 << 20))
            except OSError:
                pass
        answered = [raw.socket.recv(65_536)[:12] for raw in raws[-3:]]
        assert all(answer in (b"HTTP/1.1 503", b"HTTP/1.1 408", b"") for answer in answered), answered
        assert memory(server.process.pid) - before < 600 << 20
    finally:
        for raw in raws:
            raw.socket.close()
    time.sleep(0.5)


# What is asked for.


@pytest.mark.parametrize(
    "method, path, allow",
    [
        ("GET", PATH, "POST"),
        ("DELETE", "/v1/contract", "GET, HEAD, PUT"),
        ("POST", "/v1/log", "GET, HEAD"),
        ("PUT", "/health", "GET, HEAD"),
        ("PATCH", "/v1/commands", "POST"),
        ("OPTIONS", "/v1/commands", "POST"),
    ],
)
def test_a_method_that_the_address_does_not_know(
    http: httpx2.Client, method: str, path: str, allow: str
) -> None:
    answer = http.request(method, path)
    problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allow


@pytest.mark.parametrize(
    "path", ["/", "/v2", "/v1/commands/", "/v1/commands/a/b", "/v1//log", "/../etc/passwd", "/%2e%2e/",
             "/v1/log/%00", "/docs/", "//evil.example/docs"],
)  # fmt: skip
def test_an_address_that_is_none(server: Running, tokens: dict[str, str], path: str) -> None:
    with Raw(server.port) as raw:
        raw.send(head(path, tokens["all"], "connection: close", method="GET"))
        assert raw.status() == 404


@pytest.mark.parametrize(
    "accept, status",
    [
        ("*/*", 200), ("application/json", 200), ("application/*;q=0.1", 200), ("text/html, */*;q=0.1", 200),
        ("text/html", 406), ("application/json;q=0", 406), ("application/json;q=0, */*", 406), ("", 406),
        ("application/json;q=x", 406), ("application/jsonp", 406), (",,,;;;", 406),
    ],
)  # fmt: skip
def test_accept(http: httpx2.Client, accept: str, status: int) -> None:
    answer = run(http, "AddItem", item(), headers={"accept": accept})
    assert answer.status_code == status


@pytest.mark.parametrize(
    "kind, status",
    [
        ("application/json", 200), ("application/json; charset=utf-8", 200),
        ('APPLICATION/JSON;charset="UTF-8"', 200), ("application/json; charset=latin-1", 415),
        ("text/plain", 415), ("application/x-www-form-urlencoded", 415), ("", 415), ("json", 415),
        ("multipart/form-data; boundary=x", 415), ("application/json, text/plain", 415),
    ],
)  # fmt: skip
def test_the_type_of_a_body(http: httpx2.Client, kind: str, status: int) -> None:
    body = json.dumps({"input": item()})
    assert http.post(PATH, content=body, headers={"content-type": kind}).status_code == status


def test_a_compressed_body(http: httpx2.Client) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    problem(http.post(PATH, content=b"x", headers=headers), 415, "unsupported_media_type")


def test_an_upgrade_is_not_taken(server: Running, tokens: dict[str, str]) -> None:
    with Raw(server.port) as raw:
        asked = ("upgrade: websocket", "connection: upgrade, close")
        raw.send(head("/v1/contract", tokens["all"], *asked, method="GET"))
        assert raw.status() in (200, 400)
    with Raw(server.port) as raw:
        raw.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert raw.status() == 400


def test_pipelined_requests_are_answered_in_order(server: Running, tokens: dict[str, str]) -> None:
    asked = b"".join(
        head(path, tokens["all"], *more, method="GET")
        for path, more in (("/health", ()), ("/v1/log/999999", ()), ("/ready", ("connection: close",)))
    )
    with Raw(server.port) as raw:
        answer = raw.send(asked).rest()
        statuses = [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]]
        assert statuses == [b"200", b"404", b"200"]


def test_expect_continue(server: Running, tokens: dict[str, str]) -> None:
    body = json.dumps({"input": item()}).encode()
    with Raw(server.port) as raw:
        raw.send(head(PATH, tokens["all"], JSON, f"content-length: {len(body)}", "expect: 100-continue"))
        assert raw.status() == 100
        raw.send(body)
        assert raw.status() == 200


def test_names_that_are_long_or_marked_up_are_not_repeated_at_length(http: httpx2.Client) -> None:
    name = "<script>alert(1)</script>" * 200
    answer = http.post(f"/v1/commands/{name[:5000]}".replace("/script", "script"), json={"input": {}})
    assert answer.status_code in (403, 404) and answer.headers["content-type"] == "application/problem+json"
    answer = http.post(PATH, json={"input": {name: 1}})
    assert answer.status_code == 422 and len(answer.content) < 12_000
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_no_more_connections_than_allowed(folder: Path, database: Path) -> None:
    with serving(database, "--set", "server.max_connections=3") as running:
        raws = [Raw(running.port) for _ in range(3)]
        time.sleep(0.2)
        with Raw(running.port) as raw:
            answer = raw.rest()
            assert answer.startswith(b"HTTP/1.1 503") and b"retry-after: 1" in answer
            assert b'"code":"over_capacity"' in answer
        for raw in raws:
            raw.socket.close()
        time.sleep(0.2)
        with client(running) as http:
            assert http.get("/health").status_code == 200
