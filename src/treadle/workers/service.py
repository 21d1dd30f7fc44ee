"""Workers and schedules as a process: the first signal lets turns end, the second ends the process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Protocol

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Runnable(Protocol):
    """A worker or a schedule."""

    @property
    def name(self) -> str: ...

    def check(self, on: Any) -> None:
        """See whether it fits what is deployed."""

    def run(self, on: Any, *, until_idle: bool = False) -> None:
        """Run until stopped, or until there is nothing to do."""

    def stop(self) -> None:
        """Let `run` return when what began has ended."""


def serve(runnables: Sequence[Runnable], on: Any, *, until_idle: bool = False) -> None:
    """Run workers and schedules on `db.acting_as(…)`, each in a thread, until a signal or until all are idle.

    SIGTERM and SIGINT stop what is new and wait for what began. A second one ends the process at once, with
    128 and the signal's number: what was held stays held until its lease ends, and is then taken up by
    others. Where one of them fails for good, the others are stopped too, and its error is raised.
    Signals are heard in the main thread only.
    """
    for one in runnables:
        one.check(on)
    failed: list[BaseException] = []

    def run(one: Runnable) -> None:
        try:
            one.run(on, until_idle=until_idle)
        except BaseException as error:
            failed.append(error)
            stop()
            raise

    def stop() -> None:
        for one in runnables:
            one.stop()

    threads = [threading.Thread(target=run, args=(one,), name=f"treadle-{one.name}") for one in runnables]
    with signals(stop), _quiet_threads():
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(1.0)  # in slices, so that a signal is heard
    if failed:
        raise failed[0]


@contextmanager
def signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on the first signal, and end the process on the second, for the length of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        if len(heard) > 1:
            os._exit(128 + number)
        stop()

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _quiet_threads() -> Iterator[None]:
    """A thread's error is raised where the threads are waited for, not printed where it happened."""
    before = threading.excepthook
    threading.excepthook = lambda args: None
    try:
        yield
    finally:
        threading.excepthook = before
