"""The checkers of recorded histories: what they accept and find, and that they agree with brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.jobs.asking import YARD, Answer, Seen
from sim.jobs.rules import Job
from sim.jobs.verdict import linear
from sim.linear.history import Operation, Recorder
from sim.linear.order import Witness, command, disorder, read
from sim.linear.search import explain
from sim.scenario import Broken

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ANN, BOB = UUID(int=1), UUID(int=2)


# ---- a counter: the smallest thing that can lose an update -------------------------------------------------


def counter(state: int, operation: Operation) -> Iterator[int]:
    """`add` answers the number after it; `read` answers the number."""
    after = state + (operation.asked == "add")
    if operation.answer is None or operation.answer == after:
        yield after


def test_a_stale_read_has_no_place() -> None:
    added = Operation("it", "add", 1, 2, 1)
    fresh, stale = Operation("it", "read", 3, 4, 1), Operation("it", "read", 5, 6, 0)
    assert explain([added, fresh], 0, counter) is None
    assert explain([added, fresh, stale], 0, counter) is stale
    overlapping = Operation("it", "read", 1, 6, 0)
    assert explain([added, fresh, overlapping], 0, counter) is None


def test_a_lost_update_has_no_place() -> None:
    both = [Operation("it", "add", 1, 4, 1), Operation("it", "add", 2, 3, 1)]
    assert explain(both, 0, counter) is not None
    both[1].answer = 2
    assert explain(both, 0, counter) is None


def test_what_was_never_answered_may_have_happened_at_any_time_or_never() -> None:
    lost = Operation("it", "add", 1, doubt=True)
    reads = [Operation("it", "read", 3, 4, 0), Operation("it", "read", 5, 6, 1)]
    assert explain([lost, *reads], 0, counter) is None
    assert explain([lost, reads[0]], 0, counter) is None
    assert explain([lost, *reads, Operation("it", "read", 7, 8, 0)], 0, counter) is not None
    lost.doubt = False  # it certainly did not happen
    assert explain([lost, *reads], 0, counter) is reads[1]


def brute(operations: list[Operation]) -> bool:
    """Whether any order of any choice of the open operations is right."""
    answered = [one for one in operations if one.answered is not None]
    opened = [one for one in operations if one.answered is None and one.doubt]
    for size in range(len(opened) + 1):
        for chosen in itertools.combinations(opened, size):
            if any(right(order) for order in itertools.permutations([*answered, *chosen])):
                return True
    return False


def right(order: tuple[Operation, ...]) -> bool:
    state = 0
    for place, one in enumerate(order):
        if any(later.answered is not None and later.answered < one.invoked for later in order[place:]):
            return False
        after = next(counter(state, one), None)
        if after is None:
            return False
        state = after
    return True


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    count = draw(st.integers(1, 5))
    ticks = draw(st.permutations(range(1, 2 * count + 1)))
    found = []
    for number in range(count):
        first, last = sorted(ticks[2 * number : 2 * number + 2])
        asked = draw(st.sampled_from(["add", "read"]))
        answered = draw(st.booleans()) or asked == "read"
        answer = draw(st.integers(0, 3)) if answered else None
        found.append(
            Operation("it", asked, first, last if answered else None, answer, doubt=draw(st.booleans()))
        )
    return found


@given(histories())
def test_the_search_agrees_with_brute_force(operations: list[Operation]) -> None:
    assert (explain(operations, 0, counter) is None) == brute(operations)


def test_a_long_history_with_few_overlaps_is_searched_in_a_moment() -> None:
    recorder, total = Recorder(), 0
    for _ in range(1_000):
        three = [recorder.begins("it", "add") for _ in range(3)]
        for place in (1, 2, 0):
            total += 1
            recorder.ends(three[place], total)
    for _ in range(20):
        recorder.begins("it", "add").doubt = True
    assert explain(recorder.operations, 0, counter) is None


def test_answers_that_came_late_do_not_make_the_search_long() -> None:
    """Each read may come anywhere, but fits one state only; what never fits is found all the same."""
    recorder = Recorder()
    late = [recorder.begins("it", "read") for _ in range(40)]
    for total in range(1, 201):
        recorder.ends(recorder.begins("it", "add"), total)
    for place, read_late in enumerate(late):
        recorder.ends(read_late, 4 * place)
    assert explain(recorder.operations, 0, counter) is None
    wrong = recorder.begins("it", "read")
    recorder.ends(wrong, 100)
    assert explain(recorder.operations, 0, counter) is wrong


def answer_of(operation: Operation) -> int | None:
    return operation.answer


@given(histories())
def test_ranks_refuse_nothing_that_is_right(operations: list[Operation]) -> None:
    """In a counter the answers themselves are ranks: none falls below an earlier one."""
    assert (explain(operations, 0, counter, answer_of) is None) == brute(operations)


def test_ranks_that_contradict_the_clock_on_the_wall_are_refused() -> None:
    first, second = Operation("it", "any", 1, 2, 5), Operation("it", "any", 3, 4, 4)
    assert explain([first, second], 0, lambda state, _: [state]) is None
    assert explain([first, second], 0, lambda state, _: [state], answer_of) in (first, second)
    second.invoked = 1
    assert explain([first, second], 0, lambda state, _: [state], answer_of) is None


# ---- commits as witness ------------------------------------------------------------------------------------


def test_commits_stand_in_the_order_of_what_did_not_overlap() -> None:
    late = Witness(1, 2, command(7), "the first")
    early = Witness(3, 4, command(5), "the second")
    assert (
        disorder([late, early])
        == "the second stands before the first, which had been answered before it was asked"
    )
    assert disorder([late, early._replace(invoked=1)]) is None


def test_reads_do_not_go_back() -> None:
    """Each of the two is right by itself; that the newer version was seen first is not."""
    newer, older = Witness(1, 2, [read(5, 9)], "newer"), Witness(3, 4, [read(2, 4)], "older")
    assert disorder([newer, older])
    assert disorder([older._replace(invoked=1, answered=2), newer._replace(invoked=3, answered=4)]) is None
    again = older._replace(spans=[read(2, 4), read(11, 12)])  # it was so again, later
    assert disorder([newer, again]) is None
    assert disorder([newer, again, Witness(5, 6, command(10), "a command")])


# ---- jobs --------------------------------------------------------------------------------------------------


class Past:
    """A history of job 0, written by hand."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.commits = itertools.count(1)

    def asks(self, name: str, **body: object) -> Operation:
        return self.recorder.begins(0, (name, {"yard": YARD, "job": 0, **body}))

    def hears(self, operation: Operation, outcome: str, job: Job | None = None, after: int = 0) -> None:
        name, commit = operation.asked[0], next(self.commits)
        time, revision = NOON + timedelta(seconds=after), job.revision if job else None
        self.recorder.ends(operation, Answer(name, outcome, commit, time, "", revision, job, False))

    def did(self, name: str, outcome: str, job: Job | None = None, after: int = 0, **body: object) -> None:
        self.hears(self.asks(name, **body), outcome, job, after)

    def sees(self, job: Job | None) -> None:
        self.recorder.ends(self.recorder.begins(0, "look"), Seen(job))

    @property
    def right(self) -> bool:
        try:
            linear(self.recorder.operations)
        except Broken:
            return False
        return True


