"""A process as the simulator holds it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Final

from sim.jobs.clients import Talk
from sim.processes.serving import Doom, Order, Served, main
from sim.scenario import Broken
from tests.support.processes import context

PATIENCE: Final = 60.0


class Host:
    """A running process, and who waits for its answers, with what is to befall it meanwhile."""

    def __init__(self, path: Path, seed: int, defect: str | None) -> None:
        self.pipe, theirs = context().Pipe()
        self.waiting: dict[int, tuple[Talk, Doom | None]] = {}
        self.killed = False
        self._process = context().Process(target=main, args=(theirs, str(path), seed, defect), daemon=True)
        self._process.start()
        theirs.close()  # so that the pipe ends when the process does

    def ask(self, talk: Talk, order: Order) -> None:
        """Send what a client asks. A process that has died meanwhile is found out when it is read from."""
        self.waiting[order.number] = talk, order.doom
        try:
            self.pipe.send(order)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def answer(self) -> Served | None:
        """The next answer, which has come; None if the process is dead."""
        try:
            served: Served = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            return None
        return served

    def kill(self) -> None:
        """SIGKILL."""
        self.killed, pid = True, self._process.pid
        if pid is not None and self._process.is_alive():
            os.kill(pid, signal.SIGKILL)

    def buried(self) -> int | None:
        """Wait for the end of a process that is ending; its exit code."""
        self._process.join(PATIENCE)
        code = self._process.exitcode
        self.pipe.close()
        self._process.close()
        return code

    def leave(self) -> None:
        """Ask the process to end by itself, and wait for it."""
        try:
            self.pipe.send(None)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self._process.join(PATIENCE)
        if self._process.exitcode is None:
            self.kill()
            raise Broken("a process does not end when it is asked to")
        self.buried()
