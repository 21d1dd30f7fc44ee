"""Workers as an application declares them: a function, and the names of what surrounds it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Required, TypedDict, Unpack

from treadle import limits
from treadle.access.presence import with_caps
from treadle.errors import ConfigError
from treadle.workers.caps import Cap
from treadle.workers.client import Client, client_of
from treadle.workers.counters import Counters, Hooks
from treadle.workers.fitness import check_usable, explained, warn_of_standstill
from treadle.workers.handlers import Handler
from treadle.workers.items import Source
from treadle.workers.patience import LONGEST_DELAY, Pace
from treadle.workers.plan import LEASE_SECONDS, Names
from treadle.workers.query_source import Parameters, QuerySource
from treadle.workers.running import Running
from treadle.workers.settings import Settings
from treadle.workers.stream_source import StreamSource

_LOG: Final = logging.getLogger("treadle.worker")
CONCURRENCY: Final = limits.WORKER_IN_FLIGHT
ATTEMPTS: Final = limits.DELIVERIES


class Options(TypedDict, total=False):
    """What a worker is told.

    Attributes:
        claim, finish: the commands that begin the work on a row and conclude it.
        query, parameters: a named query that lists rows to work on, and its parameters (or a function that
            gives them for each page). It must give the row's key and `revision`; the lease's expiry and
            attempts are of use too.
        event, consumer, partition: instead of a query, the stream of an event, whose fields name a row's key.
        lookup: with an event, a named query of one row by its key that gives its revision; a worker in a role
            needs it.
        closed: outcomes of `claim` that say that nothing is left to do; an event is acknowledged then.
        start: a command to run after the claim, before the handler.
        release, renew: commands that only do that; found by themselves where the contract has one of each.
        retry: a command for a failed try, run instead of `release`; it may have the inputs `error`,
            `attempts`, `delay_seconds` and `retry_at`.
        dead_letter: a command for an item that failed `attempts` times; it may have `error` and `attempts`.
        name: of the worker, the function's by default. It is part of what identifies an attempt.
        due: a timestamp of the row (or event) that tells one occasion from the next. Without it a row of a
            query is one attempt for ever, and an event is its own.
        inputs: further inputs of the commands, by name, the same for every item.
        lease: how long a claim lasts, 5 to 900 seconds (60); it is renewed while the handler runs.
        concurrency: how many handlers run at once, 1 to 8 (1).
        attempts: after so many failed tries an item is given up, 1 to 10 (10).
        backoff: the pause after the first failure in seconds (1); it doubles with each, up to an hour.
        poll: the longest pause in seconds before the worker looks again where there was nothing (1).
        caps: limits over the live leases of all workers.
        hooks, pace: for looking in, and for tests.
    """

    claim: Required[str]
    finish: Required[str]
    query: str | None
    parameters: Parameters | None
    event: str | None
    consumer: str | None
    partition: Any
    lookup: str | None
    closed: Sequence[str]
    start: str | None
    release: str | None
    renew: str | None
    retry: str | None
    dead_letter: str | None
    name: str | None
    due: str | None
    inputs: Mapping[str, Any] | None
    lease: int
    concurrency: int
    attempts: int
    backoff: float
    poll: float
    caps: Sequence[Cap]
    hooks: Hooks
    pace: Pace


class Worker:
    """A handler for leased rows, with everything around it: claims, renewals, retries, release.

    `handler` is called with the row (a mapping) and its `Turn`. It returns nothing, or a mapping of the
    inputs of `finish` that are its to give; it may be async. Owner, token, revision, duration and key are
    filled in from the lease's declaration; what else a command needs comes from the handler, from `inputs`,
    or from the row, by name. `Options` lists what a worker is told.

    Calling a worker calls its handler, so a handler can be tested by itself.
    Raises `ConfigError` for options that contradict one another; what does not fit the contract, `run` finds.
    """

    def __init__(self, handler: Handler, **options: Unpack[Options]) -> None:
        self.handler = handler
        self.settings = _settings(handler, options)
        self._source = _source(self.settings.name, options)
        self._stop = threading.Event()
        self._running: Running | None = None
        self.__doc__ = handler.__doc__ or self.__doc__

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.handler(*args, **options)

    def __repr__(self) -> str:
        return f"<treadle.Worker {self.name}>"

    @property
    def name(self) -> str:
        """The worker's name, which is part of the identity of what it does."""
        return self.settings.name

    @property
    def counters(self) -> Counters:
        """What the worker has done."""
        return self.settings.counters

    def check(self, on: Any) -> None:
        """See whether the worker fits what is deployed; raises `ConfigError` with what does not."""
        client = self._client(on)
        check_usable(client, self.settings.names)
        self._fitted(client)

    def run(self, on: Any, *, until_idle: bool = False) -> None:
        """Work on `db.acting_as(…)` until `stop` is called; or, `until_idle`, until there is nothing to do.

        `treadle.connect(…)` in its place, or a generated client, works over HTTP, as whoever its token says.
        Returns when every turn that began has ended. Raises `ConfigError` at the beginning for a worker that
        does not fit the contract, and `Denied` for one whose role does not allow it to look for items; and
        `Denied` (`unauthenticated`) when its token is revoked or runs out: the turns that began are left to
        their leases, and their handlers are told that these are lost.
        """
        self.running(on).loop(until_idle)

    def running(self, on: Any) -> Running:
        """A run of the worker that has not begun; for `treadle.testing`, which goes on with it later."""
        client = self._client(on)
        self._running = self._fitted(client)
        warn_of_standstill(client, self.name, _LOG)
        return self._running

    def _fitted(self, client: Client) -> Running:
        with explained(client, self.settings.names):
            return Running(self.settings, self._source(), client, self._stop)

    def _client(self, on: Any) -> Client:
        """The client for `on`; one with caps says them beside its name, so that `why` can tell of them."""
        client = client_of(on)
        caps = {cap.query: cap.limit for cap in self.settings.caps}
        return client.presenting(with_caps(caps)) if caps else client

    def stop(self) -> None:
        """Take nothing new; `run` returns when the turns that began have ended. From any thread."""
        self._stop.set()
        if self._running is not None:
            self._running.wake()


