"""Streams over HTTP: pull, settle, give back, dead letters, and tails as Server-Sent Events."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

import treadle
from tests.server.conftest import item, problem, run
from tests.support.server import client, depot, serving

As = Callable[[str], httpx2.Client]


@pytest.fixture
def where() -> str:
    """A depot of the test's own: a partition without events."""
    return str(uuid4())


def add(http: httpx2.Client, where: str, letter: str) -> None:
    """An item of a depot, whose id is a letter."""
    added = run(http, "AddItem", item(depot=where, item=str(UUID(int=ord(letter)))))
    assert added.json()["outcome"] == "Added"


def letter_of(event: dict[str, Any]) -> str:
    return chr(UUID(event["fields"]["item"]).int)


class Mailer:
    """A consumer of one depot's items."""

    def __init__(self, http: httpx2.Client, where: str, name: str = "mailer") -> None:
        self.http = http
        self.partition = {"depot": where}
        self.path = f"/v1/streams/ItemAdded/{name}"

    def call(self, verb: str, **body: Any) -> httpx2.Response:
        return self.http.post(f"{self.path}:{verb}", json={"partition": self.partition} | body)

    def pull(self, **body: Any) -> list[dict[str, Any]]:
        answer = self.call("pull", **body)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["deliveries"]
        return found


def letters_of(deliveries: list[dict[str, Any]]) -> list[str]:
    return [letter_of(one) for one in deliveries]


def tokens(deliveries: list[dict[str, Any]]) -> list[str]:
    return [one["token"] for one in deliveries]


def test_pull_and_settle(http: httpx2.Client, where: str) -> None:
    for letter in "abc":
        add(http, where, letter)
    mailer = Mailer(http, where)
    first = mailer.pull(limit=2)
    assert letters_of(first) == ["a", "b"]
    assert first[0]["partition"] == {"depot": where} and first[0]["attempt"] == 1
    assert mailer.call("ack", tokens=tokens(first)[:1]).json() == {"answers": ["done"]}
    assert mailer.call("nack", tokens=tokens(first)[1:], delay=0).json() == {"answers": ["done"]}
    rest = mailer.pull()
    assert letters_of(rest) == ["b", "c"] and rest[0]["attempt"] == 2
    assert mailer.call("extend", tokens=tokens(rest), lease=900).json() == {"answers": ["done", "done"]}
    settled = mailer.call("ack", tokens=[first[1]["token"], *tokens(rest), first[0]["token"]]).json()
    assert settled == {"answers": ["stale", "done", "done", "already"]}
    assert mailer.pull() == []


def test_integers_as_strings(http: httpx2.Client, where: str) -> None:
    add(http, where, "a")
    path = "/v1/streams/ItemAdded/strings:pull"
    answer = http.post(path, json={"partition": [where]}, headers={"prefer": "integers=string"})
    assert answer.headers["preference-applied"] == "integers=string"
    assert isinstance(answer.json()["deliveries"][0]["commit"], str)


def test_a_long_poll(http: httpx2.Client, where: str) -> None:
    mailer = Mailer(http, where)
    assert mailer.pull() == []
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(mailer.pull(wait=20)))
    thread.start()
    time.sleep(0.1)
    add(http, where, "z")
    thread.join(15)
    assert letters_of(found) == ["z"]


def test_dead_letters(http: httpx2.Client, where: str) -> None:
    for letter in "ab":
        add(http, where, letter)
    mailer = Mailer(http, where)
    for _ in range(10):
        mailer.call("nack", tokens=tokens(mailer.pull()), reason="no room")
    query = {"partition": json.dumps([where])}
    letters = http.get(f"{mailer.path}/dead-letters", params=query).json()["dead_letters"]
    assert [(letter_of(one), one["attempts"], one["reason"]) for one in letters] == [
        ("a", 10, "no room"),
        ("b", 10, "no room"),
    ]
    ids = [one["id"] for one in letters]
    after = http.get(f"{mailer.path}/dead-letters", params=query | {"after": ids[0], "limit": "1"}).json()
    assert [one["id"] for one in after["dead_letters"]] == ids[1:]
    assert mailer.call("replay", dry_run=True).json() == {"events": ids, "dry_run": True}
    assert mailer.call("replay", ids=ids[:1]).json() == {"events": ids[:1], "dry_run": False}
    assert letters_of(mailer.pull()) == ["a"]
    assert mailer.call("drop").json() == {"events": ids[1:], "dry_run": False}
    listed = http.get("/v1/streams").json()["consumers"]
    mine = [one for one in listed if one["partition"] == [where]]
    assert [(one["consumer"], one["open"], one["dead"]) for one in mine] == [("mailer", 1, 0)]


def test_who_may(as_: As, http: httpx2.Client, where: str) -> None:
    add(http, where, "a")
    for role in ("worker", "nothing", "auditor"):
        problem(Mailer(as_(role), where).call("pull"), 403, "denied")
        problem(as_(role).get("/v1/streams/ItemAdded/tail"), 403, "denied")
        problem(Mailer(as_(role), where).call("drop"), 403, "denied")
        problem(as_(role).get("/v1/streams/ItemAdded/mailer/dead-letters"), 403, "denied")
        assert as_(role).get("/v1/streams").json() == {"consumers": []}
    problem(Mailer(as_("worker"), where).call("ack", tokens=["x"]), 403, "denied")


