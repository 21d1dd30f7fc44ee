"""A real process is killed in the middle of its batches: nothing acknowledged is lost, nothing is torn."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import treadle
from tests.support import work
from tests.support.effort import effort
from tests.support.engines import ORGANIZATION, SOURCE, create, work_id
from tests.support.processes import context, start

ROUNDS = 200


def test_kill_dash_nine_while_batches_commit(tmp_path: Path) -> None:
    path = str(tmp_path / "work.db")
    dice = random.Random(20261130)
    with treadle.open(path) as db:
        db.deploy(SOURCE)
    acknowledged: dict[int, int] = {}
    next_number = 0
    for number in range(effort(ROUNDS)):
        reader, writer = context().Pipe(duplex=False)
        process = start(work.create_for_ever, path, writer, next_number, dice.choice((1, 3, 40)))
        writer.close()
        assert reader.recv() == "ready"
        if number % 2:
            reader.poll(20)  # every other process gets as far as a commit, however busy the machine is
        time.sleep(dice.random() * 0.02)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(30)
        try:
            while True:
                item, commit = reader.recv()
                acknowledged[item] = commit
        except EOFError:
            pass
        next_number = max(acknowledged, default=-1) + 200  # clear of what may have been under way
    check(path, acknowledged)


def check(path: str, acknowledged: dict[int, int]) -> None:
    assert acknowledged, "no process got as far as one commit"
    with treadle.open(path, create=False) as db:
        report = db.verify()
        assert report.ok, report.problems
        created = {}
        for entry in db.log():
            if entry.name == "CreateWork":
                assert entry.success
                created[entry.input["work_id"]] = entry.number
        for number, commit in acknowledged.items():
            assert created[work_id(number)] == commit
            receipt = db.run(*create(number), principal="tests")
            assert receipt.replayed
            assert receipt.commit == commit
        for item, commit in created.items():
            row = db.row("WorkItem", (ORGANIZATION, item))
            assert row is not None
            assert (row.revision, row.commit) == (1, commit)
