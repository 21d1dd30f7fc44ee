"""Threads for SPARQL: answers, exceptions, deadlines, abandoned work, forks."""

from __future__ import annotations

import os
import threading
import time

import pytest

from treadle.errors import OverCapacity, SparqlError
from treadle.graph.evaluation import Evaluator, Stopped, release


@pytest.fixture
def evaluator() -> Evaluator:
    return Evaluator(abandoned=2)


def until(condition: object) -> None:
    deadline = time.monotonic() + 20
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "did not happen"
        time.sleep(0.001)


def test_answers_and_exceptions(evaluator: Evaluator) -> None:
    assert evaluator.run(lambda stopped: 40 + 2) == 42
    assert evaluator.run(lambda stopped: None, timeout=5) is None
    with pytest.raises(ZeroDivisionError):
        evaluator.run(lambda stopped: 1 // 0)
    assert evaluator.run(lambda stopped: stopped()) is False


def test_work_runs_on_threads_of_its_own(evaluator: Evaluator) -> None:
    before = threading.stack_size()
    names = {evaluator.run(lambda stopped: threading.current_thread().name) for _ in range(3)}
    assert names == {"treadle-sparql"} and threading.stack_size() == before


def test_threads_are_used_again(evaluator: Evaluator) -> None:
    ids = {evaluator.run(lambda stopped: threading.get_ident()) for _ in range(20)}
    until(lambda: len(evaluator._idle) == 1)
    assert len(ids) <= 2
    evaluator.close()
    assert evaluator.run(lambda stopped: 1) == 1


def test_a_deadline_leaves_the_work_which_then_ends(evaluator: Evaluator) -> None:
    begun = threading.Event()

    def endless(stopped: Stopped) -> None:
        begun.set()
        while not stopped():
            time.sleep(0.001)

    with pytest.raises(SparqlError) as ended:
        evaluator.run(endless, timeout=0.05)
    assert (ended.value.code, ended.value.status) == ("deadline", 408)
    assert begun.is_set()
    until(lambda: evaluator.abandoned == 0)


def test_too_much_abandoned_work_refuses_more(evaluator: Evaluator) -> None:
    go_on = threading.Event()
    for _ in range(2):
        with pytest.raises(SparqlError):
            evaluator.run(lambda stopped: go_on.wait(20), timeout=0.02)
    assert evaluator.abandoned == 2
    with pytest.raises(OverCapacity) as refused:
        evaluator.run(lambda stopped: 1)
    assert refused.value.status == 503
    go_on.set()
    until(lambda: evaluator.abandoned == 0)
    assert evaluator.run(lambda stopped: 1) == 1


def test_many_callers_at_once() -> None:
    evaluator = Evaluator()
    answers: list[int] = []
    callers = [
        threading.Thread(target=lambda at=at: answers.append(evaluator.run(lambda stopped: at)))
        for at in range(64)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert sorted(answers) == list(range(64))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_process_starts_threads_of_its_own(evaluator: Evaluator) -> None:
    evaluator.run(lambda stopped: 1)
    until(lambda: evaluator._idle)
    child = os.fork()
    if child == 0:
        os._exit(0 if evaluator.run(lambda stopped: 7, timeout=10) == 7 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_release_frees_what_the_frames_hold() -> None:
    freed: list[bool] = []

    class Held:
        def __del__(self) -> None:
            freed.append(True)

    def work() -> None:
        held = Held()
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError(bool(held)) from None

    with pytest.raises(ValueError) as caught:
        work()
    kept = caught.value
    del caught
    assert not freed
    release(kept)
    assert freed