@pytest.mark.parametrize(
    "verb, body, status, code",
    [
        ("pull", {"limit": 65}, 422, "invalid_input"),
        ("pull", {"limit": "1"}, 422, "invalid_input"),
        ("pull", {"wait": 31}, 422, "invalid_input"),
        ("pull", {"strict": 1}, 422, "invalid_input"),
        ("pull", {"start": "yesterday"}, 422, "invalid_input"),
        ("pull", {"partition": {"shop": 1}}, 422, "invalid_input"),
        ("pull", {"limits": 1}, 422, "invalid_input"),
        ("ack", {}, 422, "invalid_input"),
        ("ack", {"tokens": []}, 422, "invalid_input"),
        ("ack", {"tokens": ["nonsense"]}, 422, "invalid_input"),
        ("nack", {"tokens": ["nonsense"], "delay": 9999}, 422, "invalid_input"),
        ("drop", {"ids": "1:0"}, 422, "invalid_input"),
        ("drop", {"dry_run": "yes"}, 422, "invalid_input"),
    ],
)
def test_what_is_refused(
    http: httpx2.Client, where: str, verb: str, body: Any, status: int, code: str
) -> None:
    add(http, where, "a")
    mailer = Mailer(http, where)
    mailer.pull()
    problem(mailer.call(verb, **body), status, code)


def test_names_that_do_not_exist(http: httpx2.Client, where: str) -> None:
    problem(http.post("/v1/streams/ItemAdded/a b:pull", json={}), 422, "invalid_input")
    problem(Mailer(http, where, "nobody").call("drop"), 404, "unknown_name")
    problem(http.get("/v1/streams/ItemAdded/tail?after=x"), 422, "cursor_invalid")
    problem(http.get("/v1/streams/ItemAdded/tail?partition=x"), 400, "malformed")
    problem(
        http.get("/v1/streams/ItemAdded/tail", headers={"accept": "application/json"}), 406, "not_acceptable"
    )


# Tails.


@contextmanager
def following(http: httpx2.Client, where: str, **options: Any) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of a tail, each with its id and its data."""
    query = {"partition": json.dumps({"depot": where})} | options.pop("params", {})
    with http.stream("GET", "/v1/streams/ItemAdded/tail", params=query, **options) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")

        def events() -> Iterator[dict[str, Any]]:
            found: dict[str, Any] = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if name == "data":
                    found["data"] = json.loads(value)
                elif name in ("id", "event"):
                    found[name] = value
                elif not line and "data" in found:
                    yield found
                    found = {}

        yield events()


def test_a_tail_follows_and_resumes(http: httpx2.Client, where: str) -> None:
    for letter in "ab":
        add(http, where, letter)
    with following(http, where) as events:
        first, second = next(events), next(events)
        assert [letter_of(one["data"]) for one in (first, second)] == ["a", "b"]
        assert first["event"] == "ItemAdded" and first["id"] == first["data"]["cursor"]
        add(http, where, "c")
        assert letter_of(next(events)["data"]) == "c"
    with following(http, where, headers={"last-event-id": first["id"]}) as events:
        assert next(events)["id"] == second["id"]
    with following(http, where, params={"after": second["id"]}) as events:
        assert letter_of(next(events)["data"]) == "c"


def test_a_tail_ends_when_its_right_does(folder: Path) -> None:
    path = folder / f"tail-{uuid4()}.db"
    tokens = depot(path)
    with serving(path) as server, client(server, tokens["all"]) as http:
        where = str(UUID(int=7))
        add(http, where, "a")
        with following(http, where) as events:
            assert next(events)["event"] == "ItemAdded"
            with treadle.open(path) as db:
                for one in db.tokens.list():
                    db.tokens.revoke(one.id)
            last = next(events)
            assert (last["event"], last["data"]["code"]) == ("problem", "unauthenticated")
            assert "id" not in last
            assert next(events, None) is None


def test_a_server_that_stops_lets_its_tails_go(folder: Path) -> None:
    path = folder / f"stop-{uuid4()}.db"
    tokens = depot(path)
    with serving(path) as server, client(server, tokens["all"]) as http:
        where = str(UUID(int=7))
        add(http, where, "a")
        with following(http, where) as events:
            next(events)
            begin = time.monotonic()
            thread = threading.Thread(target=server.stop)
            thread.start()
            assert next(events, None) is None
            thread.join(20)
            assert time.monotonic() - begin < 10
            assert server.process.returncode == 0


def test_a_client_that_goes_away_leaves_nothing_behind(http: httpx2.Client, where: str) -> None:
    add(http, where, "a")
    for _ in range(3):
        with following(http, where) as events:
            next(events)
    until = time.monotonic() + 10
    while "treadle_http_requests_in_flight 1" not in http.get("/metrics").text:
        assert time.monotonic() < until, "a tail goes on though nobody listens"
        time.sleep(0.05)
