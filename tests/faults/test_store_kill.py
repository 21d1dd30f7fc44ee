"""A process that writes to a store is killed at random: what it acknowledged is there, whole and once."""

from __future__ import annotations

import os
import random
import signal
import time

from tests.support.batches import Answers, check_batches, create_tables, run_batches, write_for_ever
from tests.support.effort import effort
from tests.support.processes import context, start
from treadle.store.sqlite import open_database

ROUNDS = 15


def test_kill_dash_nine_while_batches_and_checkpoints_go_on(tmp_path):
    path = str(tmp_path / "work.db")
    dice = random.Random(7)
    store = open_database(path)
    create_tables(store)
    store.close()
    acknowledged: dict[int, int] = {}
    for turn in range(effort(ROUNDS)):
        reader, writer = context().Pipe(duplex=False)
        process = start(write_for_ever, path, writer, 1_000 * turn)
        writer.close()
        assert reader.recv() == "ready"
        time.sleep(dice.random() * 0.06)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(30)
        last = None
        try:
            while True:
                last = reader.recv()
                acknowledged[last] = turn
        except EOFError:
            pass
        first = 1_000 * turn if last is None else last + 1
        store = open_database(path)
        answers = Answers(dict.fromkeys(acknowledged, "acknowledged"))
        answers.of[first] = "unknown"
        check_batches(store, answers)
        run_batches(store, [first], answers)
        check_batches(store, answers)
        assert store._writer.pragma("integrity_check") == "ok"
        acknowledged[first] = turn
        store.close()
    assert len(acknowledged) > 2 * effort(ROUNDS)
