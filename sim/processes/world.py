"""The world of a run: processes on one file, the clock that all are told, and clients that talk meanwhile."""

from __future__ import annotations

import itertools
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import wait
from pathlib import Path
from typing import Final, NamedTuple

from sim.jobs.asking import QUERIES, SOURCE, Failure, Reply
from sim.jobs.clients import Clients, Talk
from sim.jobs.script import HANDLES
from sim.processes.host import PATIENCE, Host
from sim.processes.serving import EPOCH, TICK, Doom, Order
from sim.scenario import Broken, demand
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.store.ids import SystemIds
from treadle.store.sqlite import open_database
from treadle.testing import ManualClock

GONE: Final = Failure("gone", "the process ended before it answered")


class Due(NamedTuple):
    """When a process is to be killed from outside."""

    at: float
    host: Host


class World:
    """Everything that a step can touch."""

    def __init__(self, folder: Path, seed: int, defect: str | None) -> None:
        self.path = folder / f"{seed}.db"
        self.clients = Clients()
        self.faults: Counter[str] = Counter()
        self.now = EPOCH
        self._dice = random.Random(seed)
        self._defect = defect
        self._hosts: list[Host | None] = [None] * HANDLES
        self._dooms: dict[Talk, Doom] = {}
        self._due: list[Due] = []
        self._numbers = itertools.count(1)
        with self.here() as db:
            db.deploy(SOURCE, queries=QUERIES)

    @contextmanager
    def here(self) -> Iterator[Database]:
        """The database, opened in this process as well."""
        ids = SystemIds(random.Random(self._dice.random()).randbytes)
        store = open_database(str(self.path))
        try:
            yield Database(Engine(store, ManualClock(self.now), ids, maximum_jump=None), str(self.path))
        finally:
            store.close()

    def converse(self, talks: Sequence[tuple[Talk, Doom | None]]) -> None:
        """Let clients talk at the same time, each to its end."""
        self._dooms = {talk: doom for talk, doom in talks if doom is not None}
        self._due.clear()
        for talk, _ in talks:
            self._go_on(talk, None)
        while busy := [host for host in self._hosts if host is not None and host.waiting]:
            self._hear(busy)

    def _go_on(self, talk: Talk, reply: Reply) -> None:
        """A client hears a reply and asks the next thing, if there is one."""
        try:
            ask = talk.send(reply)
        except StopIteration:
            return
        # A look before the deed is not what the doom is for.
        doom = None if ask.request.kind == "row" else self._dooms.pop(talk, None)
        host = self._host(ask.handle)
        host.ask(talk, Order(next(self._numbers), self.now, ask.request, doom))
        if doom is not None and doom.how == "soon":
            self._due.append(Due(time.monotonic() + doom.number * TICK, host))

    def _hear(self, busy: Sequence[Host]) -> None:
        """Wait for an answer, for the end of a process, or for the moment to kill one."""
        due = min(self._due, default=None)
        patience = PATIENCE if due is None else max(0.0, due.at - time.monotonic())
        ready = wait([host.pipe for host in busy], patience)
        if due is not None and due.at <= time.monotonic():
            self._due.remove(due)
            due.host.kill()
        elif not ready:
            raise Broken(f"no process answers within {PATIENCE:.0f} s")
        for host in busy:
            if host.pipe in ready:
                self._heard(host)

    def _heard(self, host: Host) -> None:
        served = host.answer()
        if served is None:
            self._died(host)
            return
        talk, doom = host.waiting.pop(served.number)
        if served.failed and doom is not None:
            self.faults[f"disk {doom.kind}"] += 1
        self._go_on(talk, served.reply)

    def _died(self, host: Host) -> None:
        """A process is dead: whoever waited for it does not know what happened."""
        self._hosts[self._hosts.index(host)] = None
        self._due = [due for due in self._due if due.host is not host]
        waiting = list(host.waiting.values())
        dooms = [doom.how for _, doom in waiting if doom is not None and doom.how not in ("soon", "disk")]
        how = "soon" if host.killed else next(iter(dooms), None)
        code = host.buried()
        demand(code == -signal.SIGKILL and how, f"a process ended by itself, with {code}")
        self.faults[f"kill {how}"] += 1
        for talk, _ in waiting:
            self._go_on(talk, GONE)

    def _host(self, number: int) -> Host:
        place = number % HANDLES
        found = self._hosts[place]
        if found is None:
            found = self._hosts[place] = Host(self.path, self._dice.getrandbits(60), self._defect)
        return found

    def reopen(self, number: int) -> None:
        """A process ends by itself."""
        place = number % HANDLES
        found, self._hosts[place] = self._hosts[place], None
        if found is not None:
            found.leave()

    def kill_all(self) -> None:
        """Every process is killed at once, as when a container is taken away."""
        for place, host in enumerate(self._hosts):
            if host is not None:
                host.kill()
                host.buried()
                self.faults["kill idle"] += 1
                self._hosts[place] = None

    def advance(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def close(self) -> None:
        """End every process."""
        for number in range(HANDLES):
            host, self._hosts[number] = self._hosts[number], None
            if host is not None:
                host.kill()
                host.buried()
