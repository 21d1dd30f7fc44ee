"""Many threads, several processes and many HTTP clients advance one run: exactly one wins each revision."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import treadle
from tests.support.advancing import RELEASE, advance, race, signed
from tests.support.effort import effort
from tests.support.graphs import ENFORCED, advance_text, insert, loop, state_of
from tests.support.processes import context, start
from tests.support.sparql_server import graph_server

THREADS, PROCESSES = 16, 4


def prepared(folder: Path) -> str:
    path = str(folder / "graph.db")
    with treadle.open(path, graph=ENFORCED) as db:
        db.graph.update(insert(RELEASE.setup()), principal="tests")
    return path


def race_threads(count: int, rounds: int, act: Callable[[int, int], str]) -> list[Counter[str]]:
    barrier = threading.Barrier(count)
    outcomes: list[Counter[str]] = [Counter() for _ in range(rounds)]
    lock = threading.Lock()

    def racer(number: int) -> None:
        for revision in range(rounds):
            barrier.wait(60)
            outcome = act(number, revision)
            with lock:
                outcomes[revision][outcome] += 1
            barrier.wait(60)

    threads = [threading.Thread(target=racer, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    return outcomes


def check(db: treadle.Database, rounds: int) -> None:
    assert state_of(db) == ("Review" if rounds % 2 else "Draft", str(rounds))
    report = db.verify()
    assert report.ok, report.problems


def test_sixteen_threads_advance_one_run_and_one_wins(tmp_path: Path) -> None:
    rounds = effort(20)
    with treadle.open(prepared(tmp_path)) as db:
        outcomes = race_threads(THREADS, rounds, lambda number, revision: advance(db, number, revision))
        assert outcomes == [Counter({"won": 1, "lost": THREADS - 1})] * rounds
        check(db, rounds)


def test_four_processes_advance_one_run_and_one_wins(tmp_path: Path) -> None:
    rounds = effort(20)
    path = prepared(tmp_path)
    barrier = context().Barrier(PROCESSES)
    pipes = []
    processes = []
    for number in range(PROCESSES):
        ours, theirs = context().Pipe()
        processes.append(start(race, path, barrier, theirs, number, rounds))
        pipes.append(ours)
    answers = [pipe.recv() for pipe in pipes]
    for process in processes:
        process.join(60)
    for each in zip(*answers, strict=True):
        assert Counter(each) == Counter({"won": 1, "lost": PROCESSES - 1})
    with treadle.open(path) as db:
        check(db, rounds)


def test_eight_clients_advance_one_run_over_http_and_one_wins(tmp_path: Path) -> None:
    rounds = effort(8)
    with graph_server(tmp_path, RELEASE.setup(), enrolled=True) as server:

        def act(number: int, revision: int) -> str:
            answer = server.update(signed(number, revision), "agent")
            assert answer.status_code == 200, answer.text
            return {12: "won", 0: "lost"}[answer.json()["asserted"]]

        assert race_threads(8, rounds, act) == [Counter({"won": 1, "lost": 7})] * rounds
        path = server.path
    with treadle.open(path) as db:
        check(db, rounds)


def test_a_stale_advance_after_a_cycle_and_a_replay(tmp_path: Path) -> None:
    """The run is in the same state again, at another revision: the old signed bytes change nothing."""
    with treadle.open(prepared(tmp_path)) as db:
        first = advance_text(loop(RELEASE, 0))
        assert db.graph.update(first, principal="tests").asserted == 12
        assert db.graph.update(first, principal="tests").tx is None
        db.graph.update(advance_text(loop(RELEASE, 1)), principal="tests")
        assert state_of(db) == ("Draft", "2")
        assert db.graph.update(first, principal="tests").tx is None
        assert state_of(db) == ("Draft", "2")
        check(db, 2)
