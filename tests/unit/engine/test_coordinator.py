"""The queue and its lead: who leads, what is batched, what each caller hears when something ends early."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from treadle.engine.coordinator import Coordinator, TurnNotCome
from treadle.engine.job import Job
from treadle.engine.ticket import Ticket
from treadle.errors import Busy, Cancelled, OutcomeUnknown, OverCapacity, StoreError


class Work(Job):
    """A job that answers its own name."""

    def __init__(self, name: str, size: int = 1, *, exclusive: bool = False) -> None:
        super().__init__(size)
        self.name = name
        self.exclusive = exclusive


class Recorder:
    """Runs batches, remembers them, and can be told to stop in the middle of one."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.hold: threading.Event | None = None
        self.entered = threading.Event()
        self.error: BaseException | None = None

    def __call__(self, jobs: list[Any], timeout: float | None = None) -> None:
        self.entered.set()
        if self.hold is not None:
            assert self.hold.wait(10)
        error, self.error = self.error, None
        if error is not None:
            raise error
        self.batches.append([job.name for job in jobs])
        for job in jobs:
            job.result = job.name


def in_thread(coordinator: Coordinator, job: Work, timeout: float | None = None) -> threading.Thread:
    thread = threading.Thread(target=coordinator.run, args=([job], timeout), daemon=True)
    thread.start()
    return thread


def waiting(coordinator: Coordinator, depth: int) -> None:
    deadline = time.monotonic() + 10
    while coordinator.depth < depth:
        assert time.monotonic() < deadline, "nobody queued"
        time.sleep(0.001)


def test_a_lone_caller_leads_its_own_job() -> None:
    recorder = Recorder()
    coordinator = Coordinator(recorder)
    job = Work("a")
    coordinator.run([job])
    assert job.answer == "a"
    assert recorder.batches == [["a"]]


def test_everyone_who_waits_shares_the_next_batch_in_order() -> None:
    recorder = Recorder()
    recorder.hold = threading.Event()
    coordinator = Coordinator(recorder)
    first = in_thread(coordinator, Work("first"))
    assert recorder.entered.wait(10)
    others = []
    for number in range(5):
        others.append(in_thread(coordinator, Work(f"{number}")))
        waiting(coordinator, number + 1)
    recorder.hold.set()
    for thread in [first, *others]:
        thread.join(10)
    assert recorder.batches == [["first"], ["0", "1", "2", "3", "4"]]


def test_an_exclusive_job_has_a_batch_of_its_own() -> None:
    recorder = Recorder()
    coordinator = Coordinator(recorder)
    coordinator.run([Work("a"), Work("deploy", exclusive=True), Work("b"), Work("c")])
    assert recorder.batches == [["a"], ["deploy"], ["b", "c"]]


def test_a_batch_is_bounded_by_count_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.limits.BATCH_COMMANDS", 3)
    monkeypatch.setattr("treadle.limits.BATCH_BYTES", 10)
    recorder = Recorder()
    Coordinator(recorder).run(
        [Work(name, size) for name, size in zip("abcdef", (1, 1, 1, 6, 5, 5), strict=True)]
    )
    assert recorder.batches == [["a", "b", "c"], ["d"], ["e", "f"]]


def test_a_full_queue_refuses_and_queues_nothing() -> None:
    recorder = Recorder()
    recorder.hold = threading.Event()
    coordinator = Coordinator(recorder, queue_jobs=2, queue_bytes=10)
    first = in_thread(coordinator, Work("first"))
    assert recorder.entered.wait(10)
    second = in_thread(coordinator, Work("second", 9))
    waiting(coordinator, 1)
    with pytest.raises(OverCapacity):
        coordinator.run([Work("too large", 2)])
    with pytest.raises(OverCapacity):
        coordinator.run([Work("x"), Work("y")])
    recorder.hold.set()
    first.join(10)
    second.join(10)
    assert recorder.batches == [["first"], ["second"]]


