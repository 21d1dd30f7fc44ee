"""What streams promise, on every store: order, redelivery, waiting, permissions, history."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from tests.support.engines import START
from tests.support.streams import SOURCE, call, numbers, post, seconds, send
from treadle import limits
from treadle.access.caller import Caller
from treadle.access.roles import Role
from treadle.database import Acting, Database
from treadle.engine.request import Request
from treadle.errors import HistoryChanged, InvalidInput, TooLarge, TreadleError, UnknownName
from treadle.streams import Consumer
from treadle.streams.jobs import AckJob, PullJob, Subject
from treadle.streams.turns import Pull
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


# Delivery.


def test_events_come_in_order_and_are_settled_for_good(db, acting, consumer, clock) -> None:
    send(acting, range(70))
    first = consumer.pull()
    assert numbers(first) == list(range(64))
    assert numbers(consumer.pull()) == list(range(64, 70))
    assert consumer.pull() == []
    settled = consumer.ack(*first)
    assert settled.ok and settled.done == 64
    clock.advance(seconds(1000))
    assert numbers(consumer.pull()) == list(range(64, 70))
    assert db.verify().ok, db.verify().problems


def test_nothing_waits_for_a_time_that_the_clock_was_set_back_from(db, acting, consumer, clock) -> None:
    """Pulls are no records, so the store's time does go back; then an event waits an hour at most."""
    assert consumer.pull() == []  # a consumer's first pull is a record
    send(acting, range(3))
    clock.advance(timedelta(days=2))
    held, back, last = consumer.pull(lease=900)
    consumer.nack(back, delay=3600)
    clock.advance(timedelta(days=-2))
    assert consumer.ack(held).ok
    again = consumer.pull()
    assert numbers(again) == [1, 2] and consumer.pull() == []
    assert not consumer.ack(last).ok and consumer.ack(*again).ok
    send(acting, [3, 4])
    assert numbers(consumer.pull(strict=True)) == [3, 4]
    clock.advance(timedelta(days=2))
    assert numbers(consumer.pull(strict=True, lease=900)) == [3, 4]
    clock.advance(timedelta(days=-2))
    assert numbers(consumer.pull(1, strict=True)) == [3]
    assert db.verify().ok, db.verify().problems


def test_what_an_event_says(acting, consumer, db) -> None:
    receipt = acting.run(*call(7, "Ulm"))
    event = consumer.pull(lease=90)[0]
    assert (event.id, event.commit, event.ordinal) == (f"{receipt.commit}:0", receipt.commit, 0)
    assert (event.name, event.attempt, event.time) == ("Sent", 1, receipt.time)
    assert event.fields == {"town": "Ulm", "number": 7, "text": "letter 7"}
    assert event.partition == {"town": "Ulm"}
    assert event.until == receipt.time + seconds(90)
    shown = event.to_json(integers_as_strings=True)
    assert shown["fields"]["number"] == "7" and shown["token"] == event.token
    assert shown["cursor"].startswith(db.history)


def test_a_bulk_commands_events_keep_their_order(acting, consumer) -> None:
    numbers_ = list(range(30, 0, -1))
    receipt = acting.run("SendMany", {"key": "many", "town": "Ulm", "numbers": numbers_})
    pulled = consumer.pull(20) + consumer.pull(20)
    assert numbers(pulled) == numbers_
    assert [event.id for event in pulled] == [f"{receipt.commit}:{place}" for place in range(30)]


def test_a_lease_ends_at_its_very_microsecond(acting, consumer, clock) -> None:
    send(acting, range(3))
    first = consumer.pull(2, lease=60)
    clock.advance(seconds(60) - timedelta(microseconds=1))
    assert numbers(consumer.pull()) == [2]
    clock.advance(timedelta(microseconds=1))
    again = consumer.pull()
    assert numbers(again) == [0, 1]
    assert [event.attempt for event in again] == [2, 2]
    assert {event.token for event in again}.isdisjoint(event.token for event in first)
    assert consumer.ack(*first).answers == ("stale", "stale")
    assert consumer.ack(*again).answers == ("done", "done")
    assert consumer.ack(*again).answers == ("already", "already")


def test_a_late_ack_counts_while_nobody_else_was_given_the_event(acting, consumer, clock) -> None:
    send(acting, [1])
    event = consumer.pull(lease=5)[0]
    clock.advance(seconds(500))
    assert consumer.ack(event).answers == ("done",)
    assert consumer.pull() == []


