"""Workers over HTTP when things go wrong: processes die, answers are lost, the server goes and comes back."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support import turns
from tests.support.effort import effort
from tests.support.jobs import EVENTS, FULL, QUERIES, SHOP, SOURCE, WORKER_ROLE, deploy, outcomes, queue
from tests.support.jobs import states as states_of
from tests.support.processes import start
from tests.support.proxy import Fate, proxied
from tests.support.server import Running, serving
from treadle.errors import Closed, Denied
from treadle.workers import Turn, Worker

BOUNDARIES = ("selected", "claimed", "started", "handled", "finished", "released", "acknowledged")
QUICK: dict[str, Any] = {**FULL, "name": "w", "lease": 5}
PROGRAM = """
import os, pathlib, signal
import treadle

@treadle.worker(
    query="OpenJobs", parameters={"shop": "Ulm"}, claim="Claim", finish="Finish", dead_letter="Bury",
    lease=5, poll=0.1, concurrency=2,
)
def work(job, turn):
    if job["number"] == 7 and turn.tries == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"result": f"by {os.getpid()}"}
"""


class Shop:
    """A database with jobs, a token for its workers, and the server before it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with treadle.open(path) as db:
            deploy(db, [WORKER_ROLE])
            made = db.tokens.create("job-service", role="worker")
        self.token, self.token_id = made.text, made.token.id

    def open(self) -> treadle.Database:
        return treadle.open(self.path, create=False)

    def queue(self, *numbers: int) -> None:
        with self.open() as db:
            queue(db, numbers)

    def done_once(self, *numbers: int) -> None:
        with self.open() as db:
            assert states_of(db, numbers) == {"Done": len(numbers)}
            rows = [db.row("Job", (SHOP, number)) for number in numbers]
            assert {row.fields["runs"] for row in rows if row is not None} == {1}
            assert outcomes(db, "Finish")["Finished"] == len(numbers)
            assert db.verify().ok


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "jobs.db")


@pytest.fixture
def server(shop: Shop) -> Iterator[Running]:
    with serving(shop.path) as running:
        yield running


