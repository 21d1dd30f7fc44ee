"""What a module written by `treadle generate python` imports: base classes, types and small readers.

A command of such a module is a value: it knows its name, its input and how to read its receipt. A client runs
commands on a transport, names the contract that it was written for, and states the history incarnation that
it relies on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, TypeVar
from uuid import UUID

from treadle.client.transport import AsyncTransport, Opened, Transport, acting
from treadle.engine.receipt import Receipt
from treadle.errors import ContractMismatch, TreadleError
from treadle.queries.page import Page

if TYPE_CHECKING:
    from treadle.why import Why

OutcomeT = TypeVar("OutcomeT", covariant=True)
Answered = TypeVar("Answered")
Value = TypeVar("Value")
Fields = Mapping[str, Any]
Progress = Callable[[int, int], None]

CHUNK: Final = 1_000
"""Commands of a batch between two calls of `progress`."""


class Call(NamedTuple):
    """A command's name and its input by the names of the contract."""

    name: str
    input: dict[str, Any]


class Asked(NamedTuple):
    """A query's name, the identity of its text, and its parameters."""

    name: str
    identity: str
    parameters: dict[str, Any]


class Command(Protocol[OutcomeT]):
    """A command with its input; `OutcomeT` is the union of its outcomes."""

    def __treadle_call__(self) -> Call: ...
    def __treadle_read__(self, receipt: Receipt) -> OutcomeT: ...


class Query(Protocol[OutcomeT]):
    """A query with its parameters; `OutcomeT` is the union of its outcomes."""

    def __treadle_call__(self) -> Asked: ...
    def __treadle_read__(self, page: Page) -> OutcomeT: ...


def maybe(read: Callable[[Any], Value], value: Any) -> Value | None:
    """A value that may be absent."""
    return None if value is None else read(value)


def optional(read: Callable[[Any], Value]) -> Callable[[Any], Value | None]:
    """A reader of values that may be absent."""
    return lambda value: None if value is None else read(value)


def each(read: Callable[[Any], Value]) -> Callable[[Any], tuple[Value, ...]]:
    """A reader of lists."""
    return lambda values: tuple([read(value) for value in values])


def unknown(answer: Receipt | Page) -> ContractMismatch:
    """The error of an outcome that the module does not know."""
    return ContractMismatch(
        f"the answer is {answer.outcome}, which the contract of this client does not declare; "
        "generate the client again"
    )


def _read(read: Callable[[Any], Answered], answer: Receipt | Page) -> Answered:
    try:
        return read(answer)
    except (KeyError, TypeError, ValueError) as error:
        raise ContractMismatch(
            f"the answer {answer.outcome} (commit {answer.commit}) was recorded under another contract than "
            "the one that this client was written for; read its receipt with the client of that contract"
        ) from error


class _Base:
    """What both kinds of client keep.

    `history` is the history incarnation that the client relies on. It is learned from the first answer, and
    stated with every command: after a restore, what the client has read may be gone, and its commands are
    refused as `history_changed`. Read the state again, then set `history` to None.
    """

    CONTRACT: ClassVar[str] = ""
    """The identity of the contract that the module was written for."""

    def __init__(self, history: str | None) -> None:
        self.history = history

    def _learn(self, answer: Receipt | Page) -> None:
        if self.history is None:
            self.history = answer.history

    def _take(self, command: Command[Answered], receipt: Receipt) -> Answered:
        self._learn(receipt)
        return _read(command.__treadle_read__, receipt)

    def _show(self, query: Query[Answered], page: Page) -> Answered:
        self._learn(page)
        return _read(query.__treadle_read__, page)

    def _take_each(
        self, commands: Sequence[Command[Answered]], answers: Sequence[Receipt | TreadleError]
    ) -> list[Answered | TreadleError]:
        found: list[Answered | TreadleError] = []
        for command, answer in zip(commands, answers, strict=True):
            try:
                found.append(answer if isinstance(answer, TreadleError) else self._take(command, answer))
            except ContractMismatch as error:
                found.append(error)
        return found


