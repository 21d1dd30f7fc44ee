"""What a client does over the wire, as steps: what to send, when to pause, and when to give up.

Nothing here does I/O. A generator yields `Send` and `Pause` steps and is told what came of each; a driver
that blocks and one that awaits carry them out (`treadle.client.http`), so both clients behave alike.

What may be repeated: a request that certainly did nothing, a read, and a command with an idempotency key,
whose repetition answers what the first attempt did. After an attempt that may have done something, nothing
but an answer that tells what the key did ends the doubt; without one the caller hears `outcome_unknown`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Generator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from treadle.client.problems import error_of, is_problem
from treadle.client.wire import parsed
from treadle.errors import (
    RETRY,
    HistoryChanged,
    KeyExpired,
    KeyReused,
    Malformed,
    OutcomeUnknown,
    TerminalFailure,
    TreadleError,
    Unreachable,
)

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_SETTLED: Final = (TerminalFailure, KeyReused, KeyExpired, HistoryChanged)
"""Refusals that come after the look-up of the key: the key did nothing that is not known by now."""


class Policy(NamedTuple):
    """How long and how often a call is tried: attempts, seconds for all of it, and for one attempt."""

    attempts: int
    timeout: float
    attempt_timeout: float


class Send(NamedTuple):
    """A request. `seconds` bound the wait for its answer."""

    method: str
    path: str
    seconds: float
    body: bytes | None = None
    headers: Mapping[str, str] = {}


class Pause(NamedTuple):
    seconds: float


class Reply(NamedTuple):
    """An answer. `retry_after` is in seconds, None where the server did not say."""

    status: int
    body: bytes
    retry_after: float | None = None


class Lost(NamedTuple):
    """No answer. `sent` is false where the request certainly never reached the server."""

    sent: bool
    why: str


Result = TypeVar("Result")
Answer: TypeAlias = Reply | Lost | None
Steps: TypeAlias = Generator[Send | Pause, Answer, Result]


class Deadline:
    """The end of a call, in the process's own monotonic time."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left, 0 at least."""
        return max(0.0, self._end - time.monotonic())


class Attempts:
    """The attempts of one call: counts them, keeps what is in doubt, and says whether to go on."""

    def __init__(self, policy: Policy, seconds: float | None) -> None:
        self.policy = policy
        self.deadline = Deadline(policy.timeout if seconds is None else seconds)
        self.doubt = False
        self._made = 0

    def seconds(self) -> float:
        """How long the next attempt may take."""
        return max(0.05, min(self.deadline.left(), self.policy.attempt_timeout))

    def wait(self) -> str:
        """The Prefer header of the next attempt: the server answers before the client stops listening."""
        return f"wait={max(1, int(self.seconds()) - 1)}"

    def failed(self, error: TreadleError, retry_after: float | None) -> Steps[None]:
        """Pause before the next attempt, or raise what the call ends in."""
        self._made += 1
        pause = _pause(self._made, retry_after)
        if self._made >= self.policy.attempts or pause >= self.deadline.left():
            raise self.final(error)
        yield Pause(pause)

    def final(self, error: TreadleError) -> TreadleError:
        """The error that the call ends in."""
        return in_doubt(error) if self.doubt else error


def in_doubt(error: TreadleError) -> TreadleError:
    """What to tell after an attempt that may have done something: the doubt, unless `error` ends it."""
    if isinstance(error, (OutcomeUnknown, *_SETTLED)):
        return error
    unknown = OutcomeUnknown(f"an attempt may have been carried out; repeat the same key ({error.message})")
    unknown.__cause__ = error
    return unknown


def _pause(made: int, retry_after: float | None) -> float:
    """Seconds before the next attempt: twice as long each time, anywhere in the upper half of it."""
    longest: float = min(_FIRST_PAUSE * 2 ** (made - 1), _LONGEST_PAUSE)
    return max(retry_after or 0.0, longest * (0.5 + random.random() / 2))


def read(attempts: Attempts, method: str, path: str, body: bytes | None = None) -> Steps[Any]:
    """Send what changes nothing until it is answered; returns the JSON document of the answer."""
    while True:
        headers = {"Prefer": attempts.wait()}
        answer = yield Send(method, path, attempts.seconds(), body, headers)
        retry_after = None
        if isinstance(answer, Reply):
            document = document_of(answer)
            if answer.status == 200:
                return document
            error = refusal(answer, document)
            retry_after = answer.retry_after
            if isinstance(error, OutcomeUnknown):
                error = Unreachable(error.message)  # nothing was asked for that could have happened
            elif not repeats(error):
                raise error
        else:
            error = Unreachable(_why(answer))
        yield from attempts.failed(error, retry_after)


def write(attempts: Attempts, path: str, body: bytes, *, keyed: bool) -> Steps[Any]:
    """Send one command until it is answered; returns the JSON document of the receipt."""
    while True:
        answer = yield Send("POST", path, attempts.seconds(), body, {"Prefer": attempts.wait()})
        retry_after = None
        if isinstance(answer, Reply):
            document = document_of(answer)
            if answer.status == 200 and isinstance(document, dict):
                return document
            error = refusal(answer, document)
            retry_after = answer.retry_after
        else:
            error = lost(answer)
        if isinstance(error, OutcomeUnknown):
            attempts.doubt = True
            if not keyed:
                raise error
        elif isinstance(answer, Reply) and not repeats(error):
            raise attempts.final(error)
        yield from attempts.failed(error, retry_after)


def document_of(reply: Reply) -> Any:
    """The JSON of an answer, None where it has none."""
    try:
        return parsed(reply.body)
    except Malformed:
        return None


def refusal(reply: Reply, document: Any) -> TreadleError:
    """The error that an answer stands for, which is no success."""
    if is_problem(document):
        return error_of(document)
    if reply.status == 200 or reply.status >= 500:
        return OutcomeUnknown(f"the server's answer cannot be read (status {reply.status})")
    return Unreachable(f"what answers at this address is no Treadle server (status {reply.status})")


def repeats(error: TreadleError) -> bool:
    """Whether the request that was so answered did nothing, and may succeed a little later."""
    return error.recovery == RETRY and not isinstance(error, Unreachable)


def lost(answer: Answer) -> TreadleError:
    """The error of a request without an answer."""
    if isinstance(answer, Lost) and answer.sent:
        return OutcomeUnknown(f"{answer.why}; repeat the same key to learn what happened")
    return Unreachable(_why(answer))


def _why(answer: Answer) -> str:
    return answer.why if isinstance(answer, Lost) else "no answer came"
