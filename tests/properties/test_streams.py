"""A consumer against the plainest account of one: a list of events, each with what happened to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.strategies import booleans, data, integers, sampled_from

from tests.support.effort import effort
from tests.support.engines import START
from tests.support.streams import call, numbers, post, seconds
from treadle import limits
from treadle.store.memory import MemoryStore
from treadle.testing import ManualClock


@dataclass
class Item:
    """An event as the model sees it. `free` is when it may be given (again)."""

    number: int
    attempts: int = 0
    free: float = 0
    held: Any = None  # the delivery that holds it
    state: str = "new"  # new, open, done, dead


class Consuming(RuleBasedStateMachine):
    """Sends, pulls, settles and waits in any order; every answer is the model's."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock(START)
        self.db = post(MemoryStore(), self.clock)
        self.acting = self.db.acting_as("tests")
        self.consumer = self.acting.consumer("Sent", "c")
        self.consumer.pull()
        self.items: list[Item] = []
        self.now = 0.0
        self.old: list[Any] = []  # deliveries that were pulled at some time

    @rule(count=integers(1, 4))
    def send(self, count: int) -> None:
        first = len(self.items)
        answers = self.acting.run_many([call(first + place) for place in range(count)])
        assert all(answer.ok for answer in answers)
        self.items += [Item(first + place) for place in range(count)]

    @rule(step=sampled_from([1, 5, 9, 60]))
    def wait(self, step: int) -> None:
        self.clock.advance(seconds(step))
        self.now += step

    @rule(limit=integers(1, 5), lease=sampled_from([5, 10]), strict=booleans())
    def pull(self, limit: int, lease: int, strict: bool) -> None:
        expected = self.expected(limit, strict)
        given = self.consumer.pull(limit, lease=lease, strict=strict)
        assert numbers(given) == sorted(item.number for item in expected)
        for event in given:
            item = self.items[event.fields["number"]]
            item.attempts += 1
            assert event.attempt == item.attempts
            item.state, item.free, item.held = "open", self.now + lease, event
        self.old += given

    def expected(self, limit: int, strict: bool) -> list[Item]:
        opened = [item for item in self.items if item.state == "open"]
        due = sorted(
            (item for item in opened if item.free <= self.now), key=lambda item: (item.free, item.number)
        )
        if strict:
            due = []
            for item in opened:
                if item.free > self.now:
                    break
                due.append(item)
        due = due[:limit]
        for item in due:
            if item.attempts == limits.DELIVERIES:
                item.state, item.held = "dead", None
        again = [item for item in due if item.state == "open"]
        still_open = [item for item in self.items if item.state == "open"]
        if strict and len(still_open) > len(again):
            return again
        fresh = [item for item in self.items if item.state == "new"]
        return again + fresh[: limit - len(again)]

    def answer(self, event: Any) -> str:
        item = self.items[event.fields["number"]]
        if item.state == "done":
            return "already" if item.held is event else "stale or already"
        return "done" if item.held is event else "stale"

    @precondition(lambda self: self.old)
    @rule(data=data(), what=sampled_from(["ack", "nack", "give back", "extend"]))
    def settle(self, data: Any, what: str) -> None:
        chosen = data.draw(sampled_from(self.old))
        expected = self.answer(chosen)
        item = self.items[chosen.fields["number"]]
        found = self.call(what, chosen).answers[0]
        assert found in expected
        if found != "done":
            return
        if what == "ack":
            item.state = "done"
        elif what == "extend":
            item.free = self.now + 20
        else:
            item.held, item.free = None, self.now + 3
            if what == "give back":
                item.attempts -= 1
            elif item.attempts == limits.DELIVERIES:
                item.state = "dead"

    def call(self, what: str, event: Any) -> Any:
        if what == "ack":
            return self.consumer.ack(event)
        if what == "extend":
            return self.consumer.extend(event, lease=20)
        return self.consumer.nack(event, delay=3, failed=what == "nack")

    @precondition(lambda self: any(item.state == "dead" for item in self.items))
    @rule()
    def replay(self) -> None:
        self.db.streams().replay("Sent", "c")
        for item in self.items:
            if item.state == "dead":
                item.state, item.attempts, item.free, item.held = "open", 0, self.now, None

    @precondition(lambda self: any(item.state == "open" for item in self.items))
    @rule()
    def fail_for_good(self) -> None:
        """One event fails until it is a dead letter; random steps seldom get so far."""
        item = next(item for item in self.items if item.state == "open")
        while item.state == "open":
            self.wait(60)
            self.pull(1, 5, True)

    @invariant()
    def statuses_agree(self) -> None:
        status = self.db.streams().consumers()[0]
        count = {state: sum(item.state == state for item in self.items) for state in ("open", "dead", "new")}
        assert (status.open, status.dead, status.behind) == (count["open"], count["dead"], count["new"])

    def teardown(self) -> None:
        report = self.db.verify()
        assert report.ok, report.problems
        for _ in range(limits.DELIVERIES + 1):
            self.wait(60)
            while given := self.consumer.pull():
                self.consumer.ack(*given)
        assert self.db.streams().consumers()[0].open == 0
        assert self.db.verify().ok


TestConsuming = Consuming.TestCase
TestConsuming.settings = settings(max_examples=effort(25), stateful_step_count=40, deadline=None)