def worker(**options: Unpack[Options]) -> Callable[[Handler], Worker]:
    """Make a function a worker: `@treadle.worker(query="DueJobs", claim="Claim", finish="Finish")`.

    See `Worker` for the function, and `Options` for what a worker is told.
    """

    def decorate(handler: Handler) -> Worker:
        return Worker(handler, **options)

    return decorate


def _settings(handler: Handler, options: Options) -> Settings:
    name = str(options.get("name") or getattr(handler, "__name__", ""))
    if not name or name == "<lambda>":
        raise ConfigError("give the worker a name that stays: name='…'; it identifies what it does")
    if not options.get("claim") or not options.get("finish"):
        raise ConfigError("name the commands that begin and conclude the work: claim='…', finish='…'")
    names = Names(
        claim=options["claim"],
        finish=options["finish"],
        start=options.get("start"),
        release=options.get("release"),
        renew=options.get("renew"),
        retry=options.get("retry"),
        dead_letter=options.get("dead_letter"),
    )
    return Settings(
        name=name,
        handler=handler,
        names=names,
        lease=int(_within("lease", options.get("lease", 60), *LEASE_SECONDS)),
        concurrency=int(_within("concurrency", options.get("concurrency", 1), 1, CONCURRENCY)),
        attempts=int(_within("attempts", options.get("attempts", ATTEMPTS), 1, ATTEMPTS)),
        backoff=_within("backoff", options.get("backoff", 1.0), 0, LONGEST_DELAY),
        poll=_within("poll", options.get("poll", 1.0), 0, limits.POLL_SECONDS),
        values=dict(options.get("inputs") or {}),
        closed=frozenset(options.get("closed", ())),
        caps=tuple(options.get("caps", ())),
        hooks=options.get("hooks") or Hooks(),
        pace=options.get("pace") or Pace(),
    )


def _within(name: str, value: Any, least: float, most: float) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= most:
        raise ConfigError(f"{name}={value!r}: write {least:g} to {most:g}")
    return float(value)


_OF_EVENTS: Final = ("consumer", "partition", "lookup")


def _source(name: str, options: Options) -> Callable[[], Source]:
    """Makes the source anew for each run."""
    query, event = options.get("query"), options.get("event")
    due = options.get("due")
    if query is not None and event is None:
        stray = [one for one in _OF_EVENTS if options.get(one) is not None]
        if stray:
            raise ConfigError(f"{stray[0]} belongs to event='…', not to a query")
        return lambda: QuerySource(query, options.get("parameters"), due)
    if event is not None and query is None:
        if options.get("parameters") is not None:
            raise ConfigError("parameters belong to query='…', not to an event")
        return lambda: StreamSource(
            event,
            options.get("consumer") or name,
            options.get("partition"),
            lookup=options.get("lookup"),
            due=due,
            lease=options.get("lease", 60),
        )
    raise ConfigError("name one place where a worker's items come from: query='…', or event='…'")
