"""What was seen in a run: by handlers, by consumers, by tails, by whoever sent a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from treadle.engine.receipt import Receipt
from treadle.errors import TreadleError

Operation = Literal["pull", "ack", "nack", "extend", "look", "list", "replay", "drop"]
Subject = tuple[str, str, int | None]
"""A consumer: event, name, partition."""
Place = tuple[int, int]
"""An event: the number of its commit, and its place in it."""


class Given(NamedTuple):
    """A delivery as it was given. `until` is in microseconds."""

    place: Place
    token: str
    attempt: int
    fence: int
    until: int
    fields: Mapping[str, Any]


class Call(NamedTuple):
    """Something that was asked about a consumer.

    `answer` is None where nobody knows whether it happened. `before` is the number of the last record then,
    `time` the database's time in microseconds.
    """

    subject: Subject
    operation: Operation
    asked: Mapping[str, Any]
    answer: Any
    before: int
    time: int


class Look(NamedTuple):
    """A scheduler has looked what is due, between two times (microseconds), and is done with it."""

    name: str
    began: int
    ended: int


class Stretch(NamedTuple):
    """What a tail read: the cursor's place before, and the events' places. `lost` says it began anew."""

    after: Place
    places: list[Place]
    lost: bool = False


@dataclass
class Visit:
    """A handler at work."""

    process: int
    key: tuple[int, int]
    fence: int
    occasion: str
    jumps: int


@dataclass
class Seen:
    """All of it. `wrong` is what was found wrong at once."""

    wrong: list[str] = field(default_factory=list)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    visits: list[Visit] = field(default_factory=list)
    inside: list[Visit] = field(default_factory=list)
    leases: dict[tuple[int, int, int], tuple[float, int]] = field(default_factory=dict)
    looks: list[Look] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)

    def receipt(self, key: str, answer: Any) -> None:
        """Somebody heard the answer to a key; every answer to it must be the first one."""
        if isinstance(answer, Receipt):
            first = self.receipts.setdefault(key, answer)
            if first != answer:
                self.wrong.append(f"{key}: {answer!r} and {first!r} answer the same request")
        elif isinstance(answer, TreadleError) and answer.code == "internal":
            self.wrong.append(f"{key}: {answer.__cause__!r}")
