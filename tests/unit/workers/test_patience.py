"""Calls that are repeated until they are certain, and pauses that grow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.pace import FastTime
from treadle.errors import Busy, Denied, LeaseLost, OutcomeUnknown, OverCapacity, StoreError, TreadleError
from treadle.workers.patience import backoff, certainly, passing


def test_what_passes_by_itself() -> None:
    assert all(passing(error("")) for error in (Busy, OutcomeUnknown, OverCapacity))
    assert not any(passing(error("")) for error in (Denied, LeaseLost, StoreError))


def test_a_call_is_repeated_until_it_answers() -> None:
    pace, repeated = FastTime(100), []
    answers: Iterator[object] = iter([Busy(""), OutcomeUnknown(""), 7])

    def call(left: float) -> object:
        assert 0 < left <= 60
        answer = next(answers)
        if isinstance(answer, TreadleError):
            raise answer
        return answer

    assert certainly(call, 60, pace, lambda: repeated.append(1)) == 7
    assert len(repeated) == 2


def test_a_call_is_not_repeated_for_ever() -> None:
    pace = FastTime(1000)

    def call(left: float) -> None:
        raise OutcomeUnknown("still")

    with pytest.raises(OutcomeUnknown):
        certainly(call, pace.now() + 5, pace, lambda: None)
    with pytest.raises(Busy):
        certainly(call, pace.now(), pace, lambda: None)
    answers: Iterator[TreadleError] = iter([Busy(""), OutcomeUnknown(""), *[Busy("")] * 1000])

    def then_busy(left: float) -> None:
        raise next(answers)

    with pytest.raises(OutcomeUnknown):
        certainly(then_busy, pace.now() + 20, pace, lambda: None)


def test_a_refusal_is_not_repeated() -> None:
    calls: list[int] = []

    def call(left: float) -> None:
        calls.append(1)
        raise Denied("no")

    with pytest.raises(Denied):
        certainly(call, 60, FastTime(1), lambda: None)
    assert calls == [1]


def test_pauses_double_up_to_an_hour() -> None:
    for tries, most in ((1, 2), (2, 4), (5, 32), (12, 3600), (1000, 3600)):
        assert most * 0.75 <= backoff(2, tries, "seed") <= most
    assert backoff(2, 3, "a") != backoff(2, 3, "b"), "what failed together is not tried together"
    assert backoff(2, 3, "a") == backoff(2, 3, "a")
    assert backoff(0, 3, "a") == 0
