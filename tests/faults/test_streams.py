"""Consumers on a failing disk, and killed ones: nothing settled comes again, nothing is lost."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.faults.vfs import KINDS, Fault, FaultyDisk, Keep, Kind, every_fault
from tests.support import mail
from tests.support.effort import effort
from tests.support.engines import START
from tests.support.processes import context, start
from tests.support.streams import SOURCE, numbers, post, seconds, send
from treadle.errors import OutcomeUnknown, TreadleError
from treadle.store.sqlite import open_database
from treadle.testing import ManualClock

EVENTS = 6


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with six events, of which a consumer holds two."""
    path = tmp_path_factory.mktemp("streams") / "template.db"
    db = post(open_database(str(path)))
    acting = db.acting_as("tests")
    send(acting, range(EVENTS))
    acting.consumer("Sent", "c").pull(2)
    db.close()
    return path


class Consumption:
    """What a consumer was told while the disk failed."""

    def __init__(self) -> None:
        self.given: set[int] = set()
        self.settled: set[int] = set()
        self.unknown: set[int] = set()

    def run(self, db: treadle.Database) -> None:
        """Pull, settle one, give one back, pull again."""
        consumer = db.acting_as("tests").consumer("Sent", "c")
        held: list[Any] = []
        with suppress(TreadleError):
            held = consumer.pull(3)
        self.given |= set(numbers(held))
        for act, events in ((consumer.ack, held[1:]), (consumer.nack, held[:1])):
            try:
                act(*events)
            except OutcomeUnknown:
                self.unknown |= set(numbers(events)) if act == consumer.ack else set()
            except TreadleError:
                pass
            else:
                self.settled |= set(numbers(events)) if act == consumer.ack else set()
        with suppress(TreadleError):
            self.given |= set(numbers(consumer.pull()))

    def check(self, path: Path) -> None:
        """Everything that was not settled comes again; what was never does."""
        clock = ManualClock(START)
        clock.advance(seconds(1000))
        db = post(open_database(str(path)), clock)
        assert db.verify().ok, db.verify().problems
        rest = numbers(db.acting_as("tests").consumer("Sent", "c").pull())
        assert sorted(rest) == rest
        assert not self.settled & set(rest)
        missing = set(range(EVENTS)) - self.settled - set(rest)
        assert missing <= self.unknown
        assert db.verify().ok
        db.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_disk(deployed: Path, quick_path: Path, kind: Kind) -> None:
    disk, path = FaultyDisk(), quick_path / "trial.db"

    def run(fault: Fault) -> bool:
        for leftover in quick_path.glob("trial.db*"):
            leftover.unlink()
        shutil.copy(deployed, path)
        db = post(open_database(str(path), vfs=disk.name))
        consumption = Consumption()
        disk.arm(fault)
        consumption.run(db)
        db.close()
        fired = disk.fired
        keeps: tuple[Keep, ...] = ("none", "all", random.Random(fault.at))
        disk.power_cut(keeps[fault.at % 3])
        consumption.check(path)
        return fired

    assert every_fault(run, kind) > 3


ROUNDS = 30


def test_kill_dash_nine_while_consumers_settle(tmp_path: Path) -> None:
    """Two consumers and a sender are killed and started again; in the end every event was settled once."""
    path = str(tmp_path / "post.db")
    with treadle.open(path) as db:
        db.deploy(SOURCE)
    dice = random.Random(20261130)
    told: dict[str, set[int]] = {"given": set(), "settled": set()}
    sent: set[int] = set()
    for round_ in range(effort(ROUNDS)):
        pipes, processes = [], []
        work: list[tuple[Any, ...]] = [(mail.send_for_ever, round_ * 100_000)]
        for act, *arguments in work + 2 * [(mail.consume_for_ever,)]:
            reader, writer = context().Pipe(duplex=False)
            processes.append(start(act, path, writer, *arguments))
            writer.close()
            pipes.append(reader)
        assert all(pipe.recv() == "ready" for pipe in pipes)
        time.sleep(dice.random() * 0.1)
        for process in dice.sample(processes, len(processes)):
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
        for process in processes:
            process.join(30)
        for pipe in pipes:
            listen(pipe, sent, told)
    finish(path, sent, told)


def listen(pipe: Connection, sent: set[int], told: dict[str, set[int]]) -> None:
    """Everything that a process said before it was killed."""
    with suppress(EOFError):
        while True:
            what, found = pipe.recv()
            if what == "sent":
                sent |= set(found)
            elif what == "given":
                again = set(found) & told["settled"]
                assert not again, f"{again} were settled and came again"
                told["given"] |= set(found)
            else:
                told["settled"] |= set(found)


def finish(path: str, sent: set[int], told: dict[str, set[int]]) -> None:
    """Settle the rest; the clock goes on far enough for every lease that a killed process left."""
    assert sent and told["settled"], "no process got as far as one commit"
    clock = ManualClock(START)
    with treadle.open(path, create=False) as db:
        clock.set(next(db.log(db.head[0])).time + seconds(1000))
    with treadle.open(path, create=False, clock=clock) as db:
        assert db.verify().ok, db.verify().problems
        everything = {entry.input["number"] for entry in db.log() if entry.name == "Send"}
        assert sent <= everything
        consumer = db.acting_as("tests").consumer("Sent", "c")
        rest: list[int] = []
        while events := consumer.pull():
            rest += numbers(events)
            consumer.ack(*events)
        assert not set(rest) & told["settled"]
        assert everything == set(rest) | told["given"] | told["settled"]
        assert db.streams().consumers()[0].open == 0
        assert db.verify().ok
