"""Tails: reading a stream from a place on, without a consumer; nothing is kept and nothing is settled."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from treadle import limits
from treadle.access.caller import Caller
from treadle.engine.core import Engine
from treadle.engine.grants import confirm
from treadle.errors import InvalidInput
from treadle.streams import retention
from treadle.streams.consumer import Consumer
from treadle.streams.events import Event, events_of
from treadle.streams.jobs import Start, Subject, admit, beginning
from treadle.streams.operations import check_start
from treadle.streams.positions import BEGINNING, cursor_text, read_cursor


class Tail:
    """A reader of a stream, or of one partition of it. `cursor` is the place after the last event it gave.

    `after` is a cursor from which to go on, `start` where to begin without one. A cursor from before a
    restore raises `HistoryChanged`; one from before the oldest event that is kept raises `InvalidInput`
    (`cursor_expired`).
    """

    def __init__(
        self,
        engine: Engine,
        caller: Caller,
        event: str,
        partition: Any = None,
        *,
        after: str | None = None,
        start: Start = "oldest",
    ) -> None:
        check_start(start)
        self._engine = engine
        self._caller = caller
        self._subject = Subject(event, "", partition, start)
        self._history: str | None = None
        self._position = BEGINNING
        state = confirm(engine, caller, engine.clock.now())
        admit(state, caller, self._subject)
        self._begin(state.history, after)

    def _begin(self, history: str, after: str | None) -> None:
        with self._engine.store.read() as tx:
            if after is None:
                self._position = beginning(tx, self._subject.event, self._subject.start)
            else:
                self._position = read_cursor(after, history)
                if self._position < retention.floor(tx, self._subject.event):
                    raise InvalidInput(
                        "events after this cursor have left the stream; start from the oldest that is kept",
                        path="after",
                        code="cursor_expired",
                    )
        self._history = history

    @property
    def cursor(self) -> str:
        """Where to go on later, in this process or another."""
        return cursor_text(self._history or "", self._position)

    def read(self, limit: int = limits.PULL_EVENTS) -> list[Event]:
        """The next events, at most `limit`, without waiting; permission is checked anew each time."""
        state = confirm(self._engine, self._caller, self._engine.clock.now())
        partition = admit(state, self._caller, self._subject)
        if state.history != self._history:
            read_cursor(self.cursor, state.history)
        with self._engine.store.read() as tx:
            stored = tx.events(self._subject.event, partition, self._position, limit)
            found = events_of(tx, state.require(), stored, state.history)
        if found:
            self._position = found[-1].position
        return found

    def follow(self, *, stop: threading.Event | None = None, idle: float | None = None) -> Iterator[Event]:
        """Events as they come, for ever; until `stop` is set, or nothing came for `idle` seconds."""
        pauses, since = Consumer.pauses(), time.monotonic()
        while stop is None or not stop.is_set():
            found = self.read()
            yield from found
            if found:
                pauses, since = Consumer.pauses(), time.monotonic()
                continue
            if idle is not None and time.monotonic() - since >= idle:
                return
            pause = next(pauses)
            if stop is None:
                time.sleep(pause)
            else:
                stop.wait(pause)
