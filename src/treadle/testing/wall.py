"""Python's wall clock, moved together with a manual clock.

time-machine puts its own time behind the functions of `time` and `datetime` that tell the wall clock's, in C,
so that it does not matter who imported them when. Clocks that only count on (`time.monotonic`,
`time.perf_counter`) and everything that waits go on as ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final, Protocol

from treadle.errors import ConfigError

if TYPE_CHECKING:
    from time_machine import Traveller

_ZONE: Final = timezone(timedelta(minutes=1))
"""Some zone. time-machine would make UTC or a named one the local zone of the process too."""
_EPOCH: Final = datetime(1970, 1, 1, 0, 1, tzinfo=_ZONE)
_LOCK: Final = threading.RLock()
_MOVING: Final[list[Moved]] = []
_JOURNEY: Final[list[tuple[Callable[[], None], Traveller]]] = []
"""At most one, however many clocks move: how to end it, and what moves it. Clocks may leave in any order."""


class Moved(Protocol):
    """A clock that says when it was moved."""

    moved: list[Callable[[], None]]

    def now(self) -> int: ...


@contextmanager
def moved_by(clock: Moved) -> Iterator[None]:
    """Let Python's wall clock show what `clock` does, for the length of the block.

    Within another such block it is the clock of the innermost that counts. Raises `ConfigError` without
    time-machine.
    """
    _enter(clock)
    try:
        yield
    finally:
        _leave(clock)


def _enter(clock: Moved) -> None:
    try:
        import time_machine
    except ImportError:
        raise ConfigError(
            "a clock that moves Python's time needs time-machine: pip install 'treadle[testing]'"
        ) from None
    with _LOCK:
        if not _JOURNEY:
            travel = time_machine.travel(_datetime(clock), tick=False)
            _JOURNEY.append((travel.stop, travel.start()))
        _MOVING.append(clock)
        clock.moved.append(_follow)
        _follow()


def _leave(clock: Moved) -> None:
    with _LOCK:
        clock.moved.remove(_follow)
        del _MOVING[_last(clock)]
        if _MOVING:
            _follow()
        else:
            end, _ = _JOURNEY.pop()
            end()


def _last(clock: Moved) -> int:
    return max(place for place, one in enumerate(_MOVING) if one is clock)


def _follow() -> None:
    with _LOCK:
        _JOURNEY[0][1].move_to(_datetime(_MOVING[-1]))


def _datetime(clock: Moved) -> datetime:
    return _EPOCH + timedelta(microseconds=clock.now())
