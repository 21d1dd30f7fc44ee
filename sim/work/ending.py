"""The end of a run: faults are over, time goes on, and everybody works until there is nothing left to do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from sim.scenario import demand
from sim.work.actions import Play
from sim.work.consumers import SUBJECTS, Books
from sim.work.crew import BELLS
from sim.work.seen import Look, Subject
from sim.work.wire import Line
from sim.work.world import CREW_ROLE, START, World
from treadle.limits import NACK_SECONDS
from treadle.workers import Schedule

ROUNDS: Final = 3_000
"""In so many rounds everything that can be done is done: each lets every process go on once."""
LOOK: Final = 8
"""How many rounds go by between two looks whether it is."""
POST: Final[Subject] = ("Queued", "post", None)
JOBS: Final = tuple((yard, job) for yard in (1, 2, 3) for job in range(6))


def come_to_rest(play: Play) -> None:
    """Let everything come to its end; raises `Broken` where it does not."""
    world = play.world
    world.mend("error")
    world.clock.set(datetime.fromtimestamp(world.time() / 1e6 + 1, UTC))  # the clock is put right
    world.deploy(world.version, [CREW_ROLE])
    _work_off(play)
    for stop in world.stops:
        stop.set()
    for bell in world.bells:
        bell.stop()
    for process in play.processes:
        demand(process.drain(ROUNDS), f"process {process.number} was told to stop, and does not end")
        world.settle()
    _ring(world)
    for subject in SUBJECTS:
        _empty(world, subject)


def _work_off(play: Play) -> None:
    left = ""
    for count in range(ROUNDS):
        if count % LOOK == 0:
            left = _left(play.world)
            if not left:
                return
        first = min(process.wakes for process in play.processes)
        play.world.advance(max(0.0, first - play.world.passed))
        for process in play.processes:
            if process.wakes <= play.world.passed:
                process.go_on(count)
        play.world.settle()
    demand(False, f"it never came to an end: {left}")


def _left(world: World) -> str:
    """What there is still to do, in words."""
    db = world.handle(0)
    if world.seen.inside:
        return f"{world.seen.inside[0].occasion} is still under way"
    for yard, job in JOBS:
        row = db.row("Job", (yard, job))
        if row is not None and row.fields["state"] == "Open":
            return f"job {job} of yard {yard} is still open, {row.fields}"
    event, name, _ = POST
    known = [one for one in db.streams().consumers(event) if one.consumer == name]
    if known and known[0].dead:
        Books(world, POST).decide(db.streams(), None, drop=False, dry_run=False)
    if known and (known[0].open or known[0].behind or known[0].dead):
        return f"{known[0]} has events left"
    return ""


def _ring(world: World) -> None:
    """Every schedule has one more look."""
    for name, options in BELLS:
        bell = Schedule(name, command="Ring", input={"name": name}, start=START, pace=world.pace, **options)
        line = Line(world, 0)
        began = line.now()
        bell.run(line, until_idle=True)
        world.seen.looks.append(Look(name, began, line.now()))


def _empty(world: World, subject: Subject) -> None:
    """A consumer takes everything that is left, and settles it."""
    event, name, partition = subject
    books = Books(world, subject)
    on = world.handle(0).acting_as(name).consumer(event, name, partition)
    for _ in range(60):
        found = books.pull(on, 64, 5, False)
        if found:
            books.ack(on, [one.token for one in found])
            continue
        mine = [one for one in world.handle(0).streams().consumers(event) if one.consumer == name]
        if not mine[0].open and not mine[0].behind:
            books.letters(world.handle(0).streams())
            return
        world.advance(NACK_SECONDS / 12)
    demand(False, f"consumer {name} of {event} is never given the rest")
