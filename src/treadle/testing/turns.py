"""A turn without a database, to test a handler as the function that it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from treadle.testing.clock import ManualClock
from treadle.workers.turn import Turn, lease_lost


class FakeTurn:
    """What a handler is given, without a lease behind it: `print_job({"title": "Menu"}, FakeTurn())`.

    It has what `Turn` shows a handler. `answers` gives what `run` returns, by the command's name (a receipt,
    or whatever the handler looks at); `ran` lists what was run, as pairs of command and inputs. `lose` tells
    the handler that the lease is lost. `clock` is the one that `now` reads.
    """

    def __init__(
        self,
        row: Mapping[str, Any] | None = None,
        *,
        fence: int = 1,
        revision: int = 2,
        tries: int | None = 1,
        idempotency_key: str = "attempt-1",
        answers: Mapping[str, Any] | None = None,
        clock: ManualClock | None = None,
    ) -> None:
        self.row = dict(row or {})
        self.fence = fence
        self.revision = revision
        self.tries = tries
        self.idempotency_key = idempotency_key
        self.answers = dict(answers or {})
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self.lost = threading.Event()
        self._clock = clock
        self._on_lost: list[Callable[[], object]] = []

    def lose(self) -> None:
        """The lease is lost: `lost` is set, and `check` and `run` raise `LeaseLost`."""
        self.lost.set()
        for tell in self._on_lost:
            tell()

    def when_lost(self, tell: Callable[[], object]) -> None:
        """Call `tell` when the lease is lost; at once, if it is."""
        self._on_lost.append(tell)
        if self.lost.is_set():
            tell()

    def check(self) -> None:
        """Raise `LeaseLost` if the lease is lost."""
        if self.lost.is_set():
            raise lease_lost()

    def run(self, command: str, inputs: Mapping[str, Any] | None = None) -> Any:
        """Note a command, and return its answer; raises `KeyError` for one that has none in `answers`."""
        self.check()
        self.ran.append((command, dict(inputs or {})))
        if command not in self.answers:
            raise KeyError(f"say what {command} answers: FakeTurn(answers={{{command!r}: …}})")
        return self.answers[command]

    async def run_async(self, command: str, inputs: Mapping[str, Any] | None = None) -> Any:
        """`run`, for an async handler."""
        return self.run(command, inputs)

    def now(self) -> datetime:
        """The clock's time."""
        return self._clock.time if self._clock is not None else datetime.now(UTC)


def lose_lease(turn: Turn, clock: ManualClock) -> None:
    """Let the lease of a real turn run out, in the middle of its handler: call it from there.

    The clock moves to the lease's end, so that anybody may claim the row, and the turn is told, as the
    renewal in the background would tell it a moment later: what it sends from now on is refused.
    """
    clock.advance(timedelta(seconds=turn._plan.seconds))
    turn.lose()