def test_a_request_larger_than_the_queue_runs_when_nobody_waits() -> None:
    recorder = Recorder()
    Coordinator(recorder, queue_jobs=1, queue_bytes=1).run([Work("a", 5), Work("b", 5)])
    assert [name for batch in recorder.batches for name in batch] == ["a", "b"]


def test_a_job_still_queued_at_its_timeout_certainly_did_not_happen() -> None:
    recorder = Recorder()
    recorder.hold = threading.Event()
    coordinator = Coordinator(recorder)
    first = in_thread(coordinator, Work("first"))
    assert recorder.entered.wait(10)
    late = Work("late")
    coordinator.run([late], timeout=0.02)
    assert isinstance(late.answer, Busy)
    recorder.hold.set()
    first.join(10)
    assert recorder.batches == [["first"]]


def test_a_job_taken_at_its_timeout_is_outcome_unknown_whatever_comes_of_it() -> None:
    recorder = Recorder()
    recorder.hold = threading.Event()
    coordinator = Coordinator(recorder)
    first = in_thread(coordinator, Work("first"))
    assert recorder.entered.wait(10)
    recorder.entered.clear()
    queued = Work("queued")
    leader = in_thread(coordinator, queued)
    waiting(coordinator, 1)
    follower = Work("follower")
    done = threading.Thread(target=coordinator.run, args=([follower], 0.2), daemon=True)
    done.start()
    waiting(coordinator, 2)
    hold, recorder.hold = recorder.hold, threading.Event()
    hold.set()
    first.join(10)
    done.join(10)
    assert isinstance(follower.answer, OutcomeUnknown)
    recorder.hold.set()
    leader.join(10)
    assert queued.answer == "queued"
    assert isinstance(follower.answer, OutcomeUnknown)


def test_an_error_of_the_batch_reaches_every_caller() -> None:
    recorder = Recorder()
    recorder.error = OutcomeUnknown("who knows")
    coordinator = Coordinator(recorder)
    jobs = [Work("a"), Work("b")]
    coordinator.run(jobs)
    assert all(isinstance(job.answer, OutcomeUnknown) for job in jobs)
    recorder.error = StoreError("gone")
    again = Work("again")
    coordinator.run([again])
    assert isinstance(again.answer, StoreError)


def test_an_interrupt_before_the_commit_puts_the_others_back_and_they_still_run() -> None:
    recorder = Recorder()
    recorder.hold = threading.Event()
    coordinator = Coordinator(recorder)
    first = in_thread(coordinator, Work("first"))
    assert recorder.entered.wait(10)

    mine, other = Work("mine"), Work("other")
    raised: list[BaseException] = []

    def interrupted() -> None:
        try:
            coordinator.run([mine])
        except KeyboardInterrupt as error:
            raised.append(error)

    leader = threading.Thread(target=interrupted, daemon=True)
    leader.start()
    waiting(coordinator, 1)
    follower = in_thread(coordinator, other)
    waiting(coordinator, 2)
    # The lead of "first" ends well; the next lead, which carries both, is interrupted.
    original = recorder.__call__

    def run(jobs: list[Any], timeout: float | None) -> None:
        if [job.name for job in jobs] == ["mine", "other"]:
            raise KeyboardInterrupt
        original(jobs)

    coordinator._run_batch = run
    recorder.hold.set()
    for thread in (first, leader, follower):
        thread.join(10)
        assert not thread.is_alive()
    assert len(raised) == 1
    assert isinstance(mine.answer, Cancelled)
    assert other.answer == "other"
    assert recorder.batches == [["first"], ["other"]]


