"""A turn: one item, held under a lease, and everything that is said to the database in its name.

The turn owns the row's revision. Every command of the turn, renewals too, goes through it one at a time, with
the newest revision; so a renewal in the background never makes the business command stale.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from treadle.errors import (
    InvalidInput,
    KeyExpired,
    KeyReused,
    LeaseLost,
    OutcomeUnknown,
    TerminalFailure,
    TreadleError,
    UnexpectedOutcome,
)
from treadle.model.types import Optional
from treadle.model.values import datetime_of
from treadle.workers.attempts import Attempt, derived
from treadle.workers.client import Answer, Client
from treadle.workers.items import Item
from treadle.workers.patience import Pace, certainly
from treadle.workers.plan import Plan
from treadle.workers.steps import Step

LINKS: Final = 64
"""How many links of a chain of keys are looked up at once, at most."""

ASKS: Final = 6
"""So often, at least, is a command asked for again within a lease whose answers do not come at all."""
PATIENCE: Final = 1.0
"""Seconds that an answer is waited for at least."""


class Turn:
    """What a handler knows of its turn.

    `fence` is the fencing token of the lease, to show to whatever is changed outside of the database;
    `lost` is an event that is set when the lease is lost; `idempotency_key` is the attempt's, the same in
    every try of it, for services that take one; `tries` counts the claims of the row, this one too.
    """

    def __init__(
        self,
        client: Client,
        plan: Plan,
        item: Item,
        claimed: Answer,
        deadline: float,
        pace: Pace,
        repeated: Callable[[], None],
    ) -> None:
        self._client = client
        self._plan = plan
        self._pace = pace
        self._repeated = repeated
        self._lock = threading.RLock()
        self._pending: tuple[Step, dict[str, Any]] | None = None
        self._renewals = 0
        self._on_lost: list[Callable[[], object]] = []
        self.item = item
        self.deadline = deadline
        self.fence: int = plan.token.of(claimed.fields)
        self.revision: int = claimed.revisions[plan.claim.binding]
        self.lost = threading.Event()
        self.released = False
        self.idempotency_key = item.attempt.business(plan.finish.name)
        self.tries: int | None = plan.attempts.of(claimed.fields) if plan.attempts is not None else None
        if plan.row is not None:
            item.row |= plan.row.of(claimed.fields)

    def __repr__(self) -> str:
        return f"<Turn {self.item.key!r}>"  # neither owner nor token: this is printed in logs

    @property
    def row(self) -> Mapping[str, Any]:
        """The row's fields by name, as they were claimed."""
        return self.item.row

    def check(self) -> None:
        """Raise `LeaseLost` if the lease is lost; call it before something that cannot be taken back.

        It asks the clock of this process and not only the renewals, which may be late themselves.
        """
        self.watch()
        if self.lost.is_set():
            raise lease_lost()

    def run(self, command: str, inputs: Mapping[str, Any] | None = None) -> Answer:
        """Run a command of the contract once for this attempt, and return its receipt.

        The key, the lease's evidence and the row's key are filled in; `inputs` are the others. Where an
        earlier try of this attempt has run it with success, its receipt is returned and nothing runs.
        Raises `LeaseLost` if the evidence does not hold any more, `UnexpectedOutcome` for another declared
        failure, and what `Acting.run` raises.
        """
        return self.once(self._plan.step_of(command), inputs or {})

    async def run_async(self, command: str, inputs: Mapping[str, Any] | None = None) -> Answer:
        """`run`, for an async handler: the event loop goes on meanwhile."""
        return await asyncio.to_thread(self.run, command, inputs)

    def now(self) -> datetime:
        """The database's time."""
        return datetime_of(self._client.now())

    def once(self, step: Step, more: Mapping[str, Any], link: int | None = None) -> Answer:
        """Run a step once for this attempt; see `run`. `link` is the next try's number, where it is known."""
        while True:
            if link is None:
                done, link = look_up(self._client, self.item.attempt, step.name)
                if done is not None:
                    return done
            try:
                answer = self.call(step, business_key(self.item.attempt, step.name, link), more)
            except KeyReused:
                link = None  # somebody else's try of the same attempt came between: look again
                continue
            if answer.ok:
                return answer
            raise refused(step, answer)

    def call(self, step: Step, key: str, more: Mapping[str, Any]) -> Answer:
        """Run a step with the newest evidence. Raises `LeaseLost` if it does not hold any more."""
        with self._lock:
            self.check()
            self._settle()
            return self._send(step, self._inputs(step, key, more))

    def renew(self) -> bool:
        """Renew the lease, unless a command of the turn is under way; false then."""
        step = self._plan.renew
        if step is None or not self._lock.acquire(blocking=False):
            return False
        try:
            if self.released or self.lost.is_set():
                return True
            self._renewals += 1
            self.hold(step, self._plan.seconds, f"renew {self._renewals}")
            return True
        finally:
            self._lock.release()

    def hold(self, step: Step, seconds: int, name: str) -> None:
        """Let the lease end `seconds` from now."""
        with self._lock:
            self._settle()
            began = self._pace.now()
            given = self._inputs(step, derived(self.item.claim_key, name), {}, seconds)
            if self._send(step, given).ok:
                self.deadline = began + seconds

    def release(self) -> None:
        """End the lease, if a command of the turn has not done so."""
        step = self._plan.release
        with self._lock:
            if self.released or step is None or self.lost.is_set():
                return
            self._settle()
            self._send(step, self._inputs(step, self.item.release_key, {}))
            self.released = True

    def lose(self) -> None:
        """The lease is lost: tell everybody."""
        if not self.lost.is_set():
            self.lost.set()
            for tell in self._on_lost:
                tell()

    def when_lost(self, tell: Callable[[], object]) -> None:
        """Call `tell` when the lease is lost; at once, if it is."""
        self._on_lost.append(tell)
        if self.lost.is_set():
            tell()

    def watch(self) -> None:
        """Notice that the lease has ended by this process's own clock, whatever the database is doing."""
        if not self.released and self._pace.now() >= self.deadline:
            self.lose()

    def _send(self, step: Step, given: dict[str, Any]) -> Answer:
        """Send a command until its answer is certain, and take over what it says about the row."""
        self._pending = (step, given)
        patience = max(PATIENCE, self._plan.seconds / ASKS)
        try:
            answer = certainly(
                lambda left: self._client.run(step.name, given, timeout=min(left, patience)),
                self.deadline,
                self._pace,
                self._repeated,
            )
        except OutcomeUnknown:
            raise  # it is repeated before anything else is said in this turn
        except TreadleError:
            self._pending = None
            raise
        self._pending = None
        self._absorb(step, answer)
        return answer

    def _absorb(self, step: Step, answer: Answer) -> None:
        if answer.ok:
            self.revision = answer.revisions.get(step.binding, self.revision)
            self.released |= step.releases
        elif answer.outcome in step.lost:
            self.lose()
            raise lease_lost()

    def _settle(self) -> None:
        """Learn the outcome of the call before, if it is open: the revision depends on it."""
        if self._pending is not None:
            self._send(*self._pending)

    def _inputs(
        self, step: Step, key: str, more: Mapping[str, Any], seconds: int | None = None
    ) -> dict[str, Any]:
        """The input of a step: evidence, the row's key, and the others by name.

        Raises `InvalidInput` for what the command does not take, or what is missing.
        """
        known = {
            "key": key,
            "owner": self._plan.owner,
            "token": self.fence,
            "duration": seconds or self._plan.seconds,
            "revision": self.revision,
        }
        given: dict[str, Any] = {name: known[role] for name, role in step.evidence.items()}
        keys = dict(zip(self._plan.leased.key, self.item.key, strict=True))
        given |= {name: keys[field] for name, field in step.key_fields.items()}
        return given | others(step, more, self._plan.values, self.item.row)


