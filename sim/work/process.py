"""A process of the simulation: its threads, which take turns, and how it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from math import isfinite
from typing import Any

from sim.work.stage import Order, Task
from sim.work.world import World
from treadle.errors import check


class Process:
    """One process. `body` is what its first thread does; when it has ended, the next step begins anew."""

    def __init__(self, world: World, number: int, body: Callable[[Process], object]) -> None:
        self.world = world
        self.number = number
        self._body = body
        self._tasks: list[Task] = []

    def spawn(self, body: Callable[[], object]) -> None:
        """Begin one more thread."""
        self._tasks.append(Task(self.world.stage, body))

    def go_on(self, amount: int, order: Order = "go") -> None:
        """Let one thread go on to its next pause; where all of them sleep, until the first one wakes."""
        alive = self._alive()
        if not alive:
            self.spawn(lambda: self._body(self))
            alive = self._alive()
        passed = self.world.passed
        ready = [task for task in alive if task.ready(passed)]
        if not ready:
            first = min(alive, key=lambda task: task.wakes)
            check(isfinite(first.wakes), f"all threads of process {self.number} wait for one another")
            self.world.advance(max(0.0, first.wakes - passed))
            ready = [first]
        ready[amount % len(ready)].go_on(order)
        if order in ("die before", "die after"):
            self.world.faults[order.replace("die", "crash")] += 1
            self.kill()
        self._look()

    @property
    def wakes(self) -> float:
        """When it goes on by itself, in seconds that have passed: now, if one thread does not sleep."""
        passed = self.world.passed
        return min((passed if task.ready(passed) else task.wakes for task in self._alive()), default=passed)

    def drain(self, most: int) -> bool:
        """Let all threads come to their ends; false if they do not, in so many steps."""
        for count in range(most):
            if not self._alive():
                return True
            self.go_on(count)
        return not self._alive()

    def kill(self) -> None:
        """The process ends at once, with all its threads."""
        for task in self._tasks:
            while not task.ended:
                task.go_on("die before")
        self._look()
        self._tasks.clear()
        seen = self.world.seen
        seen.inside = [visit for visit in seen.inside if visit.process != self.number]

    def _alive(self) -> list[Task]:
        self._tasks = [task for task in self._tasks if not task.ended]
        return self._tasks

    def _look(self) -> None:
        for task in self._tasks:
            if task.failure is not None:
                self.world.seen.wrong.append(f"process {self.number} let out {task.failure!r}")


class Pool(Executor):
    """Runs what is submitted in threads of a process. What it raises nobody expects: it ends the run."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._open = 0
        self._idle = threading.Event()

    def submit(self, act: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._open += 1
        self._idle.clear()

        def run() -> None:
            try:
                result = act(*args, **kwargs)
            finally:
                self._close()
            future.set_result(result)

        self._process.spawn(run)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        while wait and self._open:
            self._process.world.stage.wait(self._idle)

    def _close(self) -> None:
        self._open -= 1
        if not self._open:
            self._idle.set()
