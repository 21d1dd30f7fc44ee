"""A database behind HTTP: the methods of `db.acting_as(…)`, for the principal whose token is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import httpx2

from treadle.client.batches import Command, Progress
from treadle.client.calls import Ask, Calls, Reliance
from treadle.client.exchange import Policy
from treadle.client.http import AsyncHttp, Http, settings
from treadle.client.interface import Interface
from treadle.engine.receipt import Receipt
from treadle.errors import InvalidInput, TreadleError
from treadle.history import Entry
from treadle.model.showing import plain_json
from treadle.queries.page import Page
from treadle.registry import load

if TYPE_CHECKING:
    from treadle.client.working import Working
    from treadle.why import Why, WhyRun

ATTEMPTS: Final = 5
TIMEOUT: Final = 30.0
ATTEMPT_TIMEOUT: Final = 10.0


def connect(
    url: str,
    *,
    token: str | None = None,
    instance: str | None = None,
    attempts: int = ATTEMPTS,
    timeout: float = TIMEOUT,
    attempt_timeout: float = ATTEMPT_TIMEOUT,
    http: httpx2.Client | None = None,
) -> Remote:
    """A client of the server at `url`, such as `http://127.0.0.1:7480`. Nothing is sent yet.

    The principal is the one that `token` was given to; `instance` says which process of it calls (recorded,
    not compared), such as `host-7/4242`. A call is tried at most `attempts` times and ends after about
    `timeout` seconds, an attempt after `attempt_timeout`. What is repeated is what certainly did nothing, a
    read, or a command with its idempotency key: never the same command under another key.

    `http` takes an `httpx2.Client` of your own (proxies, certificates); it is then yours to close. Any number
    of threads may share a client. Raises `InvalidInput` for an address or token that cannot be one.
    """
    made = settings(url, token, instance)
    policy = _policy(attempts, timeout, attempt_timeout)
    if http is None:
        return Remote(Http(httpx2.Client(**made)), Calls(policy), url, owned=True)
    http.base_url, http.headers = made["base_url"], {**http.headers, **made["headers"]}
    return Remote(Http(http), Calls(policy), url, owned=False)


def connect_async(
    url: str,
    *,
    token: str | None = None,
    instance: str | None = None,
    attempts: int = ATTEMPTS,
    timeout: float = TIMEOUT,
    attempt_timeout: float = ATTEMPT_TIMEOUT,
    http: httpx2.AsyncClient | None = None,
) -> AsyncRemote:
    """`connect` for asyncio: the same calls, awaited."""
    made = settings(url, token, instance)
    policy = _policy(attempts, timeout, attempt_timeout)
    if http is None:
        return AsyncRemote(AsyncHttp(httpx2.AsyncClient(**made)), Calls(policy), url, owned=True)
    http.base_url, http.headers = made["base_url"], {**http.headers, **made["headers"]}
    return AsyncRemote(AsyncHttp(http), Calls(policy), url, owned=False)


def _policy(attempts: int, timeout: float, attempt_timeout: float) -> Policy:
    if attempts < 1:
        raise InvalidInput("write 1 or more", path="attempts")
    for name, seconds in (("timeout", timeout), ("attempt_timeout", attempt_timeout)):
        if not 0 < seconds < 86_400:
            raise InvalidInput("write a number of seconds above 0", path=name)
    return Policy(attempts, timeout, attempt_timeout)


class Remote:
    """A database behind HTTP, as the principal of a token sees it. A context manager; or `close` it."""

    def __init__(self, http: Http, calls: Calls, url: str, *, owned: bool) -> None:
        self._http = http
        self._calls = calls
        self._owned = owned
        self.url = url

    def __enter__(self) -> Remote:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Closing twice is fine."""
        if self._owned:
            self._http.client.close()

    def __repr__(self) -> str:
        return f"<treadle.Remote {self.url}>"

    def contract(self) -> dict[str, Any]:
        """What is deployed (`name`, `version`, `identity`), the `history` incarnation, and the `commands` and
        `queries` that the caller may use."""
        return self._http.drive(self._calls.contract())

    def interface(self) -> Interface:
        """The types, commands and queries that the caller may use, from which clients are written."""
        return self._http.drive(self._calls.interface())

    def run(
        self,
        command: str,
        input: Mapping[str, Any] | Any,
        *,
        timeout: float | None = None,
        history: str | None = None,
        contract: str | None = None,
    ) -> Receipt:
        """Run one command; see `treadle.Acting.run`, whose receipts and errors these are.

        `timeout` bounds all attempts together, in seconds. `contract` is the identity of the contract that
        the caller was made for. Raised besides: `Unreachable` (as far as is known nothing happened) and
        `OutcomeUnknown`, when the attempts are used up and one of them may have been carried out: repeat the
        same key later to learn what happened.
        """
        return self._http.drive(self._calls.run(command, input, timeout, Reliance(history, contract)))

    def run_many(
        self,
        commands: Sequence[Command],
        *,
        timeout: float | None = None,
        history: str | None = None,
        contract: str | None = None,
        progress: Progress | None = None,
    ) -> list[Receipt | TreadleError]:
        """Run many commands, up to 1,000 in a request; not all-or-nothing.

        Returns for each input, in order, a receipt or the error object; both answer `.ok`. `progress` is
        called with commands answered and in all. Without `timeout` each request has the client's own.
        """
        on = Reliance(history, contract)
        return self._http.drive(self._calls.run_many(commands, timeout, on, progress))

    def query(
        self,
        name: str,
        parameters: Mapping[str, Any] | Any = None,
        *,
        after: str | None = None,
        at_least: int | None = None,
        history: str | None = None,
        timeout: float | None = None,
        contract: str | None = None,
        identity: str | None = None,
    ) -> Page:
        """A page of a named query; see `treadle.Acting.query`. `identity` is that of the query itself."""
        ask = Ask(name, parameters, after, at_least)
        return self._http.drive(self._calls.query(ask, timeout, Reliance(history, contract, identity)))

    def pages(
        self, name: str, parameters: Mapping[str, Any] | Any = None, *, at_least: int | None = None
    ) -> Iterator[Page]:
        """The pages of a named query, one after another; see `treadle.Acting.pages`."""
        after: str | None = None
        while True:
            page = self.query(name, parameters, after=after, at_least=at_least)
            yield page
            if page.next is None:
                return
            after, at_least = page.next, page.commit

    def why(self, entity: str, key: Sequence[Any] | Any, *, unmasked: bool = False) -> Why:
        """Say what stands in the way of one row; see `treadle.Acting.why`, whose answer this is."""
        values = key_values(key)
        return self._http.drive(self._calls.why(entity, values, key_words(values), unmasked))

    def why_run(self, run: str, graph: str | None = None) -> WhyRun:
        """Say where a signed run stands, and who may take which step; see `treadle.Acting.why_run`."""
        return self._http.drive(self._calls.why_run(run, graph))

    def presenting(self, said: str) -> Remote:
        """The same client, whose calls say this beside the instance's name. It is closed with this one."""
        return Remote(self._http.presenting(said), self._calls, self.url, owned=False)

    def working(self) -> Working:
        """This database as `treadle.Worker` sees it: `worker.run(remote)` works on it over HTTP."""
        found: Working = load("client.working").Working(self, self._http, self._calls)
        return found

    def log(
        self, first: int = 1, last: int | None = None, *, of: tuple[str, Sequence[Any]] | None = None
    ) -> Iterator[Entry]:
        """Log records; see `treadle.Database.log`. Values in them are in their JSON forms.

        Of one row (`of`) the newest 1,000. Needs the `audit` permission.
        """
        words = None if of is None else (of[0], key_words(of[1]))
        number: int | None = first
        while number is not None:
            entries, number = self._http.drive(self._calls.log(number, last, words))
            yield from entries