def others(
    step: Step, more: Mapping[str, Any], values: Mapping[str, Any], row: Mapping[str, Any]
) -> dict[str, Any]:
    """The inputs of a step that are neither evidence nor key: from the handler, the worker, or the row."""
    open_ = {field.name for field in step.others}
    unknown = sorted(set(more) - open_)
    if unknown:
        wanted = ", ".join(sorted(open_)) or "nothing"
        raise InvalidInput(
            f"command {step.name} takes no {unknown[0]} from a handler; it takes {wanted}", path=unknown[0]
        )
    given: dict[str, Any] = {}
    for field in step.others:
        for source in (more, values, row):
            if field.name in source:
                given[field.name] = source[field.name]
                break
        else:
            if not isinstance(field.type, Optional):
                raise InvalidInput(
                    f"command {step.name} needs {field.name}: {field.type}; let the handler return it, as in "
                    f"{{'{field.name}': …}}",
                    path=field.name,
                )
    return given


def claim_input(plan: Plan, item: Item) -> dict[str, Any]:
    """The input of the claim of an item."""
    known = {
        "key": item.claim_key,
        "owner": plan.owner,
        "duration": plan.seconds,
        "revision": item.revision,
    }
    given: dict[str, Any] = {name: known[role] for name, role in plan.claim.evidence.items()}
    keys = dict(zip(plan.leased.key, item.key, strict=True))
    given |= {name: keys[field] for name, field in plan.claim.key_fields.items()}
    return given | others(plan.claim, {}, plan.values, item.row)


def business_key(attempt: Attempt, command: str, link: int) -> str:
    """The key of the attempt's try number `link` (from 1) to carry out a command.

    A key is used up by every declared outcome. One that changed nothing, such as a lost lease or a failed
    requirement, does not conclude the attempt, so the next try takes the next key.
    """
    return attempt.business(command if link == 1 else f"{command}#{link}")


def look_up(client: Client, attempt: Attempt, command: str) -> tuple[Answer | None, int]:
    """The receipt with which an attempt carried out a command, or None; and the next try's number.

    Where the last try's receipt was pruned nobody knows whether it came through; it counts as if it did.
    """
    link, width, pruned = 1, 1, False
    while True:
        keys = [business_key(attempt, command, link + place) for place in range(width)]
        for place, answer in enumerate(client.recall(command, keys)):
            if answer is None:
                return (Forgotten() if pruned else None), link + place
            pruned = isinstance(answer, KeyExpired)
            if isinstance(answer, TreadleError):
                if not isinstance(answer, TerminalFailure | KeyExpired):
                    raise answer
            elif answer.ok:
                return answer, link + place
        link, width = link + width, min(2 * width, LINKS)


class Forgotten:
    """The answer of a command whose receipt was pruned."""

    outcome = ""
    ok = True
    fields: Mapping[str, Any] = {}
    revisions: Mapping[str, int] = {}
    commit = 0
    time = datetime_of(0)
    replayed = True


def refused(step: Step, answer: Answer) -> UnexpectedOutcome:
    """The error of a declared failure that says nothing about the lease."""
    declared = tuple(one.name for one in step.command.outcomes)
    message = f"{step.name} answered {answer.outcome}; nothing was changed"
    return UnexpectedOutcome(message, outcome=answer.outcome, declared=declared)


def lease_lost() -> LeaseLost:
    """The error of a turn that goes on after its lease."""
    return LeaseLost("the lease of this turn is lost; stop, the item will be tried again")