def test_acks_out_of_order_leave_no_gap_behind(acting, consumer, clock, db) -> None:
    send(acting, range(10))
    held = consumer.pull(lease=60)
    consumer.ack(*[event for event in held if event.fields["number"] % 2])
    status = db.streams().consumers()[0]
    assert (status.open, status.settled, status.given) == (5, "0:0", held[-1].id)
    clock.advance(seconds(60))
    again = consumer.pull()
    assert numbers(again) == [0, 2, 4, 6, 8]
    consumer.ack(*again[1:])
    assert db.streams().consumers()[0].settled == "0:0"
    consumer.ack(again[0])
    status = db.streams().consumers()[0]
    assert (status.open, status.settled) == (0, held[-1].id)
    assert db.verify().ok


def test_one_token_twice_in_a_call_and_none_at_all(acting, consumer) -> None:
    send(acting, [1])
    event = consumer.pull()[0]
    assert consumer.ack(event, event.token, event).answers == ("done", "already", "already")
    assert consumer.ack().answers == ()


def test_given_back_with_a_delay(acting, consumer, clock) -> None:
    send(acting, range(3))
    held = consumer.pull()
    assert consumer.nack(held[0], delay=30).answers == ("done",)
    assert consumer.ack(held[0]).answers == consumer.nack(held[0]).answers == ("stale",)
    assert consumer.pull() == []
    clock.advance(seconds(30))
    again = consumer.pull()
    assert [(event.fields["number"], event.attempt) for event in again] == [(0, 2)]
    consumer.nack(held[1])
    assert numbers(consumer.pull()) == [1]


def test_an_attempt_taken_back_does_not_count(acting, consumer) -> None:
    send(acting, [1])
    for _ in range(2 * limits.DELIVERIES):
        event = consumer.pull()[0]
        assert event.attempt == 1
        consumer.nack(event, failed=False)


def test_held_for_longer(acting, consumer, clock) -> None:
    send(acting, range(2))
    first, second = consumer.pull(lease=10)
    clock.advance(seconds(9))
    assert consumer.extend(first, lease=60).answers == ("done",)
    clock.advance(seconds(9))
    assert numbers(consumer.pull()) == [1]
    assert consumer.extend(second).answers == ("stale",)
    clock.advance(seconds(51))
    assert 0 in numbers(consumer.pull())


def test_strict_pulls_give_nothing_from_behind_an_open_event(acting, consumer, clock, db) -> None:
    send(acting, range(6))
    held = consumer.pull(3, lease=10, strict=True)
    assert numbers(held) == [0, 1, 2]
    assert consumer.pull(strict=True) == []
    consumer.ack(held[0], held[2])
    assert consumer.pull(strict=True) == []
    consumer.nack(held[1], delay=5)
    clock.advance(seconds(5))
    again = consumer.pull(4, strict=True)
    assert numbers(again) == [1, 3, 4, 5]
    assert numbers(consumer.pull(strict=True)) == []
    clock.advance(seconds(60))
    assert numbers(consumer.pull(2, strict=True)) == [1, 3]
    assert consumer.pull(strict=True) == []
    assert db.verify().ok


def test_no_more_than_the_bound_is_in_flight(acting, consumer, monkeypatch, db) -> None:
    monkeypatch.setattr(limits, "IN_FLIGHT_EVENTS", 5)
    send(acting, range(12))
    held = consumer.pull(4) + consumer.pull(4)
    assert numbers(held) == [0, 1, 2, 3, 4]
    assert consumer.pull() == []
    consumer.ack(*held[1:])
    assert consumer.pull() == [], "what is settled beyond a gap is kept, and counts"
    consumer.ack(held[0])
    assert numbers(consumer.pull()) == [5, 6, 7, 8, 9]


