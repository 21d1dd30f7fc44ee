"""What a worker asks of a database: the same few calls whether it is in this process or behind HTTP."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from treadle.access.presence import beside
from treadle.errors import InvalidInput, TreadleError
from treadle.model.contract import Contract
from treadle.model.query import Query
from treadle.registry import load


class Answer(Protocol):
    """The receipt of a command."""

    @property
    def outcome(self) -> str: ...
    @property
    def ok(self) -> bool: ...
    @property
    def fields(self) -> Mapping[str, Any]: ...
    @property
    def revisions(self) -> Mapping[str, int]: ...
    @property
    def commit(self) -> int: ...
    @property
    def time(self) -> datetime: ...
    @property
    def replayed(self) -> bool: ...


class PageOf(Protocol):
    """The page of a query."""

    @property
    def ok(self) -> bool: ...
    @property
    def outcome(self) -> str: ...
    @property
    def fields(self) -> Mapping[str, Any]: ...
    @property
    def commit(self) -> int: ...
    @property
    def next(self) -> str | None: ...


class RowOf(Protocol):
    """A stored row."""

    @property
    def revision(self) -> int: ...
    @property
    def fields(self) -> Mapping[str, Any]: ...


class Delivered(Protocol):
    """An event that was given to a consumer."""

    @property
    def token(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def fence(self) -> int: ...
    @property
    def commit(self) -> int: ...
    @property
    def ordinal(self) -> int: ...
    @property
    def time(self) -> datetime: ...
    @property
    def fields(self) -> Mapping[str, Any]: ...


class ConsumerOf(Protocol):
    """A consumer of a stream."""

    def pull(self, limit: int, *, lease: int) -> Sequence[Delivered]:
        """The next events, without waiting."""

    def ack(self, *deliveries: Any) -> Any:
        """Settle deliveries."""

    def nack(self, *deliveries: Any, delay: int, reason: str, failed: bool) -> Any:
        """Give deliveries back."""

    def extend(self, *deliveries: Any, lease: int) -> Any:
        """Hold deliveries for longer."""


Command = tuple[str, Mapping[str, Any]]


class Client(Protocol):
    """A database as one principal sees it."""

    def presenting(self, said: str) -> Client:
        """The same client, whose calls say this beside the instance's name; see `treadle.access.presence`."""

    def generation(self) -> object:
        """A value that differs as soon as another contract or other queries are deployed."""

    def contract(self) -> Contract:
        """The deployed contract."""

    def named_query(self, name: str) -> Query:
        """A deployed query; raises `UnknownName`."""

    def usable(self, names: Sequence[str]) -> Sequence[str]:
        """Those of these commands that the caller may run."""

    def event_source(self, delivery: Any) -> bytes:
        """The identity (32 bytes) of the contract under which an event was emitted."""

    def now(self) -> int:
        """The database's time, in microseconds since 1970."""

    def fresh_id(self) -> uuid.UUID:
        """An id that nobody else has."""

    def run(self, command: str, input: Mapping[str, Any], *, timeout: float | None = None) -> Answer:
        """Run a command."""

    def run_many(
        self, commands: Sequence[Command], *, timeout: float | None = None
    ) -> Sequence[Answer | TreadleError]:
        """Run many; an answer or an error for each."""

    def recall(self, command: str, keys: Sequence[str]) -> Sequence[Answer | TreadleError | None]:
        """What keys were answered."""

    def query(
        self,
        name: str,
        parameters: Mapping[str, Any],
        *,
        after: str | None = None,
        at_least: int | None = None,
    ) -> PageOf:
        """A page of a named query."""

    def row(self, entity: str, key: Sequence[Any]) -> RowOf | None:
        """A row by its key."""

    def consumer(self, event: str, name: str, partition: Any) -> ConsumerOf:
        """A named consumer."""


class Embedded:
    """A client of the database in this process. `acting` is what `db.acting_as(…)` returns."""

    def __init__(self, acting: Any) -> None:
        self._acting = acting
        self._engine = acting._database._engine
        self.run = acting.run
        self.run_many = acting.run_many
        self.query = acting.query

    def __repr__(self) -> str:
        return repr(self._acting)

    def presenting(self, said: str) -> Embedded:
        acting = self._acting
        instance = beside(acting.caller.instance, said)
        return Embedded(type(acting)(acting._database, acting.caller._replace(instance=instance)))

    def generation(self) -> object:
        return self._engine.refresh().generation

    def contract(self) -> Contract:
        contract: Contract = self._engine.refresh().require().contract
        return contract

    def named_query(self, name: str) -> Query:
        state = self._engine.refresh()
        state.roles.check_query(self._acting.caller, name)
        query: Query = state.queries.get(name)
        return query

    def usable(self, names: Sequence[str]) -> Sequence[str]:
        state = self._engine.refresh()
        found: list[str] = state.roles.allowed(self._acting.caller, names, "commands")
        return found

    def event_source(self, delivery: Any) -> bytes:
        with self._engine.store.read() as tx:
            found: dict[int, bytes] = load("streams.events").contracts_of(tx, [delivery.commit])
        if delivery.commit not in found:
            raise InvalidInput("the commit that emitted this event is not in the log", path="event")
        return found[delivery.commit]

    def now(self) -> int:
        with self._engine.store.read() as tx:
            floor: int = tx.head().time
        clock: int = self._engine.clock.now()
        return max(floor, clock)

    @property
    def role(self) -> str:
        """The role that it acts in."""
        role: str | None = self._acting.caller.role
        return role or "owner"

    def behind(self) -> int:
        """How far the clock is behind the last commit, in microseconds; 0 where it is not."""
        clock: int = self._engine.clock.now()
        return max(0, self.now() - clock)

    def fresh_id(self) -> uuid.UUID:
        return uuid.UUID(bytes=self._engine.ids.uuid7(self._engine.clock.now()))

    def recall(self, command: str, keys: Sequence[str]) -> Sequence[Answer | TreadleError | None]:
        found: Sequence[Answer | TreadleError | None] = load("recall").recall(
            self._engine, self._acting.caller, command, keys
        )
        return found

    def row(self, entity: str, key: Sequence[Any]) -> RowOf | None:
        if self._acting.caller.role is not None:
            raise InvalidInput(
                f"a worker in a role reads a row of {entity} by a named query; name one: lookup='Show…'",
                path="lookup",
            )
        row: RowOf | None = self._acting._database.row(entity, key)
        return row

    def consumer(self, event: str, name: str, partition: Any) -> ConsumerOf:
        consumer: ConsumerOf = self._acting.consumer(event, name, partition)
        return consumer


def client_of(on: Any) -> Client:
    """The client for what a worker was given: a client as it is, `db.acting_as(…)`, `treadle.connect(…)`, or
    a generated client over one of these.

    Raises `InvalidInput` for anything else.
    """
    on = getattr(on, "__treadle_transport__", on)
    if hasattr(on, "acting_as"):
        raise InvalidInput(
            "say who the worker acts as: worker.run(db.acting_as('printer-service'))", path="principal"
        )
    if hasattr(on, "working"):
        remote: Client = on.working()
        return remote
    if not hasattr(on, "generation") and getattr(getattr(on, "_database", None), "_engine", None) is None:
        raise InvalidInput(
            "a worker works on db.acting_as('printer-service') or treadle.connect(…); "
            "async functions may be its handlers",
            path="on",
        )
    client: Client = on if hasattr(on, "generation") else Embedded(on)
    return client
