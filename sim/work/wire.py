"""The line between a process and the database: calls pause before it, and their answers may be lost on it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sim.work.consumers import Books
from sim.work.seen import Subject
from sim.work.stage import Crash
from sim.work.world import World
from treadle.database import Database
from treadle.errors import Busy, OutcomeUnknown, TreadleError
from treadle.model.contract import Contract
from treadle.model.query import Query
from treadle.workers.client import Answer, Embedded, PageOf, RowOf

Result = TypeVar("Result")
_LEASING = ("Claim", "Renew")


class Line:
    """A `treadle.workers.client.Client` of one process, over one handle."""

    def __init__(self, world: World, handle: int, principal: str = "crew", role: str | None = "crew") -> None:
        self._world = world
        self._handle = handle
        self._principal = principal
        self._role = role
        self._said: str | None = None
        self._on: Database | None = None
        self._client: Embedded | None = None

    def presenting(self, said: str) -> Line:
        """The same line, of a process that says something about itself."""
        line = Line(self._world, self._handle, self._principal, self._role)
        line._said = said
        return line

    @property
    def client(self) -> Embedded:
        """The database, whichever process serves it now."""
        db = self._world.handle(self._handle)
        if self._client is None or self._on is not db:
            client = Embedded(db.acting_as(self._principal, role=self._role))
            self._on, self._client = db, client if self._said is None else client.presenting(self._said)
        return self._client

    def ask(self, act: Callable[[Embedded], Result], *, writes: bool = True) -> Result:
        """Ask something, if that is what happens now."""
        order = self._world.stage.pause()
        if order == "refuse":
            self._world.faults["refused"] += 1
            raise Busy("there was no room on purpose; nothing happened")
        try:
            answer = act(self.client)
        except TreadleError:
            if order == "die after":
                raise Crash from None
            raise
        if order == "die after":
            raise Crash
        if order == "lost":
            self._world.faults["answer lost"] += 1
            raise OutcomeUnknown("the answer was lost on purpose") if writes else Busy("lost on purpose")
        return answer

    # What is deployed, and what time it is: of no interest to the script.

    def generation(self) -> object:
        return self.client.generation()

    def contract(self) -> Contract:
        return self.client.contract()

    def named_query(self, name: str) -> Query:
        return self.client.named_query(name)

    def usable(self, names: Sequence[str]) -> Sequence[str]:
        return self.client.usable(names)

    def event_source(self, delivery: Any) -> bytes:
        return self.client.event_source(delivery)

    def now(self) -> int:
        return self.client.now()

    def fresh_id(self) -> uuid.UUID:
        return self.client.fresh_id()

    # What is asked.

    def run(self, command: str, input: Mapping[str, Any], *, timeout: float | None = None) -> Answer:
        return self.ask(lambda client: self._ran(client, command, input))

    def _ran(self, client: Embedded, command: str, input: Mapping[str, Any]) -> Answer:
        answer: Answer = client.run(command, input)
        self._told(command, input, answer)
        return answer

    def run_many(
        self, commands: Sequence[tuple[str, Mapping[str, Any]]], *, timeout: float | None = None
    ) -> Sequence[Answer | TreadleError]:
        try:
            return self.ask(lambda client: self._ran_many(client, commands))
        except (Busy, OutcomeUnknown) as error:
            return [error] * len(commands)

    def _ran_many(
        self, client: Embedded, commands: Sequence[tuple[str, Mapping[str, Any]]]
    ) -> Sequence[Answer | TreadleError]:
        answers: Sequence[Answer | TreadleError] = client.run_many(commands)
        for (command, given), answer in zip(commands, answers, strict=True):
            self._told(command, given, answer)
        return answers

    def _told(self, command: str, given: Mapping[str, Any], answer: Any) -> None:
        """Note what the database said, whoever hears it; and how long a lease lasts that it gave."""
        world = self._world
        world.seen.receipt(given["key"], answer)
        if command in _LEASING and getattr(answer, "ok", False) and not answer.replayed:
            row = answer.fields["it"]
            lease = (row["yard"], row["job"], row["fence"])
            world.seen.leases[lease] = (world.passed + given["seconds"], world.jumps)

    def recall(self, command: str, keys: Sequence[str]) -> Sequence[Answer | TreadleError | None]:
        return self.ask(lambda client: client.recall(command, keys), writes=False)

    def query(
        self,
        name: str,
        parameters: Mapping[str, Any],
        *,
        after: str | None = None,
        at_least: int | None = None,
    ) -> PageOf:
        def page(client: Embedded) -> PageOf:
            found: PageOf = client.query(name, parameters, after=after, at_least=at_least)
            return found

        return self.ask(page, writes=False)

    def row(self, entity: str, key: Sequence[Any]) -> RowOf | None:
        return self.ask(lambda client: client.row(entity, key), writes=False)

    def consumer(self, event: str, name: str, partition: Any) -> Asked:
        return Asked(self, Books(self._world, (event, name, partition)))


class Asked:
    """A consumer at the other end of a line."""

    def __init__(self, line: Line, books: Books) -> None:
        self._line = line
        self._books = books

    def pull(self, limit: int, *, lease: int, strict: bool = False) -> Sequence[Any]:
        return self._ask(lambda books, on: books.pull(on, limit, lease, strict))

    def ack(self, *deliveries: Any) -> Any:
        return self._ask(lambda books, on: books.ack(on, _tokens(deliveries)))

    def nack(self, *deliveries: Any, delay: int = 0, reason: str = "", failed: bool = True) -> Any:
        return self._ask(lambda books, on: books.nack(on, _tokens(deliveries), delay, failed))

    def extend(self, *deliveries: Any, lease: int) -> Any:
        return self._ask(lambda books, on: books.extend(on, _tokens(deliveries), lease))

    def _ask(self, act: Callable[[Books, Any], Result]) -> Result:
        event, name, partition = self._books.subject
        return self._line.ask(lambda client: act(self._books, client.consumer(event, name, partition)))


def _tokens(deliveries: Sequence[Any]) -> list[str]:
    return [one if isinstance(one, str) else one.token for one in deliveries]


__all__ = ["Asked", "Line", "Subject"]
