"""What each step does."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from sim.work.consumers import SUBJECTS, Books
from sim.work.crew import bells, crew
from sim.work.process import Process
from sim.work.script import BELLS, CREW, Fate, Step
from sim.work.seen import Stretch
from sim.work.stage import Order
from sim.work.world import CREW_ROLE, START, World
from tests.faults.vfs import KINDS, Keep
from treadle.access.roles import Role
from treadle.errors import InvalidInput, TreadleError
from treadle.streams import Tail

_ORDERS: Final[dict[Fate, Order]] = {
    "heard": "go",
    "lost": "lost",
    "refused": "refuse",
    "crash before": "die before",
    "crash after": "die after",
}
_WINDOWS: Final = (60, 3_600, 86_400)
_TIMES: Final = (0, 0, 1, 5, 61)


class Play:
    """A world with everybody in it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.crew = [crew(world, number) for number in range(CREW)]
        self.bells = [bells(world, number) for number in range(BELLS)]
        self.tokens: list[list[str]] = [[] for _ in SUBJECTS]
        self.cursor: str | None = None
        self.count = 0

    def act(self, step: Step) -> None:
        """Carry out one step; errors of the database are part of life and end it."""
        try:
            _ACTS[step.kind](self, step)
        except TreadleError:
            pass
        self.world.settle()

    @property
    def processes(self) -> list[Process]:
        return [*self.crew, *self.bells]

    def end(self) -> None:
        for process in self.processes:
            process.kill()

    # The desk.

    def add(self, step: Step) -> None:
        yard = 1 + step.amount % 3
        command = "Add" if yard == 3 or (yard == 1 and step.many % 2) else "Queue"
        body = {"yard": yard, "job": step.what, "kind": step.amount // 3 % 64, "due": START}
        self._desk(step, command, body)

    def remind(self, step: Step) -> None:
        self._desk(step, "Remind", {"yard": 1 + step.amount % 2, "job": step.what})

    def _desk(self, step: Step, command: str, body: dict[str, Any]) -> None:
        """Somebody sends a command, and again if he heard nothing."""
        self.count += 1
        body["key"] = f"desk-{self.count}"
        for handle in range(step.who, step.who + (1 if step.fate == "heard" else 2)):
            answer = self.world.handle(handle).run(command, body, principal="desk")
            self.world.seen.receipt(body["key"], answer)

    # Processes.

    def work(self, step: Step) -> None:
        self._go_on(self.crew[step.who % CREW], step)

    def ring(self, step: Step) -> None:
        self._go_on(self.bells[step.who % BELLS], step)

    def _go_on(self, process: Process, step: Step) -> None:
        for number in range(step.many - 1):
            process.go_on(step.amount >> number)
        process.go_on(step.amount >> step.many, _ORDERS[step.fate])

    # Consumers.

    def _books(self, step: Step) -> tuple[Books, Any, list[str]]:
        place = step.who % len(SUBJECTS)
        event, name, partition = SUBJECTS[place]
        on = self.world.handle(step.who).acting_as(name).consumer(event, name, partition)
        return Books(self.world, SUBJECTS[place]), on, self.tokens[place]

    def pull(self, step: Step) -> None:
        books, on, tokens = self._books(step)
        lease = 5 + step.amount % 60
        found = books.pull(on, 1 + step.many % 5, lease, strict=step.amount % 3 == 0)
        if step.fate in ("heard", "refused"):
            tokens += [one.token for one in found]
        books.look(self.world.handle(step.who).streams())

    def _chosen(self, step: Step, tokens: list[str]) -> list[str]:
        """Tokens, mostly of the last pull, now and then old ones, or the same one twice."""
        if step.amount % 5 == 0:
            return random.Random(step.amount).choices(tokens, k=2)
        return tokens[-1 - step.many % 4 :]

    def settle(self, step: Step) -> None:
        books, on, tokens = self._books(step)
        chosen = self._chosen(step, tokens) if tokens else []
        for _ in range(1 if step.fate == "heard" else 2 if chosen else 0):
            if not chosen:
                return
            if step.kind == "ack":
                books.ack(on, chosen)
            elif step.kind == "nack":
                books.nack(on, chosen, _TIMES[step.amount % len(_TIMES)], failed=step.amount % 4 > 0)
            else:
                books.extend(on, chosen, 5 + step.amount % 90)
        books.look(self.world.handle(step.who).streams())

    def fumble(self, step: Step) -> None:
        """A consumer that can do nothing with an event, until it is taken away."""
        books, on, tokens = self._books(step)
        for _ in range(12):
            found = books.pull(on, 1, 30, strict=True)
            if not found:
                return
            tokens.append(found[0].token)
            books.nack(on, [found[0].token], 0, failed=True)

    def letters(self, step: Step) -> None:
        books, _, _ = self._books(step)
        streams = self.world.handle(step.who).streams()
        ids = books.letters(streams)
        chosen = None if step.amount % 2 else ids[:1]
        drop = step.amount % 3 == 0
        books.decide(streams, chosen, drop=drop, dry_run=True)
        if step.amount % 4:
            books.decide(streams, chosen, drop=drop, dry_run=False)

    def tail(self, step: Step) -> None:
        acting = self.world.handle(step.who).acting_as("tail")
        lost = False
        try:
            tail: Tail = acting.tail("Queued", after=self.cursor)
        except InvalidInput as error:
            if error.code != "cursor_expired":
                raise
            tail, lost = acting.tail("Queued"), True
        after = tail._position
        places = [(one.commit, one.ordinal) for one in tail.read(step.many)]
        if step.fate == "heard":
            self.cursor = tail.cursor
        self.world.seen.stretches.append(Stretch(after, places, lost))

    # Operators.

    def keep(self, step: Step) -> None:
        seconds = _WINDOWS[step.amount % len(_WINDOWS)]
        self.world.seen.windows.append(seconds)
        self.world.handle(step.who).streams().retain(_event(step), timedelta(seconds=seconds))

    def sweep(self, step: Step) -> None:
        self.world.handle(step.who).streams().sweep(_event(step))

    def deploy(self, step: Step) -> None:
        self.world.deploy(self.world.version + 1, [CREW_ROLE])

    def revoke(self, step: Step) -> None:
        """The crew may do less than it needs, or everything again."""
        self.world.faults["role changed"] += 1
        self.world.deploy(self.world.version, [_roles(step.amount)])

    # Misfortune.

    def reopen(self, step: Step) -> None:
        self.world.drop(step.who)
        for process in self.processes:
            if process.number % 3 == step.who % 3:
                process.kill()

    def power(self, step: Step) -> None:
        keeps: tuple[Keep, ...] = ("none", "all", random.Random(step.amount))
        for process in self.processes:
            process.kill()
        self.world.cut(keeps[step.amount % 3])

    def disk(self, step: Step) -> None:
        """The disk fails somewhere in what everybody does next."""
        kind = KINDS[step.amount % len(KINDS)]
        self.world.fail(1 + step.amount % 23, kind)
        for number in range(step.many):
            process = self.processes[(step.amount >> number) % len(self.processes)]
            self._go_on(process, step._replace(fate="heard", many=3))
        self.world.mend(kind)


def _event(step: Step) -> str:
    return ("Queued", "Ended")[step.many % 2]


def _roles(amount: int) -> Role:
    without = (None, "Claim", "Finish", "Complete", "OpenJobs", "ShowJob", "Queued", "Release")[amount % 8]
    return Role(
        "crew",
        commands=tuple(one for one in CREW_ROLE.commands if one != without),
        queries=tuple(one for one in CREW_ROLE.queries if one != without),
        streams=tuple(one for one in CREW_ROLE.streams if one != without),
    )


_ACTS: Final[dict[str, Callable[[Play, Step], None]]] = {
    "add": Play.add,
    "remind": Play.remind,
    "work": Play.work,
    "ring": Play.ring,
    "pull": Play.pull,
    "ack": Play.settle,
    "nack": Play.settle,
    "extend": Play.settle,
    "fumble": Play.fumble,
    "letters": Play.letters,
    "tail": Play.tail,
    "keep": Play.keep,
    "sweep": Play.sweep,
    "advance": lambda play, step: play.world.advance(step.amount),
    "jump": lambda play, step: play.world.jump(step.amount),
    "reopen": Play.reopen,
    "power": Play.power,
    "disk": Play.disk,
    "deploy": Play.deploy,
    "revoke": Play.revoke,
}
