"""What the second processes of tests of streams do."""

from __future__ import annotations

import itertools
from multiprocessing.connection import Connection

import treadle
from tests.support.streams import call, numbers


def send_for_ever(path: str, pipe: Connection, first: int) -> None:
    """Send letters first, first + 1, … in batches; say which were acknowledged."""
    with treadle.open(path) as db:
        acting = db.acting_as("sender")
        pipe.send("ready")
        for begin in itertools.count(first, 8):
            answers = acting.run_many([call(number) for number in range(begin, begin + 8)])
            assert all(answer.ok for answer in answers)
            pipe.send(("sent", list(range(begin, begin + 8))))


def consume_for_ever(path: str, pipe: Connection) -> None:
    """Pull and settle, saying what was given before it is settled, and what was settled after."""
    with treadle.open(path) as db:
        consumer = db.acting_as("tests").consumer("Sent", "c")
        pipe.send("ready")
        while True:
            events = consumer.pull(5, wait=1)
            pipe.send(("given", numbers(events)))
            settled = consumer.ack(*events)
            assert settled.ok
            pipe.send(("settled", numbers(events)))
