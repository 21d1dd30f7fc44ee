"""The failing store: each operation in turn, on the store's own workload."""

from __future__ import annotations

import itertools

import pytest

from tests.support.batches import Answers, check_batches, create_tables, run_batches
from treadle.errors import OutcomeUnknown, StoreError
from treadle.store.memory import MemoryStore
from treadle.testing import FaultStore
from treadle.testing.faults import answer_lost


def prepared() -> FaultStore:
    store = FaultStore(MemoryStore())
    create_tables(store)
    return store


def test_every_operation_fails_in_turn():
    for at in itertools.count(1):
        store = prepared()
        answers = Answers()
        store.arm(at)
        run_batches(store, [1, 2, 3], answers)
        fired = store.fired
        store.arm(None)
        check_batches(store, answers)
        again = Answers()
        run_batches(store, [1, 2, 3], again)
        check_batches(store, again)
        assert set(again.of.values()) == {"acknowledged"}
        assert list(answers.of.values()).count("nothing happened") == fired
        if not fired:
            break
    assert at > 20


def test_a_commit_whose_answer_is_lost():
    store = prepared()
    answers = Answers()
    store.arm(1)
    run_batches(store, [0], Answers())
    assert store.seen == ["write"]
    store.arm(None)
    run_batches(store, [1], answers)
    commit = store.seen.index("commit") + 1
    store.arm(commit, answer_lost, afterwards=True)
    run_batches(store, [2], answers)
    assert store.fired
    assert answers.of == {1: "acknowledged", 2: "unknown"}
    store.arm(None)
    run_batches(store, [2], answers)
    assert answers.of[2] == "acknowledged"
    check_batches(store, answers)


@pytest.mark.parametrize(("error", "expected"), [(None, StoreError), (answer_lost, OutcomeUnknown)])
def test_errors_of_ones_choice(error, expected):
    store = prepared()
    store.arm(1, *([error] if error else []))
    with pytest.raises(expected), store.read():
        pass
    with store.read() as tx:
        assert tx.head().number == 0
    assert store.capabilities.durable is False
    store.close()