class AsyncRemote:
    """A database behind HTTP, for asyncio; see `Remote` for what each method does."""

    def __init__(self, http: AsyncHttp, calls: Calls, url: str, *, owned: bool) -> None:
        self._http = http
        self._calls = calls
        self._owned = owned
        self.url = url

    async def __aenter__(self) -> AsyncRemote:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Closing twice is fine."""
        if self._owned:
            await self._http.client.aclose()

    def __repr__(self) -> str:
        return f"<treadle.AsyncRemote {self.url}>"

    async def contract(self) -> dict[str, Any]:
        """See `Remote.contract`."""
        return await self._http.drive(self._calls.contract())

    async def interface(self) -> Interface:
        """See `Remote.interface`."""
        return await self._http.drive(self._calls.interface())

    async def run(
        self,
        command: str,
        input: Mapping[str, Any] | Any,
        *,
        timeout: float | None = None,
        history: str | None = None,
        contract: str | None = None,
    ) -> Receipt:
        """See `Remote.run`. A call that is cancelled may have been carried out: repeat the same key."""
        return await self._http.drive(self._calls.run(command, input, timeout, Reliance(history, contract)))

    async def run_many(
        self,
        commands: Sequence[Command],
        *,
        timeout: float | None = None,
        history: str | None = None,
        contract: str | None = None,
        progress: Progress | None = None,
    ) -> list[Receipt | TreadleError]:
        """See `Remote.run_many`."""
        on = Reliance(history, contract)
        return await self._http.drive(self._calls.run_many(commands, timeout, on, progress))

    async def query(
        self,
        name: str,
        parameters: Mapping[str, Any] | Any = None,
        *,
        after: str | None = None,
        at_least: int | None = None,
        history: str | None = None,
        timeout: float | None = None,
        contract: str | None = None,
        identity: str | None = None,
    ) -> Page:
        """See `Remote.query`."""
        ask = Ask(name, parameters, after, at_least)
        return await self._http.drive(self._calls.query(ask, timeout, Reliance(history, contract, identity)))

    async def pages(
        self, name: str, parameters: Mapping[str, Any] | Any = None, *, at_least: int | None = None
    ) -> AsyncIterator[Page]:
        """See `Remote.pages`."""
        after: str | None = None
        while True:
            page = await self.query(name, parameters, after=after, at_least=at_least)
            yield page
            if page.next is None:
                return
            after, at_least = page.next, page.commit

    async def why(self, entity: str, key: Sequence[Any] | Any, *, unmasked: bool = False) -> Why:
        """See `Remote.why`."""
        values = key_values(key)
        return await self._http.drive(self._calls.why(entity, values, key_words(values), unmasked))

    async def why_run(self, run: str, graph: str | None = None) -> WhyRun:
        """See `Remote.why_run`."""
        return await self._http.drive(self._calls.why_run(run, graph))

    async def log(
        self, first: int = 1, last: int | None = None, *, of: tuple[str, Sequence[Any]] | None = None
    ) -> AsyncIterator[Entry]:
        """See `Remote.log`."""
        words = None if of is None else (of[0], key_words(of[1]))
        number: int | None = first
        while number is not None:
            entries, number = await self._http.drive(self._calls.log(number, last, words))
            for entry in entries:
                yield entry


def key_values(key: Sequence[Any] | Any) -> tuple[Any, ...]:
    """A row's key as values; a lone one stands for a key of one field."""
    return tuple(key) if isinstance(key, tuple | list) else (key,)


def key_words(key: Sequence[Any] | Any) -> list[str]:
    """A row's key as words of an address."""
    return [
        "true" if value is True else "false" if value is False else str(plain_json(value))
        for value in key_values(key)
    ]


__all__ = ["AsyncRemote", "Remote", "connect", "connect_async"]
