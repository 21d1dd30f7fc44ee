"""Many threads and several processes on one database: one winner each time, and one order for everything."""

from __future__ import annotations

import threading
import uuid
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support import postgres, work
from tests.support.effort import effort
from tests.support.engines import ORGANIZATION, SOURCE, claim, create, work_id
from tests.support.processes import context, start

THREADS = 16
PROCESSES = 4


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that several processes may open."""
    return str(tmp_path / "work.db") if request.param == "sqlite" else postgres.fresh_url()


def prepared(path: str, items: int) -> str:
    with treadle.open(path) as db:
        db.deploy(SOURCE)
        answers = db.run_many([create(number) for number in range(items)], principal="tests")
        assert all(answer.ok for answer in answers)
    return path


def test_sixteen_threads_claim_one_row_and_one_wins(place: str) -> None:
    rounds = effort(200)
    path = prepared(place, rounds)
    barrier = threading.Barrier(THREADS)
    outcomes: list[Counter[str]] = [Counter() for _ in range(rounds)]
    tokens: list[int] = []
    lock = threading.Lock()

    def racer(db: treadle.Database, owner: uuid.UUID) -> None:
        for number in range(rounds):
            barrier.wait(60)
            receipt = db.run(*claim(number, key=f"{number}-{owner}", owner=owner), principal="tests")
            with lock:
                outcomes[number][receipt.outcome] += 1
                if receipt.ok:
                    tokens.append(receipt.fields["work"]["lease_fence"])

    with treadle.open(path) as db:
        threads = [threading.Thread(target=racer, args=(db, uuid.UUID(int=n + 1))) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
        assert outcomes == [Counter({"Claimed": 1, "StaleRevision": THREADS - 1})] * rounds
        assert tokens == [1] * rounds
        assert db.verify().ok


def test_four_processes_claim_one_row_and_one_wins(place: str) -> None:
    rounds = effort(200)
    path = prepared(place, rounds)
    barrier = context().Barrier(PROCESSES)
    pipes, processes = [], []
    for number in range(PROCESSES):
        reader, writer = context().Pipe(duplex=False)
        pipes.append(reader)
        processes.append(
            start(work.race, path, barrier, writer, uuid.UUID(int=number + 1), list(range(rounds)))
        )
    answers: list[list[tuple[str, int]]] = [pipe.recv() for pipe in pipes]
    for process in processes:
        process.join(30)
    for each in zip(*answers, strict=True):
        assert Counter(each) == Counter({("Claimed", 1): 1, ("StaleRevision", 0): PROCESSES - 1})
    with treadle.open(path) as db:
        assert db.verify().ok


def test_a_random_history_of_processes_is_linear_in_each_row(place: str) -> None:
    items = 3
    path = prepared(place, items)
    pipes, processes = [], []
    for seed in range(PROCESSES):
        reader, writer = context().Pipe(duplex=False)
        pipes.append(reader)
        processes.append(start(work.contend, path, writer, seed, effort(100), items))
    history: list[Any] = [event for pipe in pipes for event in pipe.recv()]
    for process in processes:
        process.join(30)
    revisions: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, _, _, revision, commit in history:
        if revision is not None:
            revisions[number].append((commit, revision))
    commits = [commit for *_, commit in history]
    assert len(set(commits)) == len(commits), "two commands share a commit"
    with treadle.open(path) as db:
        for number, changes in revisions.items():
            in_order = [revision for _, revision in sorted(changes)]
            assert in_order == list(range(2, 2 + len(in_order))), (
                f"row {number} skipped or repeated a revision"
            )
            row = db.row("WorkItem", (ORGANIZATION, work_id(number)))
            assert row is not None
            assert row.revision == in_order[-1]
        assert db.verify().ok
