"""Worker processes are killed at random places, again and again: in the end every job was concluded once."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import treadle
from tests.support import turns
from tests.support.effort import effort
from tests.support.jobs import deploy, job, outcomes, queue, service, states
from tests.support.processes import context, start
from treadle.testing import ManualClock
from treadle.workers import Worker

ROUNDS = 12
JOBS = 150


def test_kill_dash_nine_while_workers_work(tmp_path: Path) -> None:
    path = str(tmp_path / "jobs.db")
    dice = random.Random(20261130)
    jobs = effort(JOBS)
    with treadle.open(path) as db:
        deploy(db)
        queue(db, range(jobs))
    handled: Counter[int] = Counter()
    for _ in range(effort(ROUNDS)):
        pipes, processes = [], []
        for _ in range(2):
            reader, writer = context().Pipe(duplex=False)
            processes.append(start(turns.work_for_ever, path, writer))
            writer.close()
            pipes.append(reader)
        assert all(pipe.recv() == "ready" for pipe in pipes)
        time.sleep(0.02 + dice.random() * 0.08)
        for process in processes:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
        for pipe, process in zip(pipes, processes, strict=True):
            process.join(30)
            with suppress(EOFError):
                while True:
                    handled[pipe.recv()] += 1
    assert handled, "no process got as far as one job"
    finish(path, handled, jobs)


def finish(path: str, handled: Counter[int], jobs: int) -> None:
    """What is left is done at a time at which every lease that was left has ended."""
    with treadle.open(path, create=False) as db:
        assert db.verify().ok
        last = next(db.log(db.head[0])).time
    now = last + timedelta(seconds=30)
    with treadle.open(path, create=False, clock=ManualClock(now)) as db:
        worker = Worker(lambda row, turn: handled.update([row["number"]]), **turns.QUERY, concurrency=8)
        worker.run(service(db), until_idle=True)
        assert states(db, range(jobs)) == {"Done": jobs}
        assert outcomes(db, "Finish")["Finished"] == jobs
        for number in range(jobs):
            row = job(db, number)
            assert row["runs"] == 1 and (row["owner"] is None or row["held_until"] <= now)
            assert 1 <= handled[number] <= row["tries"], "handled at most once for each claim"
        assert db.verify().ok
