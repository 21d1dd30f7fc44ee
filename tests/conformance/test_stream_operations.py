"""Dead letters and what an operator does with streams, on every store."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.support.engines import START
from tests.support.streams import numbers, post, seconds, send
from treadle import limits
from treadle.database import Acting, Database
from treadle.errors import TreadleError, UnknownName
from treadle.streams import Consumer
from treadle.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def db(store, clock) -> Database:
    return post(store, clock)


@pytest.fixture
def acting(db: Database) -> Acting:
    return db.acting_as("tests")


@pytest.fixture
def consumer(acting: Acting) -> Consumer:
    return acting.consumer("Sent", "mailer")


def raised(act: Any, *args: Any, **options: Any) -> TreadleError:
    with pytest.raises(TreadleError) as caught:
        act(*args, **options)
    return caught.value


# Dead letters.


def fail(consumer: Consumer, times: int = limits.DELIVERIES, reason: str = "no such street") -> None:
    for _ in range(times):
        for event in consumer.pull():
            consumer.nack(event, reason=reason)


def test_the_tenth_failure_makes_a_dead_letter(acting, consumer, db) -> None:
    send(acting, range(2))
    fail(consumer, limits.DELIVERIES - 1)
    last = consumer.pull()
    assert [event.attempt for event in last] == [limits.DELIVERIES] * 2
    assert db.streams().dead_letters("Sent", "mailer") == []
    consumer.nack(*last, reason="no such street\0" + "!" * 2000)
    letters = db.streams().dead_letters("Sent", "mailer")
    assert [letter.event.fields["number"] for letter in letters] == [0, 1]
    assert letters[0].attempts == limits.DELIVERIES
    assert letters[0].reason.startswith("no such street!") and len(letters[0].reason) <= 1024
    assert letters[0].to_json()["fields"]["number"] == 0
    assert consumer.pull() == []
    assert consumer.ack(*last).answers == ("stale", "stale")
    status = db.streams().consumers()[0]
    assert (status.open, status.dead, status.settled) == (0, 2, last[-1].id)
    record = list(db.log())[-1]
    assert (record.kind, record.name, record.body["events"]) == ("consumer", "dead", [one.id for one in last])
    assert db.verify().ok, db.verify().problems


def test_a_consumer_that_dies_ten_times_makes_one_too(acting, consumer, clock, db) -> None:
    send(acting, range(2))
    kept = consumer.pull(1)[0]
    for _ in range(limits.DELIVERIES):
        assert numbers(consumer.pull(lease=5)) == [1]
        clock.advance(seconds(5))
    assert consumer.pull(lease=5) == []
    letters = db.streams().dead_letters("Sent", "mailer")
    assert [letter.event.fields["number"] for letter in letters] == [1]
    assert consumer.ack(kept).ok
    assert db.verify().ok


def test_dead_letters_are_replayed(acting, consumer, db, clock) -> None:
    send(acting, range(3))
    consumer.ack(consumer.pull(1)[0])
    fail(consumer)
    send(acting, [3])
    streams = db.streams()
    ids = [letter.event.id for letter in streams.dead_letters("Sent", "mailer")]
    assert len(ids) == 2
    before = db.head
    assert streams.replay("Sent", "mailer", dry_run=True) == ids
    assert streams.replay("Sent", "mailer", ["9999:0"]) == []
    assert db.head == before
    assert streams.replay("Sent", "mailer", [ids[0], ids[0], "1:0"]) == [ids[0]]
    assert [entry.name for entry in db.log()][-1] == "replay"
    again = consumer.pull()
    assert [(event.fields["number"], event.attempt) for event in again] == [(1, 1), (3, 1)]
    assert db.verify().ok, db.verify().problems
    clock.advance(seconds(60))
    again = consumer.pull(strict=True)
    assert numbers(again) == [1, 3]
    assert consumer.ack(*again).done == 2
    assert consumer.ack(*again).answers == ("already", "already")
    assert [letter.event.id for letter in streams.dead_letters("Sent", "mailer")] == ids[1:]
    assert streams.replay("Sent", "mailer") == ids[1:]
    fail(consumer)
    assert [letter.event.id for letter in streams.dead_letters("Sent", "mailer")] == ids[1:]
    assert db.verify().ok


def test_dead_letters_are_dropped(acting, consumer, db) -> None:
    send(acting, range(3))
    fail(consumer)
    streams = db.streams()
    ids = [letter.event.id for letter in streams.dead_letters("Sent", "mailer")]
    assert streams.drop("Sent", "mailer", dry_run=True) == ids
    assert streams.drop("Sent", "mailer", ids[:1]) == ids[:1]
    assert [letter.event.id for letter in streams.dead_letters("Sent", "mailer")] == ids[1:]
    assert [letter.event.id for letter in streams.dead_letters("Sent", "mailer", limit=1)] == ids[1:2]
    page = streams.dead_letters("Sent", "mailer", after=ids[1])
    assert [letter.event.id for letter in page] == ids[2:]
    assert streams.drop("Sent", "mailer") == ids[1:]
    assert streams.dead_letters("Sent", "mailer") == []
    assert [entry.name for entry in db.log() if entry.kind == "consumer"][-2:] == ["drop", "drop"]
    assert db.verify().ok


# Operators.


def test_a_consumer_goes_on_from_another_place(acting, consumer, db) -> None:
    send(acting, range(5))
    held = consumer.pull()
    consumer.ack(*held[:2])
    streams = db.streams()
    assert streams.seek("Sent", "mailer", held[2].commit, dry_run=True) == f"{held[2].commit}:{2**32 - 1}"
    assert db.streams().consumers()[0].open == 3
    streams.seek("Sent", "mailer", held[2].commit)
    consumer.ack(*held)
    assert numbers(consumer.pull()) == [3, 4]
    streams.seek("Sent", "mailer", "oldest")
    assert numbers(consumer.pull()) == [0, 1, 2, 3, 4]
    streams.seek("Sent", "mailer", "newest")
    assert consumer.pull() == []
    assert [entry.name for entry in db.log() if entry.kind == "consumer"] == ["create", *["seek"] * 3]
    assert db.verify().ok


def test_a_consumer_is_forgotten(acting, consumer, db, store) -> None:
    send(acting, range(3))
    fail(consumer)
    send(acting, [3])
    held = consumer.pull()
    assert db.streams().remove("Sent", "mailer", dry_run=True) == (1, 3)
    assert db.streams().remove("Sent", "mailer") == (1, 3)
    assert db.streams().consumers() == []
    with pytest.raises(UnknownName):
        consumer.ack(*held)
    with store.read() as tx:
        for space in ("delivery", "due", "letter", "consumer"):
            assert tx.entries(space, b"", None, 9) == []
    assert numbers(consumer.pull()) == [0, 1, 2, 3]
    assert raised(consumer.ack, held[0]).code == "invalid_input", "the token is of another consumer"


def test_events_leave_their_stream_after_its_window(acting, consumer, db, clock, store) -> None:
    streams = db.streams()
    assert streams.window("Sent") is None
    streams.retain("Sent", timedelta(hours=1))
    assert streams.window("Sent") == timedelta(hours=1)
    send(acting, range(4))
    held = consumer.pull()
    clock.advance(timedelta(minutes=30))
    send(acting, range(4, 6))
    clock.advance(timedelta(minutes=30))
    assert streams.sweep("Sent") == 0, "the consumer needs them"
    consumer.ack(*held[:2], held[3])
    assert streams.sweep("Sent") == 2, "the third is still open"
    consumer.ack(held[2])
    assert streams.sweep("Sent") == 2
    assert numbers(acting.consumer("Sent", "new").pull()) == [4, 5]
    assert streams.sweep("Sent") == 0
    assert db.verify().ok, db.verify().problems
    kinds = [(entry.kind, entry.name) for entry in db.log() if entry.kind == "stream"]
    streams.retain("Sent", timedelta(hours=1))
    assert kinds == [("stream", "retain")], "no change is no record"
    with store.read() as tx:
        assert len(tx.events("Sent", None, (0, 0), 99)) == 2


def test_pulls_sweep_now_and_then(acting, consumer, db, clock, store) -> None:
    db.streams().retain("Sent", timedelta(seconds=10))
    send(acting, range(3))
    consumer.ack(*consumer.pull())
    clock.advance(timedelta(minutes=2))
    send(acting, [3])
    assert numbers(consumer.pull()) == [3]
    with store.read() as tx:
        assert [event.number for event in tx.events("Sent", None, (0, 0), 99)] == [db.head[0]]
    db.streams().retain("Sent", None)
    clock.advance(timedelta(days=900))
    assert db.streams().sweep("Sent") == 0


def test_a_dead_letter_keeps_its_event(acting, consumer, db, clock) -> None:
    db.streams().retain("Sent", timedelta(seconds=10))
    send(acting, range(3))
    first = consumer.pull(1)[0]
    consumer.ack(first)
    fail(consumer)
    clock.advance(timedelta(days=1))
    assert db.streams().sweep("Sent") == 1
    ids = [letter.event.id for letter in db.streams().dead_letters("Sent", "mailer")]
    db.streams().drop("Sent", "mailer", ids[:1])
    assert db.streams().sweep("Sent") == 1
    db.streams().replay("Sent", "mailer")
    assert db.streams().sweep("Sent") == 0, "it is open again"
    consumer.ack(*consumer.pull())
    assert db.streams().sweep("Sent") == 1
    assert db.verify().ok, db.verify().problems
