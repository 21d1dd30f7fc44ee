"""Processes that take turns: one thread goes on at a time, from one pause to the next, as the script says.

The code that is simulated runs in real threads and believes that it is alone. Wherever it asks the database
something, waits, or is at work for long, it pauses, and gives the stage back to whoever let it go on. So all
its orders of events can be had, and each of them again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from typing import Final, Literal

from treadle.errors import check

Order = Literal["go", "lost", "refuse", "die before", "die after"]
"""What becomes of the call before which a task paused: it is done; done, and its answer lost; not done, for
the database is busy; the process ends before it, or after it and before it hears the answer."""

SECONDS: Final = 20.0
"""Longer than any step: whoever does not come back until then never will."""


class Crash(BaseException):
    """The process is gone. No handler of an error stops this."""


class Task:
    """A thread of a process; it begins when it is first let go on.

    `sleep` is what it sleeps for, if it does: an event that wakes it, and a time.
    """

    def __init__(self, stage: Stage, body: Callable[[], object]) -> None:
        self.order: Order = "go"
        self.ended = False
        self.failure: BaseException | None = None
        self.sleep: tuple[threading.Event, float] | None = None
        self._stage = stage
        self._body = body
        self._turn = threading.Semaphore(0)
        self._thread: threading.Thread | None = None

    @property
    def wakes(self) -> float:
        """When it wakes by itself, in the seconds that have passed."""
        return self.sleep[1] if self.sleep is not None else 0.0

    def ready(self, passed: float) -> bool:
        """Whether it does not sleep."""
        return self.sleep is None or self.sleep[0].is_set() or self.wakes <= passed

    def go_on(self, order: Order) -> None:
        """Let the task run to its next pause, or to its end."""
        if self.ended:
            return
        self.order = order
        before, self._stage.current = self._stage.current, self
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sim", daemon=True)
            self._thread.start()
        else:
            self._turn.release()
        check(self._stage.back.acquire(timeout=SECONDS), "a task neither paused nor ended")
        self._stage.current = before
        if self.ended:
            self._thread.join()

    def pause(self) -> Order:
        """Give the stage back; the order with which the task goes on."""
        self._stage.back.release()
        self._turn.acquire()
        if self.order == "die before":
            raise Crash
        return self.order

    def _run(self) -> None:
        with self:
            if self.order != "die before":
                self._body()

    def __enter__(self) -> None:
        """The thread begins."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """The thread ends. What it lets out is told to the script, which waits for it."""
        self.failure = None if isinstance(error, Crash) else error
        self.ended = True
        self._stage.back.release()
        return True


class Stage:
    """Where tasks run, one at a time. `current` is the one that does; None is the script itself."""

    def __init__(self) -> None:
        self.back = threading.Semaphore(0)
        self.current: Task | None = None

    def pause(self) -> Order:
        """Pause the task that runs; the script itself goes straight on."""
        return "go" if self.current is None else self.current.pause()

    def wait(self, event: threading.Event, until: float = inf) -> None:
        """Let the task that runs sleep: it goes on when the event is set, or when it is time."""
        task = self.current
        if task is not None:
            task.sleep = (event, until)
            task.pause()
            task.sleep = None


class Lock:
    """A reentrant lock between tasks: who waits for it gives the stage away."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._owner: Task | None = None
        self._count = 0
        self._free = threading.Event()

    def acquire(self, blocking: bool = True) -> bool:
        while self._count and self._owner is not self._stage.current:
            if not blocking:
                return False
            self._stage.wait(self._free)
        self._free.clear()
        self._owner, self._count = self._stage.current, self._count + 1
        return True

    def release(self) -> None:
        self._count -= 1
        if not self._count:
            self._free.set()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()
