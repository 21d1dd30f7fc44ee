"""One turn, from the claim to the acknowledgement, and what becomes of it when something goes wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from treadle.errors import LeaseLost, RequestError, TerminalFailure, TreadleError, UnexpectedOutcome
from treadle.workers.attempts import Due, derived
from treadle.workers.claiming import Won, settle
from treadle.workers.handlers import Caller, HandlerFailed
from treadle.workers.items import Item, Source
from treadle.workers.patience import backoff
from treadle.workers.plan import OFFERED, Plan
from treadle.workers.settings import Settings
from treadle.workers.steps import Step
from treadle.workers.turn import Turn

_LOG: Final = logging.getLogger("treadle.worker")

_OF_THE_CALLER: Final = frozenset(
    ("denied", "unauthenticated", "history_changed", "contract_mismatch", "over_capacity", "unknown_name")
)
"""Refusals that say nothing about the item: the role, the history or the contract changed meanwhile."""


class Working:
    """Runs turns. What a turn meets goes no further than here."""

    def __init__(self, settings: Settings, source: Source, caller: Caller) -> None:
        self._settings = settings
        self._source = source
        self._caller = caller
        self._failures: dict[str, int] = {}

    def work(self, plan: Plan, won: Won) -> None:
        """One turn."""
        turn = won.turn
        try:
            if won.link is None:
                self._settings.counters.add("settled")
                self._conclude(turn, settled=True)
            elif plan.dead_letter is not None and self._tries(turn) > self._settings.attempts:
                self._bury(plan, turn, "its tries ended without an answer", self._tries(turn))
            else:
                self._carry_out(plan, turn, won.link)
        except LeaseLost:
            turn.lose()
            self._end_early(turn.item, "lost")
        except TreadleError as error:
            _LOG.warning("%s: a turn ended early: %s", self._settings.name, error.message)
            turn.lose()  # the row is left to its lease
            self._end_early(turn.item, "errors")

    def _carry_out(self, plan: Plan, turn: Turn, link: int) -> None:
        hooks, name = self._settings.hooks, self._settings.name
        try:
            if plan.start is not None:
                turn.once(plan.start, {})
                hooks.at("started", turn.item)
            turn.check()  # this process may have stood still since it asked for the lease
            with hooks.span("handle", {"worker": name}):
                more = self._caller.call(turn)
            hooks.at("handled", turn.item)
            with hooks.span("finish", {"command": plan.finish.name}):
                answer = turn.once(plan.finish, more, link)
        except HandlerFailed as failure:
            _LOG.warning("%s: a handler failed: %s", name, failure.reason, exc_info=failure.error)
            self._fail(plan, turn, failure.reason)
        except (UnexpectedOutcome, TerminalFailure, RequestError) as error:
            if error.code in _OF_THE_CALLER:
                raise
            _LOG.warning("%s: a result was refused: %s", name, error.message)
            self._fail(plan, turn, error.message)
        else:
            self._settings.counters.add("handled")
            # An earlier try of the attempt may have come through meanwhile: then its receipt is the answer.
            self._settings.counters.add("settled" if answer.replayed else "finished")
            hooks.at("finished", turn.item)
            self._conclude(turn, settled=False)

    def _conclude(self, turn: Turn, *, settled: bool) -> None:
        """Release and acknowledge."""
        with self._settings.hooks.span("release", {}):
            turn.release()
        self._settings.hooks.at("released", turn.item)
        self._failures.pop(turn.idempotency_key, None)
        if settled:
            settle(self._source, turn.item)
        else:
            self._source.done(turn.item)
        self._settings.hooks.at("acknowledged", turn.item)

    # When it goes wrong.

    def _tries(self, turn: Turn) -> int:
        """How often the attempt was tried, this time too: as its event or row says, or as it is known here.

        A row counts its claims for ever. Where several events name it, or its `due` tells one occasion from
        the next, that says nothing of this occasion.
        """
        item = turn.item
        if item.delivery is not None:
            return item.delivery.attempt if turn.tries is None else min(turn.tries, item.delivery.attempt)
        if turn.tries is not None and item.attempt.due == Due():
            return turn.tries
        return self._failures.get(turn.idempotency_key, 0) + 1

    def _fail(self, plan: Plan, turn: Turn, reason: str) -> None:
        """The handler failed, or its result was refused: try again later, or give the item up."""
        tries = self._tries(turn)
        key = turn.idempotency_key
        self._failures[key] = self._failures.get(key, 0) + 1
        self._settings.counters.add("failed")
        self._settings.hooks.at("failed", turn.item)
        if tries >= self._settings.attempts and plan.dead_letter is not None:
            self._bury(plan, turn, reason, tries)
            return
        delay = backoff(self._settings.backoff, tries, key)
        if plan.retry is not None:
            told = {
                "error": reason,
                "attempts": tries,
                "delay_seconds": _whole(delay),
                "retry_at": turn.now() + timedelta(seconds=delay),
            }
            self._tell(turn, plan.retry, told)
            turn.release()
        elif not _hold(plan, turn, delay):
            turn.release()
        self._settings.counters.add("retried")
        self._settings.hooks.at("retried", turn.item)
        self._source.back(turn.item, delay, failed=True, reason=reason)

    def _bury(self, plan: Plan, turn: Turn, reason: str, tries: int) -> None:
        """Give the item up, by the contract's own command."""
        if plan.dead_letter is not None:
            self._tell(turn, plan.dead_letter, {"error": reason, "attempts": tries})
        turn.release()
        self._settings.counters.add("dead_letters")
        self._settings.hooks.at("buried", turn.item)
        self._failures.pop(turn.idempotency_key, None)
        self._source.done(turn.item)

    def _tell(self, turn: Turn, step: Step, told: Mapping[str, object]) -> None:
        """Run a command about a failure, with what it wants to know of it."""
        wanted = {field.name for field in step.others} & set(OFFERED)
        given = {name: value for name, value in told.items() if name in wanted}
        answer = turn.call(step, derived(turn.item.claim_key, step.name), given)
        if not answer.ok:
            _LOG.warning("%s: %s answered %s", self._settings.name, step.name, answer.outcome)

    def _end_early(self, item: Item, count: str) -> None:
        self._settings.counters.add(count)
        self._settings.hooks.at("lost", item)
        _quietly(lambda: self._source.back(item, 1, failed=False))


def _hold(plan: Plan, turn: Turn, delay: float) -> bool:
    """Let the row rest under its lease until it is to be tried again, where its source cannot see to that."""
    fits = plan.lease.minimum <= delay <= plan.lease.maximum
    if plan.renew is None or not fits or turn.item.delivery is not None:
        return False
    turn.hold(plan.renew, int(delay), "rest")
    return True


def _whole(seconds: float) -> int:
    return int(seconds + 0.999)


def _quietly(act: Callable[[], None]) -> None:
    """Tell the source, if it can be told: otherwise what it lent comes back by itself."""
    try:
        act()
    except TreadleError as error:
        _LOG.info("an item could not be given back: %s", error.message)
