"""Attempts and doubt, without a network: what is sent again, what is not, and what the caller hears."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from treadle import errors
from treadle.client.exchange import Answer, Attempts, Lost, Pause, Policy, Reply, Send, Steps, read, write
from treadle.errors import Denied, KeyReused, OutcomeUnknown, OverCapacity, TreadleError, Unreachable
from treadle.server.problems import problem

POLICY = Policy(attempts=4, timeout=30.0, attempt_timeout=10.0)
RECEIPT = Reply(200, b'{"outcome":"Done"}')
NOT_SENT = Lost(False, "the server cannot be reached")
GONE = Lost(True, "the connection ended")


def refused(error: TreadleError, retry_after: float | None = None) -> Reply:
    return Reply(error.status, json.dumps(problem(error)).encode(), retry_after)


BUSY = refused(OverCapacity("full"))
UNKNOWN = refused(OutcomeUnknown("perhaps"))
DENIED = refused(Denied("no"))


class Played:
    """What came of steps that were given these answers in turn."""

    def __init__(self, steps: Steps[Any], answers: list[Answer]) -> None:
        self.sent: list[Send] = []
        self.pauses: list[float] = []
        self.result: Any = None
        self.error: TreadleError | None = None
        left, answer = list(answers), None
        try:
            while True:
                step = steps.send(answer)
                answer = None
                if isinstance(step, Pause):
                    self.pauses.append(step.seconds)
                else:
                    self.sent.append(step)
                    answer = left.pop(0)
        except StopIteration as done:
            self.result = done.value
        except TreadleError as error:
            self.error = error
        assert not left, "not all answers were asked for"


def command(answers: list[Answer], *, keyed: bool = True, policy: Policy = POLICY) -> Played:
    return Played(write(Attempts(policy, None), "v1/commands/X", b"{}", keyed=keyed), answers)


def query(answers: list[Answer]) -> Played:
    return Played(read(Attempts(POLICY, None), "POST", "v1/queries/X", b"{}"), answers)


@pytest.mark.parametrize("before", [[], [NOT_SENT], [BUSY], [GONE], [UNKNOWN], [BUSY, GONE, NOT_SENT]])
def test_a_command_with_a_key_is_repeated_until_it_is_answered(before: list[Answer]) -> None:
    played = command([*before, RECEIPT])
    assert played.result == {"outcome": "Done"}
    assert len({(step.path, step.body) for step in played.sent}) == 1, "always the same request"
    assert len(played.pauses) == len(before)


@pytest.mark.parametrize(
    "answers, code",
    [
        ([NOT_SENT] * 4, "unreachable"),
        ([BUSY] * 4, "over_capacity"),
        ([GONE] * 4, "outcome_unknown"),
        ([GONE, NOT_SENT, NOT_SENT, NOT_SENT], "outcome_unknown"),
        ([UNKNOWN, BUSY, BUSY, BUSY], "outcome_unknown"),
        ([GONE, DENIED], "outcome_unknown"),
        ([DENIED], "denied"),
        ([Reply(502, b"<html>bad gateway</html>")] * 4, "outcome_unknown"),
        ([Reply(200, b"<html>")] * 4, "outcome_unknown"),
        ([Reply(404, b"<html>nothing here</html>")], "unreachable"),
        ([Reply(301, b"")], "unreachable"),
        ([refused(errors.Internal("oops"))], "internal"),
    ],
)
def test_what_the_caller_hears_at_the_end(answers: list[Answer], code: str) -> None:
    error = command(answers).error
    assert error is not None and error.code == code


@pytest.mark.parametrize(
    "error",
    [
        KeyReused("another input"),
        errors.KeyExpired("pruned"),
        errors.TerminalFailure("no", code="arithmetic", commit=3, replayed=True),
        errors.HistoryChanged("restored"),
    ],
)
def test_an_answer_that_comes_after_the_look_up_of_the_key_ends_the_doubt(error: TreadleError) -> None:
    found = command([GONE, refused(error)]).error
    assert type(found) is type(error)


def test_doubt_names_its_cause() -> None:
    error = command([GONE, DENIED]).error
    assert isinstance(error, OutcomeUnknown) and isinstance(error.__cause__, Denied)
    assert "repeat the same key" in str(error)


def test_a_command_without_a_key_is_never_sent_twice_when_it_may_have_run() -> None:
    for lost in (GONE, UNKNOWN, Reply(500, b"")):
        played = command([lost], keyed=False)
        assert isinstance(played.error, OutcomeUnknown) and len(played.sent) == 1
    assert command([NOT_SENT, BUSY, RECEIPT], keyed=False).result == {"outcome": "Done"}


def test_a_read_is_repeated_after_anything_that_may_pass() -> None:
    page = Reply(200, b'{"rows":[]}')
    assert query([GONE, UNKNOWN, BUSY, page]).result == {"rows": []}
    assert isinstance(query([GONE] * 4).error, Unreachable)
    assert isinstance(query([DENIED]).error, Denied)


def test_pauses_grow_and_follow_the_server() -> None:
    played = command([NOT_SENT, NOT_SENT, refused(OverCapacity("full"), retry_after=3.0), RECEIPT])
    first, second, third = played.pauses
    assert 0.05 <= first <= 0.1 and 0.1 <= second <= 0.2 and third == 3.0


@pytest.mark.parametrize("ask", [command, query])
def test_a_pause_that_passes_the_deadline_is_not_begun(ask: Callable[[list[Answer]], Played]) -> None:
    played = ask([refused(OverCapacity("full"), retry_after=60.0)])
    assert isinstance(played.error, OverCapacity) and not played.pauses


def test_the_server_is_told_to_answer_before_the_client_stops_listening() -> None:
    for seconds, wait in ((10.0, "wait=9"), (1.5, "wait=1"), (0.2, "wait=1")):
        attempts = Attempts(Policy(1, 30.0, seconds), None)
        assert attempts.wait() == wait and attempts.seconds() <= seconds
    assert Attempts(POLICY, 0.0).seconds() <= 0.05
