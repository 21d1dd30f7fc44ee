"""Too much at once, and a store that is held up: refused or answered late, never lost."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import treadle
from tests.server.conftest import item
from tests.support.server import DEPOT_SOURCE
from treadle import limits
from treadle.engine.coordinator import Coordinator
from treadle.server.app import create_app
from treadle.server.options import Options

TOKEN = "t" * 43
LINES = {"content-type": "application/jsonl"}
Talk = Callable[[httpx2.AsyncClient], Awaitable[Any]]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[treadle.Database]:
    with treadle.open(tmp_path / "depot.db") as opened:
        opened.deploy(DEPOT_SOURCE)
        yield opened


def talk(db: treadle.Database, said: Talk, **options: Any) -> Any:
    """Let a client of the application say something."""

    async def all_() -> Any:
        app: Any = create_app(db, Options(throwaway=TOKEN, **options))
        headers = {"authorization": f"Bearer {TOKEN}"}
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers, timeout=30
        ) as http:
            answered = await said(http)
        await app.service.close()
        assert app.service._held == app.service.in_flight == 0
        return answered

    return asyncio.run(all_())


@contextmanager
def held_up(db: treadle.Database, seconds: float) -> Iterator[None]:
    """Another writer has the database for a while."""
    taken = threading.Event()

    def hold() -> None:
        with db._engine.store.write():
            taken.set()
            threading.Event().wait(seconds)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(10)
    try:
        yield
    finally:
        thread.join()


async def add(http: httpx2.AsyncClient, given: dict[str, Any]) -> httpx2.Response:
    return await http.post("/v1/commands/AddItem", json={"input": given})


def test_a_full_queue_is_told_so_and_what_was_queued_is_answered(db: treadle.Database) -> None:
    engine = db._engine
    engine.coordinator = Coordinator(engine.run_batch, queue_jobs=4)

    async def many(http: httpx2.AsyncClient) -> list[httpx2.Response]:
        return list(await asyncio.gather(*(add(http, item()) for _ in range(24))))

    with held_up(db, 0.5):
        answers = talk(db, many)
    statuses = {answer.status_code for answer in answers}
    assert statuses == {200, 503}
    for answer in answers:
        if answer.status_code == 503:
            assert answer.json()["code"] == "over_capacity" and answer.headers["retry-after"] == "1"
        else:
            assert answer.json()["outcome"] == "Added"


def test_a_stream_of_lines_waits_for_room_in_the_queue(db: treadle.Database) -> None:
    engine = db._engine
    engine.coordinator = Coordinator(engine.run_batch, queue_jobs=300)
    body = b"".join(json.dumps({"command": "AddItem", "input": item()}).encode() + b"\n" for _ in range(900))

    async def streams(http: httpx2.AsyncClient) -> list[httpx2.Response]:
        sent = (http.post("/v1/commands", content=part, headers=LINES) for part in (body, body))
        return list(await asyncio.gather(*sent))

    with held_up(db, 0.5):
        first, second = talk(db, streams)
    for answer in (first, second):
        outcomes = [json.loads(line).get("outcome") for line in answer.text.splitlines()]
        assert outcomes == ["Added"] * 900


def test_an_answer_that_takes_too_long_is_busy_or_unknown_and_the_key_tells(db: treadle.Database) -> None:
    given = [item() for _ in range(6)]

    async def many(http: httpx2.AsyncClient) -> list[httpx2.Response]:
        return list(await asyncio.gather(*(add(http, one) for one in given)))

    with held_up(db, 2):
        late = talk(db, many, request_seconds=0.5)
    assert {answer.json()["code"] for answer in late} <= {"busy", "outcome_unknown"}
    assert {answer.status_code for answer in late} <= {503, 504}
    again = talk(db, many)
    for before, after in zip(late, again, strict=True):
        assert after.json()["outcome"] == "Added"
        if before.json()["code"] == "busy":
            assert after.json()["replayed"] is False  # it said that nothing happened


def test_more_requests_at_once_than_allowed(db: treadle.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_REQUESTS", 3)

    async def many(http: httpx2.AsyncClient) -> list[httpx2.Response]:
        return list(await asyncio.gather(*(add(http, item()) for _ in range(10))))

    with held_up(db, 0.3):
        answers = talk(db, many)
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [503] * 7


def test_a_store_that_fails_is_a_problem_and_the_next_request_is_not(
    db: treadle.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = db._engine
    given, real = item(), engine.store.write

    def broken(timeout: float | None = None) -> Any:
        raise treadle.StoreError("there is no room", code="disk_full")

    async def one(http: httpx2.AsyncClient) -> httpx2.Response:
        return await add(http, given)

    monkeypatch.setattr(engine.store, "write", broken)
    answer = talk(db, one)
    assert (answer.status_code, answer.json()["code"]) == (503, "disk_full")
    assert answer.json()["recovery"] == "contact_operator" and "retry-after" not in answer.headers
    monkeypatch.setattr(engine.store, "write", real)
    assert talk(db, one).json()["replayed"] is False


def test_an_error_of_ours_tells_nothing(db: treadle.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*unused: Any, **more: Any) -> Any:
        raise RuntimeError("SECRET-VALUE")

    monkeypatch.setattr("treadle.server.history.entries", broken)

    async def log(http: httpx2.AsyncClient) -> httpx2.Response:
        return await http.get("/v1/log")

    answer = talk(db, log)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert (
        answer.headers["content-type"] == "application/problem+json" and len(answer.json()["trace_id"]) == 32
    )
    assert "SECRET" not in answer.text