def test_partitions_and_consumers_are_apart(acting, db) -> None:
    for town in ("Ulm", "Bonn"):
        send(acting, range(3), town)
    acting.run(*call(9, "Jena", "Note"))
    everything, ulm = acting.consumer("Sent", "a"), acting.consumer("Sent", "a", {"town": "Ulm"})
    bonn, same = acting.consumer("Sent", "a", ["Bonn"]), acting.consumer("Sent", "b", "Bonn")
    assert [event.fields["town"] for event in everything.pull()] == ["Ulm"] * 3 + ["Bonn"] * 3
    assert numbers(ulm.pull()) == numbers(bonn.pull()) == numbers(same.pull()) == [0, 1, 2]
    assert numbers(acting.consumer("Noted", "a").pull()) == [9]
    assert numbers(acting.consumer("Noted", "c", []).pull()) == [9]
    listed = [(one.event, one.consumer, one.partition) for one in db.streams().consumers()]
    assert sorted(listed, key=str) == sorted(
        [
            ("Sent", "a", None),
            ("Sent", "a", ["Ulm"]),
            ("Sent", "a", ["Bonn"]),
            ("Sent", "b", ["Bonn"]),
            ("Noted", "a", None),
            ("Noted", "c", []),
        ],
        key=str,
    )
    assert db.verify().ok


def test_where_a_new_consumer_begins(acting) -> None:
    send(acting, range(4))
    head = acting.run(*call(4)).commit
    newest = acting.consumer("Sent", "newest", start="newest")
    assert newest.pull() == []
    assert numbers(acting.consumer("Sent", "later", start=head - 2).pull()) == [3, 4]
    assert numbers(acting.consumer("Sent", "oldest", start="oldest").pull()) == [0, 1, 2, 3, 4]
    send(acting, [5])
    assert numbers(newest.pull()) == [5]


def test_pulls_and_acks_leave_the_log_alone(acting, consumer, db) -> None:
    send(acting, range(5))
    events = consumer.pull(1)
    head = db.head
    events += consumer.pull()
    consumer.extend(events[0])
    consumer.nack(events[1])
    consumer.ack(*events)
    consumer.pull()
    assert db.head == head
    created = [entry for entry in db.log() if entry.kind == "consumer"]
    assert [(entry.name, entry.body["consumer"]) for entry in created] == [("create", "mailer")]
    assert created[0].principal == "tests"


def test_many_calls_share_a_batch_and_fail_alone(acting, consumer, db) -> None:
    send(acting, range(3))
    event = consumer.pull(1)[0]
    caller, subject = Caller("tests"), Subject("Sent", "mailer")
    engine = db._engine
    answers = engine.submit(
        [
            PullJob(caller, subject, Pull(1)),
            engine.command_job(Request(*call(50), caller)),
            AckJob(caller, subject, ["nonsense"]),
            PullJob(caller, Subject("Nothing", "x"), Pull(1)),
            AckJob(caller, subject, [event.token]),
            PullJob(caller, subject, Pull()),
        ]
    )
    assert [given.position.id for given in answers[0].given] == ["3:0"]
    assert answers[1].ok
    assert isinstance(answers[2], InvalidInput) and isinstance(answers[3], UnknownName)
    assert answers[4] == ["done"]
    assert [given.position.id for given in answers[5].given] == ["4:0"]
    assert [given.entry.fence for given in answers[0].given + answers[5].given] == [2, 3]
    assert numbers(consumer.pull()) == [50]


# Waiting.


def test_a_long_poll_ends_with_the_first_event(acting, consumer) -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(consumer.pull(wait=20)))
    thread.start()
    time.sleep(0.05)
    begin = time.monotonic()
    send(acting, [1])
    thread.join(10)
    assert numbers(found) == [1]
    assert time.monotonic() - begin < 5


def test_a_long_poll_ends_in_time_or_when_told(consumer) -> None:
    begin = time.monotonic()
    assert consumer.pull(wait=0.05) == []
    stop = threading.Event()
    threading.Timer(0.05, stop.set).start()
    assert consumer.pull(wait=30, stop=stop) == []
    assert time.monotonic() - begin < 10


def test_a_long_poll_ends_when_a_lease_does(acting, consumer, clock) -> None:
    send(acting, [1])
    consumer.pull(lease=5)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(consumer.pull(wait=20)))
    thread.start()
    clock.advance(seconds(5))
    thread.join(10)
    assert numbers(found) == [1]


def test_threads_of_one_consumer_share_the_events(acting, db) -> None:
    send(acting, range(200))
    seen: list[int] = []

    def work() -> None:
        mine = acting.consumer("Sent", "pool")
        while events := mine.pull(7):
            seen.extend(numbers(events))
            assert mine.ack(*events).done == len(events)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert Counter(seen) == Counter(range(200))
    assert db.streams().consumers()[0].open == 0


