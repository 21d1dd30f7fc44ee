"""Workers over HTTP: the same turns, with a token that allows just their query and commands."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

import treadle
from tests.server.conftest import item, problem, run
from tests.support.engines import START
from tests.support.jobs import EVENTS, FULL, QUERIES, SHOP, SOURCE, WORKER_ROLE, queued
from tests.support.server import Running, client, serving
from treadle.access.roles import Role
from treadle.client.typed import Client
from treadle.client.working import Working
from treadle.errors import ConfigError, Denied, InvalidInput, UnknownName
from treadle.workers import Schedule, Turn, Worker

DESK = Role("desk", commands=("Queue", "Remind", "Nightly"))


class Shop:
    """A server over the contract of jobs, and what is asked of the database beside it."""

    def __init__(self, server: Running, path: Path, tokens: dict[str, str]) -> None:
        self.server = server
        self.path = path
        self.tokens = tokens

    def remote(self, role: str = "worker") -> Any:
        return treadle.connect(self.server.address, token=self.tokens[role], instance="test/1")

    def queue(self, *numbers: int) -> None:
        with self.remote("desk") as desk:
            answers = desk.run_many([("Queue", queued(number)) for number in numbers])
            assert all(answer.ok for answer in answers)

    def read(self, ask: Callable[[treadle.Database], Any]) -> Any:
        with treadle.open(self.path) as db:
            return ask(db)

    def states(self, *numbers: int) -> list[str]:
        def ask(db: treadle.Database) -> list[str]:
            rows = [db.row("Job", (SHOP, number)) for number in numbers]
            return [row.fields["state"] for row in rows if row is not None]

        found: list[str] = self.read(ask)
        return found


@pytest.fixture
def shop(folder: Path) -> Iterator[Shop]:
    path = folder / f"jobs-{uuid4()}.db"
    with treadle.open(path) as db:
        db.deploy(SOURCE, queries=QUERIES, roles=[WORKER_ROLE, DESK])
        tokens = {role: db.tokens.create(f"{role}-service", role=role).text for role in ("worker", "desk")}
    with serving(path) as server:
        yield Shop(server, path, tokens)
        assert shop_verifies(path)


def shop_verifies(path: Path) -> bool:
    with treadle.open(path) as db:
        return db.verify().ok


def work(shop: Shop, **options: Any) -> Worker:
    """A worker over HTTP until there is nothing to do."""
    done = options.pop("handler", lambda row, turn: {"result": f"job {row['number']}"})
    made = Worker(done, **{"name": "w", **FULL, **options})
    with shop.remote() as remote:
        made.run(remote, until_idle=True)
    return made


def test_a_query_is_worked_off(shop: Shop) -> None:
    shop.queue(*range(6))
    made = work(shop, concurrency=3)
    assert made.counters["finished"] == 6
    assert shop.states(*range(6)) == ["Done"] * 6
    row: Any = shop.read(lambda db: db.row("Job", (SHOP, 4)))
    assert row.fields["result"] == "job 4" and row.fields["owner"] is None

    def callers(db: treadle.Database) -> set[Any]:
        return {(one.principal, one.role, one.instance) for one in db.log() if one.name == "Finish"}

    assert shop.read(callers) == {("worker-service", "worker", "test/1")}


def test_a_stream_is_worked_off(shop: Shop) -> None:
    shop.queue(*range(3))
    with shop.remote("desk") as desk:
        body = {"key": "again", "shop": SHOP, "number": 0, "due_at": START}
        assert desk.run("Remind", body).ok
    made = Worker(lambda row, turn: None, name="w", lookup="ShowJob", due="due_at", **EVENTS)
    with shop.remote() as remote:
        for _ in range(3):
            made.run(remote, until_idle=True)
            threading.Event().wait(0.5)
    assert shop.states(0, 1, 2) == ["Done"] * 3
    assert made.counters["finished"] == 3
    status = shop.read(lambda db: db.streams().consumers()[0])
    assert (status.open, status.dead) == (0, 0)


def test_a_generated_client_stands_for_its_transport(shop: Shop) -> None:
    shop.queue(0, 1)
    made = Worker(lambda row, turn: None, name="w", **FULL)
    with shop.remote() as remote:
        made.run(Client(remote), until_idle=True)
    assert shop.states(0, 1) == ["Done"] * 2

    def again(db: treadle.Database) -> None:
        made.run(Client(db, principal="job-service"), until_idle=True)

    shop.read(again)
    with pytest.raises(InvalidInput, match="connect"):
        made.run(treadle.connect_async(shop.server.address))


def test_failures_and_dead_letters(shop: Shop) -> None:
    shop.queue(0, 1)

    def handler(row: Any, turn: Turn) -> None:
        if row["number"] == 0:
            raise ValueError("no paper")

    made = work(shop, handler=handler, attempts=2)
    assert shop.states(0, 1) == ["Dead", "Done"]
    assert made.counters["dead_letters"] == 1


def test_a_turn_runs_commands_once(shop: Shop) -> None:
    shop.queue(0)
    answers: list[Any] = []

    def handler(row: Any, turn: Turn) -> None:
        answers.append(turn.run("Start"))
        if len(answers) == 1:
            raise ValueError("once")

    work(shop, handler=handler, start=None)
    assert [answer.replayed for answer in answers] == [False, True]
    assert answers[0] == answers[1]


def test_a_concluded_attempt_is_recognised_after_a_deployment(shop: Shop) -> None:
    shop.queue(0)
    work(shop)

    def deploy(db: treadle.Database) -> None:
        second = SOURCE.replace("contract Jobs version 1", "contract Jobs version 2").replace(
            "    field tries: u64\n", "    field tries: u64\n    field note: optional<string<20>>\n"
        )
        db.deploy(second, queries=QUERIES, roles=[WORKER_ROLE, DESK])

    shop.read(deploy)
    with shop.remote() as remote:
        working = remote.working()
        query = working.named_query("OpenJobs")
        from treadle.workers.attempts import QUERY, Attempt, Due
        from treadle.workers.turn import look_up

        attempt = Attempt("w", QUERY, query.module_hash, "OpenJobs", Due(), (SHOP, 0))
        done, link = look_up(working, attempt, "Finish")
        assert done is not None and done.ok and done.replayed and link == 1
        assert done.outcome == "Finished"


def test_what_a_token_may_not(shop: Shop) -> None:
    shop.queue(0)
    with shop.remote("desk") as desk:
        for options in (FULL, {**FULL, "query": "ShowJob"}):
            with pytest.raises((UnknownName, ConfigError)):
                Worker(lambda row, turn: None, name="w", **options).check(desk)
        with pytest.raises(Denied):
            desk.working().recall("Finish", ["k"])
        names = [one.name for one in desk.working().contract().commands]
        assert names == ["Queue", "Remind", "Nightly"]
    with shop.remote() as remote:
        with pytest.raises(InvalidInput, match="lookup"):
            Worker(lambda row, turn: None, name="w", **EVENTS).run(remote, until_idle=True)
        with pytest.raises(UnknownName):
            remote.working().consumer("Nothing", "c", None)


def test_the_bones_show_no_rule(shop: Shop) -> None:
    with client(shop.server, shop.tokens["worker"]) as http:
        text = http.get("/v1/contract/skeleton").text
    assert '"Claim"' in text and '"Open"' not in text, "the name of a requirement"
    assert "Queue" not in http_names(text)
    assert '"set"' not in text and '"emit"' not in text


def http_names(text: str) -> set[str]:
    return {command["name"] for command in json.loads(text)["contract"]["commands"]}


def test_receipts_are_looked_up(http: httpx2.Client) -> None:
    given = item()
    receipt = run(http, "AddItem", given).json()
    path = "/v1/receipts/AddItem"
    found = http.post(path, json={"keys": [given["key"], "never"]}).json()["receipts"]
    assert found == [receipt | {"replayed": True, "ok": True}, None]
    problem(http.post(path, json={"keys": []}), 422, "invalid_input")
    problem(http.post(path, json={"keys": ["k"] * 65}), 422, "invalid_input")
    problem(http.post(path, json={"keys": [7]}), 422, "invalid_input")
    problem(http.post(path, json={"key": "k"}), 422, "invalid_input")
    problem(http.post("/v1/receipts/AddItme", json={"keys": ["k"]}), 403, "denied")


def test_receipts_of_a_command_that_is_not_allowed(as_: Callable[[str], httpx2.Client]) -> None:
    problem(as_("worker").post("/v1/receipts/AddItem", json={"keys": ["k"]}), 403, "denied")


def test_a_schedule_fires_over_http_and_once(shop: Shop) -> None:
    began = datetime.now(UTC) - timedelta(hours=2, minutes=30)  # clock: the server's own
    for _ in range(2):
        schedule = Schedule(
            "hourly",
            command="Nightly",
            every=timedelta(hours=1),
            input=lambda due: {"shop": SHOP, "number": int(due.timestamp())},
            start=began,
            missed="all",
        )
        with shop.remote("desk") as desk:
            schedule.run(desk, until_idle=True)
    assert shop.read(lambda db: sum(entry.name == "Nightly" for entry in db.log())) == 3


def test_the_time_is_the_databases(shop: Shop) -> None:
    with shop.remote() as remote:
        working: Working = remote.working()
        first = working.now()
        assert first <= working.now() < first + 5_000_000
        assert working.fresh_id() != working.fresh_id()
        assert working.recall("Finish", []) == []
        assert working.generation() == working.generation()