def test_many_threads_each_get_their_own_answer() -> None:
    recorder = Recorder()
    coordinator = Coordinator(recorder)
    jobs = [[Work(f"{thread}.{number}") for number in range(50)] for thread in range(16)]

    def caller(mine: list[Work]) -> None:
        for job in mine:
            coordinator.run([job])

    threads = [threading.Thread(target=caller, args=(mine,)) for mine in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert all(job.answer == job.name for mine in jobs for job in mine)
    ran = [name for batch in recorder.batches for name in batch]
    assert sorted(ran) == sorted(job.name for mine in jobs for job in mine)
    assert coordinator.depth == 0


def serves(coordinator: Coordinator, recorder: Recorder) -> None:
    """The lead was not lost: a new caller is answered."""
    later = Work("later")
    coordinator.run([later], timeout=10)
    assert later.answer == "later"


def test_an_interrupted_leader_leaves_nothing_of_its_own_in_the_queue() -> None:
    recorder = Recorder()
    coordinator = Coordinator(recorder)
    recorder.error = KeyboardInterrupt()
    jobs = [Work(f"{number}") for number in range(600)]  # more than one batch
    with pytest.raises(KeyboardInterrupt):
        coordinator.run(jobs)
    assert coordinator.depth == 0
    assert all(isinstance(job.answer, Cancelled) for job in jobs)
    serves(coordinator, recorder)


def test_a_job_that_its_caller_gave_up_is_not_put_back_when_the_leader_is_interrupted() -> None:
    recorder = Recorder()
    recorder.hold = threading.Event()
    coordinator = Coordinator(recorder)
    blocked = in_thread(coordinator, Work("blocked"))
    assert recorder.entered.wait(10)
    recorder.entered.clear()
    raised: list[BaseException] = []

    def interrupted() -> None:
        try:
            coordinator.run([Work("leader")])
        except KeyboardInterrupt as error:
            raised.append(error)

    leader = threading.Thread(target=interrupted, daemon=True)
    leader.start()
    waiting(coordinator, 1)
    impatient = Work("impatient")
    gone = threading.Thread(target=coordinator.run, args=([impatient], 0.3), daemon=True)
    gone.start()
    waiting(coordinator, 2)
    hold, recorder.hold = recorder.hold, threading.Event()
    hold.set()
    blocked.join(10)
    gone.join(10)
    assert isinstance(impatient.answer, OutcomeUnknown)
    recorder.error = KeyboardInterrupt()
    recorder.hold.set()
    leader.join(10)
    assert len(raised) == 1
    assert coordinator.depth == 0
    serves(coordinator, recorder)


def test_a_waiter_that_gives_up_as_the_lead_is_offered_passes_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    offer = Ticket.offer_lead

    def slowly(self: Ticket, lead: Any) -> None:
        time.sleep(0.3)  # the waiter's time runs out between the choice and the offer
        offer(self, lead)

    monkeypatch.setattr(Ticket, "offer_lead", slowly)
    recorder = Recorder()
    recorder.hold = threading.Event()
    coordinator = Coordinator(recorder)
    first = in_thread(coordinator, Work("first"))
    assert recorder.entered.wait(10)
    impatient = in_thread(coordinator, Work("impatient"), 0.2)
    waiting(coordinator, 1)
    time.sleep(0.1)
    recorder.hold.set()
    first.join(10)
    impatient.join(10)
    serves(coordinator, recorder)


def test_a_leader_waits_for_other_writers_no_longer_than_it_was_given() -> None:
    def never(jobs: list[Any], timeout: float | None) -> None:
        assert timeout is not None
        raise TurnNotCome

    coordinator = Coordinator(never)
    job = Work("job")
    coordinator.run([job], timeout=0.01)
    assert isinstance(job.answer, Busy)
    assert coordinator.depth == 0


def test_what_has_committed_stands_when_the_leader_is_interrupted_after_it() -> None:
    def commits(jobs: list[Any], timeout: float | None) -> None:
        for job in jobs:
            job.result, job.settled = job.name, True
        raise KeyboardInterrupt

    coordinator = Coordinator(commits)
    job = Work("job")
    with pytest.raises(KeyboardInterrupt):
        coordinator.run([job])
    assert job.answer == "job"
