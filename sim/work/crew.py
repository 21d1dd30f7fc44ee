"""The processes of a run: workers of three kinds, and schedulers of two schedules, each of them twice."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Executor
from datetime import timedelta
from typing import Any, Final

from sim.work.process import Pool, Process
from sim.work.seen import Look, Visit
from sim.work.stage import Lock
from sim.work.wire import Line
from sim.work.world import START, World
from treadle.errors import TreadleError
from treadle.workers import Schedule, Turn, Worker
from treadle.workers.claiming import Won
from treadle.workers.renewal import Renewer
from treadle.workers.running import Running

PRESS: Final[dict[str, Any]] = {
    "query": "OpenJobs", "parameters": {"yard": 1}, "claim": "Claim", "finish": "Finish", "retry": "Retry",
    "dead_letter": "Bury", "attempts": 4, "lease": 60, "concurrency": 2, "closed": ("Closed",), "poll": 10.0,
}  # fmt: skip
POST: Final[dict[str, Any]] = {
    "event": "Queued", "lookup": "ShowJob", "claim": "Claim", "finish": "Complete", "dead_letter": "Bury",
    "attempts": 4, "lease": 30, "closed": ("Closed",), "poll": 10.0,
}  # fmt: skip
PACK: Final[dict[str, Any]] = {
    "query": "OpenJobs", "parameters": {"yard": 3}, "claim": "Claim", "finish": "Finish", "lease": 15,
    "backoff": 2.0, "closed": ("Closed",), "poll": 10.0,
}  # fmt: skip
CREW: Final = (("press", PRESS), ("post", POST), ("pack", PACK))
"""What each worker is told, by its name."""

BELLS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("hours", {"every": timedelta(hours=3), "missed": "all", "horizon": timedelta(days=2)}),
    ("nights", {"cron": "30 2 * * *", "zone": "Europe/Berlin", "missed": "latest"}),
)
"""The schedules, by name."""

_FLAKY: Final = 5
_POISON: Final = 6
_NOTING: Final = (1, 7)
_AGAIN: Final = 30.0
"""A scheduler that looks once comes again after so many seconds."""


def crew(world: World, number: int) -> Process:
    """Worker process `number`."""
    return Process(world, number, lambda process: _work(world, process, number))


def bells(world: World, number: int) -> Process:
    """Scheduler process `number`; of two with the same schedule one stays, and one comes now and then."""
    name, options = BELLS[number // 2 % len(BELLS)]
    return Process(world, 100 + number, lambda _: _ring(world, number, name, options))


class Shift(Running):
    """A run of a worker, in the threads of a simulated process."""

    process: Process

    def _pool(self) -> Executor:
        return Pool(self.process)

    def _renewals(self) -> Renewer:
        settings = self._settings
        renewals: Any = Renewals(
            settings.pace, self._plan.seconds, settings.concurrency, self._extend, self._renewed
        )
        renewals.process, renewals._pool = self.process, Pool(self.process)
        return renewals

    def _begin(self, pool: Executor, won: Won) -> None:
        turn: Any = won.turn
        turn._lock = Lock(self.process.world.stage)
        super()._begin(pool, won)


class Renewals(Renewer):
    """Renewals in the threads of a simulated process."""

    process: Process

    def begin(self) -> None:
        self.process.spawn(self._loop)

    def end(self) -> None:
        self._ended = True
        self._wake.set()
        self._pool.shutdown()


def _work(world: World, process: Process, number: int) -> None:
    """A worker process, from its start until somebody tells it to stop, or what is deployed does not fit."""
    name, options = CREW[number // 2 % len(CREW)]
    stop = threading.Event()
    world.stops.append(stop)
    worker = Worker(_handler(world, name, number), name=name, pace=world.pace, **options)
    try:
        shift = Shift(worker.settings, worker._source(), Line(world, number), stop)
        shift.process = process
        shift.loop(False)
    except TreadleError as error:
        world.gave_up.append(error)


def _ring(world: World, number: int, name: str, options: Mapping[str, Any]) -> None:
    schedule = Schedule(name, command="Ring", input={"name": name}, start=START, pace=world.pace, **options)
    world.bells.append(schedule)
    line = Line(world, number)
    try:
        while number % 2 and not schedule._stop.is_set():
            began, errors = line.now(), schedule.counters["errors"]
            schedule.run(line, until_idle=True)
            if schedule.counters["errors"] == errors and not schedule._stop.is_set():
                world.seen.looks.append(Look(name, began, line.now()))
            world.pace.wait(schedule._stop, _AGAIN)
        if not number % 2:
            schedule.run(line)
    except TreadleError as error:
        world.gave_up.append(error)


def _handler(world: World, name: str, number: int) -> Any:
    def handle(row: Mapping[str, Any], turn: Turn) -> Mapping[str, Any]:
        visit = _visit(world, name, number, row, turn)
        world.seen.visits.append(visit)
        _told(world, visit)
        world.seen.inside.append(visit)
        try:
            return _handle(world, visit, row["kind"], turn)
        finally:
            if visit in world.seen.inside:
                world.seen.inside.remove(visit)

    return handle


def _handle(world: World, visit: Visit, kind: int, turn: Turn) -> Mapping[str, Any]:
    """What a job of a kind takes: time, a note, several tries; or nobody can do it at all."""
    for _ in range(kind // 8 % 4):
        world.stage.pause()
        turn.check()
        _told(world, visit)
    if kind % 8 in _NOTING:
        turn.run("Note", {"occasion": visit.occasion})
    tries = turn.item.row.get("tries") or 0
    if (kind % 8 == _POISON and visit.key[0] != 3) or (kind % 8 == _FLAKY and tries < 2):
        raise ValueError("no paper")
    turn.check()
    _told(world, visit)
    return {"occasion": visit.occasion}


def _visit(world: World, name: str, number: int, row: Mapping[str, Any], turn: Turn) -> Visit:
    yard, job = row["yard"], row["job"]
    delivery = turn.item.delivery
    which = f"{yard}/{job}" if delivery is None else f"{delivery.commit}:{delivery.ordinal}"
    _, jumps = world.seen.leases.get((yard, job, turn.fence), (0.0, world.jumps))
    return Visit(number, (yard, job), turn.fence, f"{name} {which}", jumps)


def _told(world: World, visit: Visit) -> None:
    """A handler is told that it holds its job: is it so, by its own clock, and by the database's?"""
    seen, (yard, job) = world.seen, visit.key
    until, _ = seen.leases.get((yard, job, visit.fence), (0.0, 0))
    if world.passed >= until:
        seen.wrong.append(
            f"{visit.occasion}: a handler was told that it holds job {job} by fence {visit.fence}, and the "
            f"lease ended {world.passed - until:g} s ago"
        )
    if visit.jumps != world.jumps:
        return  # the database's clock was set meanwhile, which nobody notices at once
    others = [one for one in seen.inside if one.key == visit.key and one is not visit]
    row = world.row(yard, job) if others else None
    if row is None or row.fields["until"] is None or row.fields["until"].timestamp() * 1e6 <= world.time():
        return
    if any(one.fence == row.fields["fence"] for one in others):
        seen.wrong.append(f"{visit.occasion}: two handlers of job {job} were told that they hold it")
