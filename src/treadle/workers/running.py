"""A worker at work: it takes items, claims them, and runs a turn for each.

The turn is always the same: select one → has this attempt an outcome already? → claim → run the business
command unless it has → release with the newest revision → acknowledge. Whatever ends it early, at whatever
place, the next one to come by takes it up from there.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, Final

from treadle.errors import ConfigError, TreadleError
from treadle.workers.caps import Counted
from treadle.workers.claiming import Claiming, Won
from treadle.workers.client import Client
from treadle.workers.handlers import Caller
from treadle.workers.items import Key, Source
from treadle.workers.patience import final, passing
from treadle.workers.plan import Plan, Worth, fit
from treadle.workers.renewal import Renewer
from treadle.workers.settings import Settings
from treadle.workers.steps import leased_by
from treadle.workers.turn import Turn
from treadle.workers.working import Working

_LOG: Final = logging.getLogger("treadle.worker")
_POLL: Final = 0.02
"""The first pause, in seconds, when there is nothing to do; the longest is the worker's."""
_TROUBLE: Final = (0.1, 30.0)
"""The first and the longest pause after the database refused or could not answer."""


class Running:
    """One run of a worker on one database.

    `stop` makes it take nothing new and end when its turns have. Raises `ConfigError` (and what a named query
    or command of the wrong name raises) for a worker that does not fit what is deployed.
    """

    def __init__(self, settings: Settings, source: Source, client: Client, stop: threading.Event) -> None:
        self._settings = settings
        self._source = source
        self._client = client
        self._stop = stop
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._busy: set[Key] = set()
        self._broken: BaseException | None = None
        self._owner = client.fresh_id()
        self._generation: object = None
        self._bind()

    def _bind(self) -> None:
        """Fit everything to what is deployed."""
        settings = self._settings
        self._generation = self._client.generation()
        contract = self._client.contract()
        leased = leased_by(contract, settings.names.claim)
        types = self._source.bind(self._client, leased, settings.name)
        usable = self._client.usable([one.name for one in contract.commands])
        worth = Worth(types, settings.values, self._owner, settings.lease, frozenset(usable))
        self._plan: Plan = fit(contract, leased, settings.names, worth)
        unknown = sorted(settings.closed - {one.name for one in self._plan.claim.command.outcomes})
        if unknown:
            raise ConfigError(f"closed: command {self._plan.claim.name} declares no outcome {unknown[0]}")
        caps = [Counted(cap, self._client, types) for cap in settings.caps]
        self._claiming = Claiming(settings, self._source, self._client, self._plan, caps)

    def wake(self) -> None:
        """Look for something to do now, or for the order to stop."""
        self._wake.set()

    def pause(self) -> float | None:
        """How long, in seconds, its source leaves something alone; None where it does not."""
        return self._source.pause()

    def loop(self, until_idle: bool) -> None:
        """Work until told to stop; or, `until_idle`, until there is nothing to do now."""
        settings = self._settings
        caller = Caller(settings.handler)
        self._renewer = self._renewals()
        self._working = Working(settings, self._source, caller)
        pool = self._pool()
        try:
            self._renewer.begin()
            self._rounds(pool, until_idle)
        finally:
            pool.shutdown(wait=True)
            self._renewer.end()
            caller.end()
        self._check()

    # The threads, each kind in a place of its own, so that a test may have others.

    def _pool(self) -> Executor:
        settings = self._settings
        return ThreadPoolExecutor(settings.concurrency, thread_name_prefix=f"treadle-{settings.name}")

    def _renewals(self) -> Renewer:
        settings = self._settings
        most = settings.concurrency
        return Renewer(settings.pace, self._plan.seconds, most, self._extend, self._renewed)

    def _rounds(self, pool: Executor, until_idle: bool) -> None:
        idle = troubles = 0
        while not self._stop.is_set():
            self._wake.clear()
            self._check()
            try:
                found = self._round(pool)
            except TreadleError as error:
                if isinstance(error, ConfigError) or final(error) or (until_idle and not passing(error)):
                    raise
                troubles += 1
                self._wait_out(error, troubles)
                continue
            troubles = 0
            idle = 0 if found else idle + 1
            if found:
                continue
            if until_idle and not self._busy and not self._wake.is_set():
                return
            self._rest(idle)

    def _round(self, pool: Executor) -> bool:
        """Take and claim what there is room for; false if there was nothing."""
        room = self._settings.concurrency - len(self._busy)
        if room <= 0:
            return False
        if self._client.generation() != self._generation:
            self._bind()
        with self._settings.hooks.span("page", {"source": self._source.described}):
            items = self._source.take(room, frozenset(self._busy))
        self._settings.counters.add("pages")
        if not items:
            return False
        for won in self._claiming.claim(items):
            self._begin(pool, won)
        return True

    def _begin(self, pool: Executor, won: Won) -> None:
        with self._lock:
            self._busy.add(won.turn.item.key)
        self._settings.counters.entered(1)
        self._renewer.add(won.turn)
        future = pool.submit(self._working.work, self._plan, won)
        future.add_done_callback(lambda ended: self._end(won.turn, ended))

    def _end(self, turn: Turn, ended: Future[Any]) -> None:
        self._renewer.remove(turn)
        with self._lock:
            self._busy.discard(turn.item.key)
        self._settings.counters.entered(-1)
        self._broken = self._broken or ended.exception()
        self._wake.set()

    def _check(self) -> None:
        """Raise what no turn should have let out: an error of ours, or of a hook."""
        if self._broken is not None:
            raise self._broken

    def _wait_out(self, error: TreadleError, times: int) -> None:
        first, longest = _TROUBLE
        seconds = min(first * 2.0 ** min(times - 1, 16), longest)
        self._settings.counters.add("errors")
        _LOG.warning("%s: %s; trying again in %.1f s", self._settings.name, error.message, seconds)
        self._settings.pace.wait(self._stop, seconds)

    def _rest(self, idle: int) -> None:
        """Wait for something to do: longer each time there is nothing, until a turn ends or `stop` wakes."""
        seconds = min(_POLL * 2.0 ** min(idle, 16), self._settings.poll)
        due = self._source.pause()
        if due is not None:
            seconds = min(seconds, max(due, _POLL))
        self._settings.pace.wait(self._wake, seconds)

    def _renewed(self) -> None:
        self._settings.counters.add("renewed")

    def _extend(self, turn: Turn) -> None:
        self._source.renew(turn.item, self._plan.seconds)


__all__ = ["Running"]
