"""The identity of an attempt is what is published, and nothing that differs shares one."""

from __future__ import annotations

import uuid

import pytest

from treadle.errors import InvalidInput, InvariantBroken
from treadle.workers.attempts import EVENTS, QUERY, Attempt, Due, component, derived

VECTOR = Attempt(
    "RunDueWork", EVENTS, b"\x11" * 32, "DueWork", Due(41, 7), (uuid.UUID(int=0x22), uuid.UUID(int=0x33))
)


def test_the_published_vector() -> None:
    twos, threes = uuid.UUID(bytes=b"\x22" * 16), uuid.UUID(bytes=b"\x33" * 16)
    key = VECTOR._replace(target=(twos, threes)).business("ExecuteDueWork")
    assert key == "sched_fed622b3bcf0d07a6639456114aca0a4082fa9add4681efc4d04bea9c43d0aad"


def test_everything_counts() -> None:
    variants = [
        VECTOR,
        VECTOR._replace(schedule="RunDue"),
        VECTOR._replace(source=QUERY),
        VECTOR._replace(module_hash=b"\x12" * 32),
        VECTOR._replace(operation="Due"),
        VECTOR._replace(due=Due(41, 8)),
        VECTOR._replace(due=Due(-41, 7)),
        VECTOR._replace(target=VECTOR.target[::-1]),
        VECTOR._replace(target=VECTOR.target[:1]),
        VECTOR._replace(target=("a", "b")),
        VECTOR._replace(target=("ab",)),
        VECTOR._replace(target=(7,)),
        VECTOR._replace(target=("7",)),
    ]
    keys = [
        key for each in variants for key in (each.business("A"), each.business("B"), each.business("A#2"))
    ]
    keys += [
        key
        for each in variants
        for key in (each.claim(0), each.claim(1), each.claim(1, 5), each.release(1, 5))
    ]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 70 for key in keys)


def test_an_occasion_in_microseconds() -> None:
    assert Due.of(41_000_007) == Due(41, 7_000)
    assert Due.of(-1) == Due(-1, 999_999_000)
    assert Due.of(5, 3) == Due(0, 5_003)


def test_parts_of_a_key() -> None:
    one = uuid.UUID(int=1)
    assert [component(value) for value in (one, "x", 7, 2**64 - 1)] == [one, "x", 7, 2**64 - 1]
    assert [component(value) for value in (-1, 2**64, True, 1.5)] == ["-1", str(2**64), "True", "1.5"]


def test_bounds_of_the_target() -> None:
    VECTOR._replace(target=tuple(range(8))).business("A")
    VECTOR._replace(target=("x" * (1024 - 5),)).business("A")
    for target in (tuple(range(9)), ("x" * 1020,)):
        with pytest.raises(InvalidInput):
            VECTOR._replace(target=target).business("A")
    with pytest.raises(InvalidInput):
        VECTOR._replace(target=tuple(range(7))).claim(0, 1, 2)
    with pytest.raises(InvariantBroken):
        VECTOR._replace(module_hash=b"").business("A")


def test_keys_that_follow_a_key() -> None:
    assert derived("k", "renew") != derived("k", "release")
    assert len(derived("k", "renew")) == 70