# Tails.


def test_a_tail_resumes_where_it_was(acting, db) -> None:
    send(acting, range(5))
    tail = acting.tail("Sent")
    assert numbers(tail.read(3)) == [0, 1, 2]
    later = acting.tail("Sent", after=tail.cursor)
    assert numbers(later.read()) == [3, 4]
    assert later.read() == []
    send(acting, [5], "Bonn")
    send(acting, [6])
    assert numbers(later.follow(idle=0)) == [5, 6]
    assert numbers(acting.tail("Sent", "Ulm", after=tail.cursor).read()) == [3, 4, 6]
    assert acting.tail("Sent", start="newest").read() == []
    assert acting.tail("Sent").read()[0] == acting.tail("Sent").read()[0]


def test_a_tail_follows_until_told(acting) -> None:
    stop = threading.Event()
    found: list[Any] = []

    def follow() -> None:
        for event in acting.tail("Sent").follow(stop=stop):
            found.append(event)
            if len(found) == 3:
                stop.set()

    thread = threading.Thread(target=follow)
    thread.start()
    send(acting, range(3))
    thread.join(10)
    assert numbers(found) == [0, 1, 2]


def test_a_cursor_from_before_the_window_says_so(acting, db, clock) -> None:
    db.streams().retain("Sent", timedelta(seconds=10))
    send(acting, range(3))
    tail = acting.tail("Sent")
    tail.read(1)
    clock.advance(timedelta(minutes=1))
    db.streams().sweep("Sent")
    assert raised(acting.tail, "Sent", after=tail.cursor).code == "cursor_expired"
    send(acting, [3])
    assert numbers(acting.tail("Sent").read()) == [3]


# History.


def test_what_was_given_before_a_restore_counts_no_more(acting, consumer, db, clock) -> None:
    send(acting, range(4))
    held = consumer.pull(3, lease=900)
    consumer.ack(held[0])
    consumer.nack(held[1], delay=100)
    tail = acting.tail("Sent")
    tail.read(1)
    clock.set(START - timedelta(days=3))
    db.reset_clock()
    for act in (lambda: consumer.ack(held[2]), lambda: acting.tail("Sent", after=tail.cursor), tail.read):
        with pytest.raises(HistoryChanged):
            act()
    again = consumer.pull()
    assert numbers(again) == [1, 2, 3]
    assert consumer.ack(*again).done == 3
    assert db.verify().ok, db.verify().problems


# Permissions.


def test_a_role_names_its_streams(db, store) -> None:
    roles = [
        Role("mail", streams=("Sent",)),
        Role("other", commands=("Send",)),
        Role("op", operations=("admin",)),
    ]
    deploy_roles(db, roles)
    mail, other = db.acting_as("m", role="mail"), db.acting_as("o", role="other")
    send(db.acting_as("o", role="other"), range(2))
    assert numbers(mail.consumer("Sent", "c").pull()) == [0, 1]
    for act in (
        lambda: other.consumer("Sent", "c").pull(),
        lambda: mail.consumer("Noted", "c").pull(),
        lambda: mail.consumer("Absent", "c").pull(),
        lambda: other.tail("Sent"),
        lambda: db.streams(principal="m", role="mail").drop("Sent", "c"),
        lambda: db.streams(principal="m", role="mail").replay("Sent", "c", dry_run=True),
        lambda: db.streams(principal="m", role="mail").retain("Sent", None),
        lambda: db.streams(principal="m", role="mail").seek("Sent", "c", "oldest"),
        lambda: db.streams(principal="o", role="other").dead_letters("Sent", "c"),
    ):
        assert raised(act).code == "denied"
    assert db.streams(principal="m", role="mail").dead_letters("Sent", "c") == []
    assert len(db.streams(principal="m", role="mail").consumers()) == 1
    assert db.streams(principal="o", role="other").consumers() == []


def deploy_roles(db: Database, roles: list[Role]) -> None:
    db.deploy(SOURCE, roles=roles)


