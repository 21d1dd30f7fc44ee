"""One job as the search for a linear order sees it: a slot, in which an expiry that nobody heard is `...`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sim.jobs.asking import Answer, Seen
from sim.jobs.rules import SUCCESS, Job, Slot, decide
from sim.linear.history import Operation

_DAY: Final = timedelta(days=1)
_SOME_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)


def step(slot: Slot, operation: Operation) -> Iterator[Slot]:
    """The states that an operation may leave with its answer (see `sim.linear.search`)."""
    if isinstance(operation.answer, Seen):
        yield from _read(slot, operation.answer)
        return
    command, body = operation.asked
    if operation.answer is None:
        yield from _unheard(slot, command, body)
    else:
        yield from _heard(slot, command, body, operation.answer)


def _alike(expected: Job | None, found: Job | None) -> bool:
    """Whether a job is what was expected, where an expiry that nobody heard may be any."""
    if expected is not None and found is not None and expected.until is ...:
        return found.until is not None and expected == found._replace(until=...)
    return expected == found


def _read(slot: Slot, seen: Seen) -> Iterator[Slot]:
    if _alike(slot.job, seen.job):
        yield slot._replace(job=seen.job)


def _heard(slot: Slot, command: str, body: Any, answer: Answer) -> Iterator[Slot]:
    for guess in _guesses(slot, answer.time):
        outcome, after = decide(guess, command, body, answer.time)
        if outcome != answer.outcome:
            continue
        left = _known(guess, after or guess, slot)
        if after is None or left.job is None:
            yield left
        elif _alike(left.job, answer.job):
            yield left._replace(job=answer.job)


def _unheard(slot: Slot, command: str, body: Any) -> Iterator[Slot]:
    """It may have succeeded, at a time that nobody knows; a refusal would have changed nothing."""
    for guess in _guesses(slot._replace(job=_blind(slot.job)), _SOME_TIME):
        outcome, after = decide(guess, command, body, _SOME_TIME)
        if outcome == SUCCESS[command] and after is not None:
            left = _known(guess, after, slot)
            yield left._replace(job=_blind(left.job)) if command in ("Claim", "Renew") else left


def time_of(operation: Operation) -> datetime | None:
    """The sealed time of a command's answer: no later commit has an earlier one."""
    return operation.answer.time if isinstance(operation.answer, Answer) else None


def _blind(job: Job | None) -> Job | None:
    return job._replace(until=...) if job is not None and job.until is not None else job


def _guesses(slot: Slot, now: datetime) -> Iterator[Slot]:
    """A slot whose job's expiry is known: for an unknown one, both what has passed and what has not."""
    if slot.job is None or slot.job.until is not ...:
        yield slot
    else:
        for until in (now - _DAY, now + _DAY):
            yield slot._replace(job=slot.job._replace(until=until))


def _known(guess: Slot, after: Slot, before: Slot) -> Slot:
    """The slot after a command, with the expiry from before where the command left it alone."""
    job, old = after.job, before.job
    if job is None or old is None or guess.job is None or job.until is not guess.job.until:
        return after
    return after._replace(job=job._replace(until=old.until))
