"""Time-ordered UUIDs: their layout, and that they only grow."""

from __future__ import annotations

import threading
import uuid

from hypothesis import given
from hypothesis import strategies as st

from treadle import limits
from treadle.store.ids import SystemIds


def test_the_layout_is_that_of_version_7():
    made = uuid.UUID(bytes=SystemIds().uuid7(1_700_000_000_123_500))
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert made.int >> 80 == 1_700_000_000_123
    assert made.int >> 64 & 0xFFF == 500 * 4096 // 1000


@given(times=st.lists(st.integers(limits.TIMESTAMP_MIN, limits.TIMESTAMP_MAX), max_size=30))
def test_they_only_grow_whatever_the_clock_does(times):
    ids = SystemIds()
    made = [ids.uuid7(time) for time in times]
    assert made == sorted(set(made))
    assert all(uuid.UUID(bytes=one).version == 7 for one in made)


def test_a_full_tail_goes_over_into_the_time():
    ids = SystemIds(draw=lambda size: b"\xff" * size)
    made = [ids.uuid7(5_000)]
    while made[-1][:8] == made[0][:8] and len(made) < 20_000:
        made.append(ids.uuid7(5_000))
    assert made[-1][:8] > made[0][:8]
    assert made == sorted(set(made))
    assert uuid.UUID(bytes=made[-1]).version == 7


def test_threads_never_share_one():
    ids = SystemIds()
    made: list[bytes] = []

    def work() -> None:
        made.extend([ids.uuid7(1) for _ in range(2000)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 8000


def test_two_processes_with_one_state_part_at_once():
    first, second = SystemIds(), SystemIds()
    first.uuid7(1)
    second._head, second._tail = first._head, first._tail
    assert first.uuid7(1) != second.uuid7(1)


def test_tokens_are_of_the_size_asked_for():
    ids = SystemIds()
    assert len(ids.token(32)) == 32
    assert ids.token(32) != ids.token(32)
