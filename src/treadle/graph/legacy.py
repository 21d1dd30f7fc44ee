"""Events from before enrollment: their order by time, and their version 1 signatures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final, TypeAlias

from treadle.graph import signatures
from treadle.graph.entities import Event, Registration

Instant: TypeAlias = tuple[datetime, str]
"""A point in time: whole seconds in UTC, and the digits of the fraction."""

_DATE_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))?", re.ASCII
)


def instant(text: str) -> Instant | None:
    """The point in time that an `xsd:dateTime` text names (without a zone: UTC), or None."""
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        return None
    seconds, fraction, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        moment = datetime.fromisoformat(seconds)
        return (moment + offset if sign == "-" else moment - offset), (fraction or "").rstrip("0")
    except (ValueError, OverflowError):
        return None


def in_order(events: list[Event], start: str) -> list[Event] | None:
    """The events in the order of their times, chained from a state; None when they do not chain.

    Events of one and the same time are ordered so that they chain; which of several such orders is taken
    does not matter, since all lead to the same state.
    """
    times = {event.iri: instant(event.at) for event in events}
    if None in times.values():
        return None
    ordered: list[Event] = []
    state = start
    by_time = sorted(events, key=lambda event: (times[event.iri], event.iri))
    for _, group in groupby(by_time, key=lambda event: times[event.iri]):
        chained = trail(list(group), state)
        if chained is None:
            return None
        ordered += chained
        state = chained[-1].to_state
    return ordered


def trail(events: list[Event], start: str) -> list[Event] | None:
    """The events as one walk from a state that takes each once (Hierholzer's algorithm), or None."""
    leaving: dict[str, list[Event]] = {}
    for event in sorted(events, key=lambda event: event.iri, reverse=True):
        leaving.setdefault(event.from_state, []).append(event)
    walk: list[Event] = []
    stack: list[tuple[str, Event | None]] = [(start, None)]
    while stack:
        state, taken = stack[-1]
        if leaving.get(state):
            event = leaving[state].pop()
            stack.append((event.to_state, event))
        else:
            stack.pop()
            if taken is not None:
                walk.append(taken)
    walk.reverse()
    state = start
    for event in walk:
        if event.from_state != state:
            return None
        state = event.to_state
    return walk if len(walk) == len(events) else None


def spellings(at: str) -> tuple[str, ...]:
    """The texts that a stored time may have been signed as: the dataset writes the zone UTC as `Z`."""
    return (at, f"{at[:-1]}+00:00", f"{at[:-1]}-00:00") if at.endswith("Z") else (at,)


def verifies(event: Event, registrations: Iterable[Registration]) -> bool:
    """Whether one of the registrations' keys verifies an event's signature, of whichever version it is.

    A version 1 event's time is tried in each of the spellings that are stored alike.
    """
    transition = event.transition()
    times = (event.at,) if transition.from_revision is not None else spellings(event.at)
    candidates = [transition._replace(at=at) for at in times]
    messages = [candidate.message() for candidate in candidates if candidate.ambiguous() is None]
    return any(
        signatures.verify(registration.public_key, event.signature, message)
        for registration in registrations
        if registration.agent in (None, event.performer)
        for message in messages
    )
