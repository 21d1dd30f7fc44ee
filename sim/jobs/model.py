"""One job as the search for a linear order sees it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from sim.jobs.asking import Answer, Seen
from sim.jobs.rules import SUCCESS, Job, Slot, decide
from sim.linear.history import Operation

BEGIN: Final = datetime(1, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_SOME_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)


class State(NamedTuple):
    """What is there, and the time of the last command. An expiry that nobody heard is `...`."""

    slot: Slot = Slot()
    time: datetime = BEGIN


def step(state: State, operation: Operation) -> Iterator[State]:
    """The states that an operation may leave with its answer (see `sim.linear.search`)."""
    if isinstance(operation.answer, Seen):
        yield from _read(state, operation.answer)
        return
    command, body = operation.asked
    if operation.answer is None:
        yield from _unheard(state, command, body)
    else:
        yield from _heard(state, command, body, operation.answer)


def _alike(expected: Job | None, found: Job | None) -> bool:
    """Whether a job is what was expected, where an expiry that nobody heard may be any."""
    if expected is not None and found is not None and expected.until is ...:
        return found.until is not None and expected == found._replace(until=...)
    return expected == found


def _read(state: State, seen: Seen) -> Iterator[State]:
    if _alike(state.slot.job, seen.job):
        yield state._replace(slot=state.slot._replace(job=seen.job))


def _heard(state: State, command: str, body: Any, answer: Answer) -> Iterator[State]:
    if answer.time < state.time:
        return
    for slot in _guesses(state.slot, answer.time):
        outcome, after = decide(slot, command, body, answer.time)
        if outcome != answer.outcome:
            continue
        left = _known(slot, after or slot, state.slot)
        if after is None or left.job is None:
            yield State(left, answer.time)
        elif _alike(left.job, answer.job):
            yield State(left._replace(job=answer.job), answer.time)


def _unheard(state: State, command: str, body: Any) -> Iterator[State]:
    """It may have succeeded, at a time that nobody knows; a refusal would have changed nothing."""
    for slot in _guesses(state.slot._replace(job=_blind(state.slot.job)), _SOME_TIME):
        outcome, after = decide(slot, command, body, _SOME_TIME)
        if outcome == SUCCESS[command] and after is not None:
            left = _known(slot, after, state.slot)
            unknown = command in ("Claim", "Renew")
            yield state._replace(slot=left._replace(job=_blind(left.job)) if unknown else left)


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
