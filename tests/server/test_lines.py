"""JSON Lines: in order, each for itself, in bounded memory, whatever the client does meanwhile."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from tests.server.conftest import fresh, item, problem
from tests.support.effort import effort
from tests.support.server import Raw, Running, head

JSONL = "content-type: application/jsonl"
TYPE = {"content-type": "application/jsonl"}


def line(**given: Any) -> bytes:
    return json.dumps({"command": "AddItem", "input": item(**given)}).encode() + b"\n"


def post(http: httpx2.Client, body: Any, **headers: str) -> list[dict[str, Any]]:
    answer = http.post("/v1/commands", content=body, headers=TYPE | headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/jsonl")
    return [json.loads(one) for one in answer.text.splitlines()]


def test_answers_come_in_order_and_each_is_for_itself(http: httpx2.Client) -> None:
    given = item()
    repeated = json.dumps({"command": "AddItem", "input": given}).encode() + b"\n"
    body = [
        repeated,
        repeated,
        b"\n   \n",
        b"{not json}\n",
        json.dumps({"command": "NoSuch", "input": {}}).encode() + b"\n",
        json.dumps({"command": "AddItem", "input": given | {"title": "Other"}}).encode() + b"\r\n",
        json.dumps({"command": "AddItem", "input": given | {"size": 1}}).encode() + b"\n",
        json.dumps({"input": {}}).encode() + b"\n",
        b"[]\n",
        line(title="last").rstrip(b"\n"),
    ]
    answers = post(http, b"".join(body))
    codes = [answer.get("outcome") or answer["code"] for answer in answers]
    assert codes == [
        "Added", "Added", "malformed", "denied", "idempotency_key_reused", "invalid_input", "invalid_input",
        "malformed", "Added",
    ]  # fmt: skip
    assert (answers[0]["replayed"], answers[1]["replayed"]) == (False, True)
    assert answers[-1]["fields"]["title"] == "last"


def test_an_empty_body_has_no_answers(http: httpx2.Client) -> None:
    assert post(http, b"") == [] and post(http, b"\n\n") == []


def test_many_lines_in_chunks_that_cut_lines(http: httpx2.Client) -> None:
    count = effort(1500)
    body = b"".join(line(title=f"Crate {number}") for number in range(count))

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(body), 777):
            yield body[start : start + 777]

    answers = post(http, chunks())
    assert [answer["fields"]["title"] for answer in answers] == [f"Crate {number}" for number in range(count)]
    commits = [answer["commit"] for answer in answers]
    assert commits == sorted(set(commits))


def test_each_answer_comes_when_its_line_was_sent(server: Running, tokens: dict[str, str]) -> None:
    with Raw(server.port) as raw:
        raw.send(
            head(
                "/v1/commands", tokens["all"], "content-type: application/jsonl", "transfer-encoding: chunked"
            )
        )
        assert raw.status() == 200
        for number in range(3):
            sent = line(title=f"slow {number}")
            raw.send(b"%x\r\n%b\r\n" % (len(sent), sent))
            got = b""
            while b'"outcome"' not in got:
                got += raw.socket.recv(65_536)
            assert f"slow {number}".encode() in got
        raw.send(b"0\r\n\r\n")
        assert raw.socket.recv(65_536).endswith(b"0\r\n\r\n")


def test_a_client_that_reads_only_at_the_end(server: Running, tokens: dict[str, str]) -> None:
    body = b"".join(line() for _ in range(effort(2000)))
    with Raw(server.port) as raw:
        raw.send(
            head("/v1/commands", tokens["all"], JSONL, f"content-length: {len(body)}", "connection: close")
        )
        raw.send(body)
        assert raw.rest().count(b'"outcome":"Added"') == effort(2000)


def test_a_line_that_a_lost_connection_cut_off_is_not_run(
    server: Running, tokens: dict[str, str], http: httpx2.Client
) -> None:
    whole, cut = item(title="whole"), item(title="cut")
    text = [json.dumps({"command": "AddItem", "input": one}).encode() for one in (whole, cut)]
    with Raw(server.port) as raw:
        raw.send(
            head("/v1/commands", tokens["all"], "content-type: application/jsonl", "content-length: 100000")
        )
        raw.send(text[0] + b"\n" + text[1])
        assert raw.status() == 200
    time.sleep(0.3)
    for one, outcome in ((whole, "Shown"), (cut, "Missing")):
        place = {"depot": one["depot"], "item": one["item"]}
        assert http.post("/v1/commands/ShowItem", json={"input": place}).json()["outcome"] == outcome


def test_a_client_that_stops_sending_is_told_so(server: Running, tokens: dict[str, str]) -> None:
    with Raw(server.port) as raw:
        raw.send(
            head("/v1/commands", tokens["all"], "content-type: application/jsonl", "content-length: 100000")
        )
        raw.send(line())
        assert raw.status() == 200
        began = time.monotonic()
        assert b'"outcome":"Added"' in raw.received + raw.rest()
        assert time.monotonic() - began < 10


def test_a_line_that_is_too_long_costs_only_itself(http: httpx2.Client) -> None:
    long = b'{"command": "AddItem", "input": {"title": "' + b"x" * (17 << 20) + b'"}}\n'
    answers = post(http, [line(), long, line()])
    assert [answer.get("outcome") or answer["code"] for answer in answers] == ["Added", "too_large", "Added"]


@pytest.mark.parametrize(
    "headers, status, code",
    [
        ({"content-type": "application/json"}, 415, "unsupported_media_type"),
        (TYPE | {"content-encoding": "gzip"}, 415, "unsupported_media_type"),
        (TYPE | {"accept": "text/html"}, 406, "not_acceptable"),
        (TYPE | {"prefer": "wait=x"}, 400, "malformed"),
    ],
)
def test_what_is_refused_before_a_line_is_read(
    http: httpx2.Client, headers: dict[str, str], status: int, code: str
) -> None:
    problem(http.post("/v1/commands", content=line(), headers=headers), status, code)


def test_each_line_is_held_to_the_role(as_: Callable[[str], httpx2.Client]) -> None:
    show = json.dumps({"command": "ShowItem", "input": {"depot": fresh(), "item": fresh()}}).encode() + b"\n"
    answers = post(as_("worker"), line() + show)
    assert [answer.get("outcome") or answer["code"] for answer in answers] == ["denied", "Missing"]


def test_integers_as_strings(http: httpx2.Client) -> None:
    assert post(http, line(), prefer="integers=string")[0]["fields"]["fence"] == "0"


def test_the_server_keeps_nothing_of_what_was_answered(server: Running, http: httpx2.Client) -> None:
    post(http, b"".join(line() for _ in range(50)))
    text = http.get("/metrics").text
    held = next(one for one in text.splitlines() if one.startswith("treadle_http_held_bytes"))
    assert float(held.split()[1]) == 0