def test_a_revoked_role_is_refused_in_the_middle(db) -> None:
    deploy_roles(db, [Role("mail", streams=("Sent",))])
    send(db.acting_as("o"), range(3))
    consumer = db.acting_as("m", role="mail").consumer("Sent", "c")
    tail = db.acting_as("m", role="mail").tail("Sent")
    held = consumer.pull(2)
    deploy_roles(db, [Role("mail")])
    for act in (consumer.pull, lambda: consumer.ack(*held), lambda: consumer.nack(*held), tail.read):
        assert raised(act).code == "denied"
    deploy_roles(db, [Role("mail", streams=("Sent",))])
    assert consumer.ack(*held).done == 2


def test_a_tenant_has_its_own_partition_only(db) -> None:
    for town in ("Ulm", "Bonn"):
        send(db.acting_as("o"), range(2), town)
    bound = db.acting_as("m", tenant="Ulm")
    assert numbers(bound.consumer("Sent", "c", "Ulm").pull()) == [0, 1]
    assert numbers(bound.tail("Sent", {"town": "Ulm"}).read()) == [0, 1]
    for partition in (None, "Bonn"):
        assert raised(bound.consumer("Sent", "c", partition).pull).code == "denied"
        assert raised(bound.tail, "Sent", partition).code == "denied"
    assert raised(bound.consumer("Noted", "c", []).pull).code == "denied"


# What a caller must correct.


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "ü", "a/b", None, 7])
def test_a_consumers_name(acting, name) -> None:
    assert raised(acting.consumer, "Sent", name).code == "invalid_input"


@pytest.mark.parametrize(
    "options",
    [{"limit": 0}, {"limit": 65}, {"limit": True}, {"limit": 1.0}, {"lease": 4}, {"lease": 901}, {"wait": 31},
     {"wait": -1}, {"wait": "1"}],
)  # fmt: skip
def test_bounds_of_a_pull(consumer, options) -> None:
    error = raised(consumer.pull, **options)
    assert isinstance(error, InvalidInput)
    assert error.path == next(iter(options))


def test_bounds_of_the_others(acting, consumer, db) -> None:
    send(acting, [1])
    event = consumer.pull()[0]
    for act in (
        lambda: consumer.nack(event, delay=3601),
        lambda: consumer.nack(event, delay=-1),
        lambda: consumer.nack(event, reason=b"x"),
        lambda: consumer.extend(event, lease=1),
        lambda: consumer.ack("nonsense"),
        lambda: consumer.ack(event.token[:-1]),
        lambda: consumer.ack(7),
        lambda: acting.consumer("Sent", "c", start="yesterday"),
        lambda: acting.consumer("Sent", "c", start=-1),
        lambda: acting.consumer("Sent", "c", ["Ulm", "Bonn"]).pull(),
        lambda: acting.consumer("Sent", "c", {"city": "Ulm"}).pull(),
        lambda: acting.consumer("Sent", "c", {"town": "Ulm", "city": "Ulm"}).pull(),
        lambda: acting.consumer("Sent", "c", 7).pull(),
        lambda: acting.tail("Sent", after="nonsense"),
        lambda: acting.tail("Sent", after=f"{db.history}:1"),
        lambda: db.streams().drop("Sent", "mailer", ["x"]),
        lambda: db.streams().dead_letters("Sent", "mailer", limit=0),
        lambda: db.streams().retain("Sent", timedelta(0)),
        lambda: db.streams().seek("Sent", "mailer", "there"),
        lambda: db.streams().seek("Sent", "mailer", 4711),  # a commit that is still to come
        lambda: acting.consumer("Sent", "later", start=4711).pull(),
    ):
        assert isinstance(raised(act), InvalidInput)
    for act in (
        lambda: acting.consumer("Send", "c").pull(),
        lambda: acting.consumer("Sent", "nobody").ack(event),
        lambda: db.streams().drop("Sent", "nobody"),
        lambda: db.streams().retain("Nothing", None),
    ):
        assert isinstance(raised(act), UnknownName)
    assert "Sent" in raised(lambda: acting.consumer("Send", "c").pull()).message
    assert isinstance(raised(lambda: consumer.ack(*[event] * 1025)), TooLarge)
    assert consumer.ack(event).done == 1


def test_a_token_of_another_consumer_settles_nothing(acting, consumer) -> None:
    send(acting, range(2))
    other = acting.consumer("Sent", "other")
    mine, theirs = consumer.pull(), other.pull()
    assert raised(consumer.ack, mine[0], theirs[1]).code == "invalid_input"
    assert consumer.ack(*mine).done == 2