class Client(_Base):
    """The base of a generated client.

    `transport` is `db.acting_as(…)`, `treadle.connect(…)`, or an open database with `principal` (and `role`).
    """

    def __init__(
        self,
        transport: Transport | Opened,
        *,
        principal: str | None = None,
        role: str | None = None,
        history: str | None = None,
    ) -> None:
        super().__init__(history)
        self._transport: Transport = acting(transport, principal, role)
        self.__treadle_transport__ = self._transport  # what `treadle.Worker.run` takes a client for

    def run(self, command: Command[Answered], *, timeout: float | None = None) -> Answered:
        """Run a command; returns one of its outcomes. What is raised: see `treadle.Acting.run`."""
        name, given = command.__treadle_call__()
        receipt = self._transport.run(
            name, given, timeout=timeout, history=self.history, contract=self.CONTRACT
        )
        return self._take(command, receipt)

    def run_many(
        self,
        commands: Sequence[Command[Answered]],
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> list[Answered | TreadleError]:
        """Run many commands, each by itself: in order, an outcome or the error object of each.

        `timeout` bounds every 1,000 of them. `progress` is called with commands answered and in all.
        """
        found: list[Answered | TreadleError] = []
        for chunk in _chunks(commands):
            calls = [command.__treadle_call__() for command in chunk]
            answers = self._transport.run_many(
                calls, timeout=timeout, history=self.history, contract=self.CONTRACT
            )
            found += self._take_each(chunk, answers)
            if progress is not None:
                progress(len(found), len(commands))
        return found

    def query(
        self,
        query: Query[Answered],
        *,
        after: str | None = None,
        at_least: int | None = None,
        timeout: float | None = None,
    ) -> Answered:
        """A page of a named query; see `treadle.Acting.query`."""
        return self._show(query, self._page(query, after, at_least, timeout))

    def pages(self, query: Query[Answered], *, at_least: int | None = None) -> Iterator[Answered]:
        """The pages of a named query, one after another; see `treadle.Acting.pages`."""
        page = self._page(query, None, at_least, None)
        yield self._show(query, page)
        while page.next is not None:
            page = self._page(query, page.next, page.commit, None)
            yield self._show(query, page)

    def why(self, entity: str, key: Sequence[Any] | Any, *, unmasked: bool = False) -> Why:
        """Say what stands in the way of one row, by its entity's name; see `treadle.Acting.why`."""
        return self._transport.why(entity, key, unmasked=unmasked)

    def _page(
        self, query: Query[Any], after: str | None, at_least: int | None, timeout: float | None
    ) -> Page:
        name, identity, parameters = query.__treadle_call__()
        return self._transport.query(
            name,
            parameters,
            after=after,
            at_least=at_least,
            history=self.history,
            timeout=timeout,
            contract=self.CONTRACT,
            identity=identity,
        )


class AsyncClient(_Base):
    """The base of a generated client for asyncio; see `Client` for what each method does."""

    def __init__(
        self,
        transport: AsyncTransport | Opened,
        *,
        principal: str | None = None,
        role: str | None = None,
        history: str | None = None,
    ) -> None:
        super().__init__(history)
        self._transport: AsyncTransport = acting(transport, principal, role)

    async def run(self, command: Command[Answered], *, timeout: float | None = None) -> Answered:
        """See `Client.run`."""
        name, given = command.__treadle_call__()
        receipt = await self._transport.run(
            name, given, timeout=timeout, history=self.history, contract=self.CONTRACT
        )
        return self._take(command, receipt)

    async def run_many(
        self,
        commands: Sequence[Command[Answered]],
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> list[Answered | TreadleError]:
        """See `Client.run_many`."""
        found: list[Answered | TreadleError] = []
        for chunk in _chunks(commands):
            calls = [command.__treadle_call__() for command in chunk]
            answers = await self._transport.run_many(
                calls, timeout=timeout, history=self.history, contract=self.CONTRACT
            )
            found += self._take_each(chunk, answers)
            if progress is not None:
                progress(len(found), len(commands))
        return found

    async def query(
        self,
        query: Query[Answered],
        *,
        after: str | None = None,
        at_least: int | None = None,
        timeout: float | None = None,
    ) -> Answered:
        """See `Client.query`."""
        return self._show(query, await self._page(query, after, at_least, timeout))

    async def pages(self, query: Query[Answered], *, at_least: int | None = None) -> AsyncIterator[Answered]:
        """See `Client.pages`."""
        page = await self._page(query, None, at_least, None)
        yield self._show(query, page)
        while page.next is not None:
            page = await self._page(query, page.next, page.commit, None)
            yield self._show(query, page)

    async def why(self, entity: str, key: Sequence[Any] | Any, *, unmasked: bool = False) -> Why:
        """See `Client.why`."""
        return await self._transport.why(entity, key, unmasked=unmasked)

    async def _page(
        self, query: Query[Any], after: str | None, at_least: int | None, timeout: float | None
    ) -> Page:
        name, identity, parameters = query.__treadle_call__()
        return await self._transport.query(
            name,
            parameters,
            after=after,
            at_least=at_least,
            history=self.history,
            timeout=timeout,
            contract=self.CONTRACT,
            identity=identity,
        )


def _chunks(commands: Sequence[Command[Answered]]) -> Iterator[Sequence[Command[Answered]]]:
    for start in range(0, len(commands), CHUNK):
        yield commands[start : start + CHUNK]


__all__ = [
    "UUID",
    "Asked",
    "AsyncClient",
    "AsyncIterator",
    "Call",
    "Client",
    "Command",
    "Decimal",
    "Fields",
    "Iterator",
    "Page",
    "Query",
    "Receipt",
    "Sequence",
    "date",
    "datetime",
    "each",
    "maybe",
    "optional",
    "unknown",
]