@pytest.fixture
def past() -> Past:
    found = Past()
    found.did("Create", "Created", Job(1))
    return found


HELD = Job(2, "Waiting", ANN, NOON + timedelta(seconds=60), 1)


def test_of_two_claims_one_wins(past: Past) -> None:
    both = (
        past.asks("Claim", seen=1, worker=ANN, seconds=60),
        past.asks("Claim", seen=1, worker=BOB, seconds=60),
    )
    past.hears(both[1], "Stale")
    past.hears(both[0], "Claimed", HELD)
    assert past.right
    past.did("Claim", "Claimed", HELD, seen=1, worker=BOB, seconds=60)
    assert not past.right


def test_a_refusal_needs_a_reason(past: Past) -> None:
    past.did("Claim", "Claimed", HELD, seen=1, worker=ANN, seconds=60)
    past.did("Claim", "Taken", None, 59, seen=2, worker=BOB, seconds=60)
    assert past.right
    past.did("Claim", "Taken", None, 60, seen=2, worker=BOB, seconds=60)
    assert not past.right


def test_a_claim_that_nobody_heard_shows_in_what_comes_after(past: Past) -> None:
    past.asks("Claim", seen=1, worker=ANN, seconds=60).doubt = True
    past.did("Claim", "Taken", None, 7, seen=2, worker=BOB, seconds=60)
    past.sees(HELD)
    past.did("Renew", "Expired", None, 60, seen=2, worker=ANN, token=1, seconds=60)
    assert past.right
    past.did("Start", "Started", HELD._replace(revision=3, state="Running"), 61, seen=2, worker=ANN, token=1)
    assert not past.right


def test_time_does_not_run_back_in_a_row(past: Past) -> None:
    past.did("Claim", "Stale", None, 50, seen=9, worker=BOB, seconds=60)
    past.did("Claim", "Stale", None, 49, seen=9, worker=BOB, seconds=60)
    assert not past.right


def test_a_row_that_is_gone_goes_on_from_its_last_revision(past: Past) -> None:
    past.did("Claim", "Claimed", HELD, seen=1, worker=ANN, seconds=60)
    past.did("Remove", "Removed", None, 1, seen=2, worker=ANN, token=1)
    past.sees(None)
    past.did("Create", "Created", Job(3), 1)
    assert past.right
    past.sees(Job(1))
    assert not past.right