def running(worker: Worker, on: Any) -> Callable[[], None]:
    """A worker in a thread; call what is returned to stop it and to hear what it ended in."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            worker.run(on)
        except treadle.TreadleError as error:
            failed.append(error)

    thread = threading.Thread(target=work, name="worker")
    thread.start()

    def end() -> None:
        worker.stop()
        thread.join(60)
        assert not thread.is_alive()
        if failed:
            raise failed[0]

    return end


def until(condition: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.05)


def test_processes_of_which_one_is_killed_in_a_handler(shop: Shop, server: Running, tmp_path: Path) -> None:
    numbers = range(20)
    shop.queue(*numbers)
    (tmp_path / "fleet.py").write_text(PROGRAM)
    (tmp_path / "token").write_text(shop.token + "\n")
    words = [sys.executable, "-m", "treadle.cli", "worker", "fleet", "--url", server.address]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TREADLE_")}
    environment = kept | {"TREADLE_TOKEN_FILE": str(tmp_path / "token")}
    processes = [
        subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    with shop.open() as db:
        until(lambda: outcomes(db, "Finish")["Finished"] == len(numbers))
        # The killed process may have been about to release another row, which is done all the same.
        until(lambda: outcomes(db, "Release")["Released"] >= len(numbers) - 1)
    until(lambda: any(one.poll() is not None for one in processes))
    killed, other = sorted(processes, key=lambda one: one.poll() is None)
    assert killed.returncode == -signal.SIGKILL and other.poll() is None
    other.send_signal(signal.SIGTERM)
    _, said = other.communicate(timeout=30)
    killed.communicate()
    assert other.returncode == 0 and "work ended: " in said
    assert shop.token not in said
    shop.done_once(*numbers)
    with shop.open() as db:
        row = db.row("Job", (SHOP, 7))
        assert row is not None and row.fields["tries"] == 2 and row.fields["result"] == f"by {other.pid}"
        finished = [one for one in db.log() if one.name == "Finish"]
    assert {one.principal for one in finished} == {"job-service"}
    assert 1 <= len({one.instance for one in finished}) <= 2


def test_a_process_dies_at_each_boundary_of_a_turn(shop: Shop, server: Running) -> None:
    """Each in a shop of its own, all at once; who comes after them does what was not done, and no more."""
    with shop.open() as db:
        for boundary in BOUNDARIES:
            queue(db, [1], shop=boundary)
    arguments = [(server.address, shop.token, boundary, boundary) for boundary in BOUNDARIES]
    dying = [start(turns.die_over_http, *each) for each in arguments]
    for process in dying:
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
    handled: list[str] = []
    with treadle.connect(server.address, token=shop.token) as remote, shop.open() as db:
        ends = []
        for boundary in BOUNDARIES:
            options: dict[str, Any] = {**turns.QUERY, "parameters": {"shop": boundary}, "lease": 5}
            made = Worker(lambda row, turn: handled.append(row["shop"]), **options)
            ends.append(running(made, remote))

        def all_done() -> bool:
            return all(states_of(db, [1], each) == {"Done": 1} for each in BOUNDARIES)

        until(all_done)
        time.sleep(0.5)  # nothing more comes of it
        for end in ends:
            end()
        done = BOUNDARIES.index("finished")
        assert sorted(handled) == sorted(BOUNDARIES[:done]), "what was concluded is not handled again"
        for boundary in BOUNDARIES:
            row = db.row("Job", (boundary, 1))
            assert row is not None and row.fields["runs"] == 1
            if boundary in BOUNDARIES[done:]:
                assert row.fields["result"] == "by fence 1"
            else:
                assert row.fields["tries"] == (1 if boundary == "selected" else 2)
        assert outcomes(db, "Finish")["Finished"] == len(BOUNDARIES) and db.verify().ok


@pytest.mark.parametrize("options", [{}, {"event": True}], ids=["query", "stream"])
def test_answers_are_lost(shop: Shop, server: Running, options: dict[str, Any]) -> None:
    jobs = effort(8)
    shop.queue(*range(jobs))
    dice = random.Random(20261130)
    fates: list[Fate] = ["pass", "pass", "pass", "lose", "cut", "refuse"]
    handled: Counter[int] = Counter()
    how = {**EVENTS, "name": "w", "lookup": "ShowJob", "start": "Start", "lease": 5} if options else QUICK
    made = Worker(lambda row, turn: handled.update([row["number"]]), **how, concurrency=2)
    with proxied(server.address) as proxy, treadle.connect(proxy.url, token=shop.token) as remote:
        proxy.fates += [dice.choice(fates) for _ in range(jobs * 8)]
        end = running(made, remote)
        with shop.open() as db:
            until(lambda: states_of(db, range(jobs)) == {"Done": jobs}, 60)
        end()
    shop.done_once(*range(jobs))
    assert set(handled) == set(range(jobs))


def test_the_server_restarts_while_a_handler_runs(shop: Shop) -> None:
    shop.queue(0, 1)
    began, go_on = threading.Event(), threading.Event()

    def handler(row: Any, turn: Turn) -> None:
        began.set()
        assert go_on.wait(30)

    with serving(shop.path) as first:
        remote = treadle.connect(first.address, token=shop.token)
        made = Worker(handler, **{**QUICK, "lease": 60})
        end = running(made, remote)
        assert began.wait(30)
        port = first.port
    go_on.set()  # it finishes while nobody answers
    time.sleep(0.5)
    with remote, serving(shop.path, "--bind", f"127.0.0.1:{port}"), shop.open() as db:
        until(lambda: states_of(db, (0, 1)) == {"Done": 2})
        end()
    assert made.counters["lost"] == 0
    shop.done_once(0, 1)


def test_the_token_is_revoked_while_a_handler_runs(shop: Shop, server: Running) -> None:
    shop.queue(0, 1)
    began = threading.Event()
    told: list[bool] = []

    def handler(row: Any, turn: Turn) -> None:
        began.set()
        told.append(turn.lost.wait(4.5))  # before its lease has ended

    with treadle.connect(server.address, token=shop.token) as remote:
        made = Worker(handler, **QUICK)
        end = running(made, remote)
        assert began.wait(30)
        with shop.open() as db:
            db.tokens.revoke(shop.token_id)
        until(lambda: told)
        with pytest.raises(Denied, match="token") as caught:
            end()
    assert caught.value.code == "unauthenticated"
    assert told == [True] and made.counters["finished"] == 0
    with shop.open() as db:
        assert states_of(db, (0, 1)) == {"Running": 1, "Waiting": 1} and db.verify().ok


def test_the_client_is_closed_while_a_worker_runs(shop: Shop, server: Running) -> None:
    remote = treadle.connect(server.address, token=shop.token)
    made = Worker(lambda row, turn: None, **{**QUICK, "poll": 0.05})
    end = running(made, remote)
    until(lambda: made.counters["pages"])
    remote.close()
    until(lambda: not any(one.name == "worker" for one in threading.enumerate()))
    with pytest.raises(Closed):
        end()


def test_another_version_is_deployed_while_a_handler_runs(shop: Shop, server: Running) -> None:
    shop.queue(0, 1)
    began, go_on = threading.Event(), threading.Event()

    def handler(row: Any, turn: Turn) -> dict[str, str]:
        began.set()
        assert go_on.wait(30)
        return {"result": "done"}

    with treadle.connect(server.address, token=shop.token) as remote, shop.open() as db:
        made = Worker(handler, **{**QUICK, "lease": 60})
        end = running(made, remote)
        assert began.wait(30)
        second = SOURCE.replace("contract Jobs version 1", "contract Jobs version 2").replace(
            "    field tries: u64\n", "    field tries: u64\n    field note: optional<string<20>>\n"
        )
        db.deploy(second, queries=QUERIES, roles=[WORKER_ROLE])
        queue(db, [2])
        go_on.set()
        until(lambda: states_of(db, (0, 1, 2)) == {"Done": 3})
        end()
        versions = [entry.contract_version for entry in db.log() if entry.name == "Finish"]
    assert versions == [2, 2, 2], "whatever a turn began under, what it sends is judged by what is deployed"
    shop.done_once(0, 1, 2)


def test_leases_are_renewed_although_the_server_is_slow(shop: Shop, server: Running) -> None:
    """One renewal is never answered, the others take their time; two turns are renewed side by side."""
    shop.queue(0, 1)
    lost: list[bool] = []

    def handler(row: Any, turn: Turn) -> None:
        lost.append(turn.lost.wait(7))

    with proxied(server.address) as proxy, treadle.connect(proxy.url, token=shop.token) as remote:
        made = Worker(handler, **{**QUICK, "start": None}, concurrency=2)
        end = running(made, remote)
        until(lambda: made.counters["claims_won"] == 2)
        proxy.delay = 0.4
        proxy.fates[:] = ["stall"]
        with shop.open() as db:
            until(lambda: states_of(db, (0, 1)) == {"Done": 2})
        end()
    assert lost == [False, False]
    assert made.counters["renewed"] >= 2 and made.counters["lost"] == 0
    shop.done_once(0, 1)
