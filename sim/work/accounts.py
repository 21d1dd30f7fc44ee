"""Consumers by the rules of streams: what each was given, settled, failed with, and gave up.

A call whose answer nobody has may have happened or not: what it was about is in doubt until it is seen again.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final, Literal

from sim.scenario import demand
from sim.work.log import Log
from sim.work.seen import Call, Given, Place, Subject
from treadle.history import Entry

DELIVERIES: Final = 10
"""After so many failed deliveries an event is a dead letter."""
SECOND: Final = 1_000_000

LONGEST: Final = 3_600 * SECOND
"""No event waits for longer, so one that would have to does not wait: the clock was set back."""

State = Literal["new", "held", "waiting", "settled", "dead", "dropped", "doubt"]


@dataclass
class Fate:
    """What is known of one event and one consumer. It may not come again before `until`."""

    state: State = "new"
    attempt: int = 0
    fence: int = 0
    until: int = 0


class Account:
    """One consumer, followed call by call."""

    def __init__(self, subject: Subject, log: Log, calls: list[Call]) -> None:
        self.name = f"consumer {subject[1]} of {subject[0]}"
        self._fields = log.events[subject[0]]
        self._partition = subject[2]
        self._records = [entry for entry in log.entries if _about(entry, subject)]
        self._calls = calls
        self._fence = 0
        self._replayed: set[Place] = set()
        self.began: Place = (0, 0)
        self.fates: dict[Place, Fate] = {}
        self._tokens: dict[str, tuple[Place, int]] = {}

    def follow(self) -> None:
        """Go through all calls."""
        for number, call in enumerate(self._calls):
            end = self._calls[number + 1].before if number + 1 < len(self._calls) else 1 << 62
            dead = self._written(call, end)
            if call.operation == "pull":
                self._pull(call, dead)
            elif call.operation in ("ack", "nack", "extend"):
                self._settle(call, dead)
            elif call.operation == "look":
                self._look(call)
            else:
                self._letters(call)
            for place in dead:
                self._die(place, call)

    def _written(self, call: Call, end: int) -> set[Place]:
        """The events that the log says died in a call; and where the consumer begins, if it began then."""
        first = bisect_right(self._records, call.before, key=lambda entry: entry.number)
        last = bisect_right(self._records, end, key=lambda entry: entry.number)
        dead: set[Place] = set()
        for entry in self._records[first:last]:
            if entry.name == "dead":
                dead |= {_place(text) for text in entry.body["events"]}
            elif entry.name == "create":
                self.began = _place(entry.body["after"])
                self.fates = {place: Fate() for place in self._mine() if place > self.began}
        return dead

    def _mine(self) -> list[Place]:
        return [place for place, fields in self._fields.items() if self._partition in (None, fields["yard"])]

    def _say(self, place: Place, what: str) -> str:
        return f"{self.name}: event {place[0]}:{place[1]} {what} ({self.fates.get(place)})"

    def _die(self, place: Place, call: Call) -> None:
        fate = self.fates[place]
        if fate.state != "doubt":
            demand(fate.attempt == DELIVERIES, self._say(place, "became a dead letter too early"))
            demand(fate.state in ("held", "waiting"), self._say(place, "became a dead letter"))
        self.fates[place] = Fate("dead", fate.attempt, fate.fence)

    def _pull(self, call: Call, dead: set[Place]) -> None:
        if call.answer is None:
            for place, fate in self.fates.items():
                if fate.state in ("new", "held", "waiting") and place[0] <= call.before:
                    fate.state = "doubt"
            return
        places = [one.place for one in call.answer]
        demand(len(places) <= call.asked["limit"], f"{self.name}: {len(places)} events at once")
        demand(places == sorted(set(places)), f"{self.name}: {places} are not in order")
        for one in call.answer:
            self._given(one, call.asked["lease"])
        fences = {one.fence for one in call.answer}
        demand(len(fences) == len(places), f"{self.name}: {call.answer} share a fence")
        self._fence = max(fences, default=self._fence)
        if not places:
            return
        for place, fate in self.fates.items():
            if place < places[-1]:
                demand(fate.state != "new", self._say(place, f"was skipped: {places[-1]} was given"))
                undone = fate.state in ("held", "waiting") and place not in places and place not in dead
                demand(
                    not (call.asked["strict"] and undone), self._say(place, "stands before what was given")
                )

    def _given(self, one: Given, lease: int) -> None:
        place, now = one.place, one.until - lease * SECOND
        demand(place in self.fates, self._say(place, "was given, and is none of this stream"))
        demand(one.fields == self._fields[place], self._say(place, f"was given as {one.fields}"))
        fate = self.fates[place]
        demand(fate.state not in ("settled", "dead", "dropped"), self._say(place, "was given again"))
        demand(one.fence > self._fence, self._say(place, f"was given with fence {one.fence}"))
        demand(one.attempt <= DELIVERIES, self._say(place, f"was given for the {one.attempt}th time"))
        if fate.state != "doubt":
            waited = fate.until <= now or fate.until > now + LONGEST
            demand(waited, self._say(place, f"was given again too early, at {now}"))
            demand(one.attempt == fate.attempt + 1, self._say(place, f"was given as attempt {one.attempt}"))
        self.fates[place] = Fate("held", one.attempt, one.fence, one.until)
        self._tokens[one.token] = (place, one.fence)

    def _settle(self, call: Call, dead: set[Place]) -> None:
        answers = call.answer or [None] * len(call.asked["tokens"])
        for token, answer in zip(call.asked["tokens"], answers, strict=True):
            place, fence = self._tokens[token]
            self._token(call, place, fence, answer, dead)

    def _token(self, call: Call, place: Place, fence: int, answer: str | None, dead: set[Place]) -> None:
        fate = self.fates[place]
        current = fate.fence == fence and fate.state == "held"
        if answer is None:
            if current:
                fate.state = "doubt"
            return
        said = self._say(place, f"was answered {answer} to {call.operation} by fence {fence}")
        if fate.state != "doubt":
            demand((answer == "done") == current, said)
            demand(answer != "already" or fate.state in ("settled", "dropped"), said)
            demand(answer != "stale" or fate.state != "settled" or fate.fence != fence, said)
        elif answer == "done":
            demand(fence >= fate.fence, said)
        if answer == "done":
            self._done(call, place, fence, dead)
        elif answer == "already":
            fate.state = "settled"

    def _done(self, call: Call, place: Place, fence: int, dead: set[Place]) -> None:
        fate = self.fates[place]
        fate.fence = fence
        if call.operation == "ack":
            fate.state = "settled"
        elif call.operation == "extend":
            fate.state = "held" if fate.state != "doubt" else "doubt"
            fate.until = call.time + call.asked["lease"] * SECOND
        elif fate.state == "doubt":
            return
        elif call.asked["failed"] and fate.attempt == DELIVERIES:
            demand(place in dead, self._say(place, "failed for the last time, and is no dead letter"))
        else:
            fate.state, fate.until = "waiting", call.time + call.asked["delay"] * SECOND
            fate.attempt -= not call.asked["failed"]

    def _look(self, call: Call) -> None:
        """Somebody has looked up to where everything is settled."""
        for settled in call.answer or ():
            for place, fate in self.fates.items():
                if place <= _place(settled):
                    demand(
                        fate.state in ("settled", "dead", "dropped", "doubt") or place in self._replayed,
                        self._say(place, f"is not settled, but {settled} is said to be"),
                    )

    def _letters(self, call: Call) -> None:
        """An operator has listed dead letters, or decided about them."""
        chosen = None if call.operation == "list" else call.asked["ids"]
        wanted = None if chosen is None else {_place(text) for text in chosen}
        dead = {place for place, fate in self.fates.items() if fate.state == "dead"}
        changes = call.operation != "list" and not call.asked["dry_run"]
        if call.answer is None:
            for place in dead if changes else ():
                self.fates[place].state = "doubt"
            return
        found = {_place(text) for text in call.answer}
        for place in found ^ {place for place in dead if wanted is None or place in wanted}:
            demand(self.fates[place].state == "doubt", self._say(place, f"was not said by {call.operation}"))
        for place in found if changes else ():
            state: State = "waiting" if call.operation == "replay" else "dropped"
            self.fates[place] = Fate(state, 0, self.fates[place].fence)
            self._replayed.add(place)


def check(log: Log, calls: list[Call], kept: dict[str, set[Place]]) -> None:
    """Follow every consumer; in the end each has settled all of its events, or has them as dead letters.

    `kept` are the events that are still in their streams, by name: what left them was needed by nobody.
    """
    by_subject: dict[Subject, list[Call]] = {}
    for call in calls:
        by_subject.setdefault(call.subject, []).append(call)
    for subject, mine in by_subject.items():
        account = Account(subject, log, mine)
        account.follow()
        for place, fate in account.fates.items():
            ended = fate.state in ("settled", "dropped", "dead", "doubt")
            demand(ended, account._say(place, "was lost"))
            gone = place not in kept[subject[0]]
            demand(not (gone and fate.state == "dead"), account._say(place, "is a dead letter, and gone"))


def _about(entry: Entry, subject: Subject) -> bool:
    event, name, partition = subject
    if entry.kind != "consumer" or (entry.body["event"], entry.body["consumer"]) != (event, name):
        return False
    return partition is None or list(entry.body["partition"]) == [partition]


def _place(text: str) -> Place:
    number, _, ordinal = text.partition(":")
    return int(number), int(ordinal)
