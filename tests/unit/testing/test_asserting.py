"""Assertions of outcomes and events: they hold where they should, and say what came instead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import jobs
from tests.support.engines import open_on
from treadle.database import Database
from treadle.store.memory import MemoryStore
from treadle.testing import START, ManualClock, assert_events, assert_outcome


@pytest.fixture
def db() -> Iterator[Database]:
    """The contract of jobs, with an event more that no command emits."""
    declared = "  event JobDone { partition_by (shop) shop: string<20> number: u64 }\n\n  event JobQueued"
    with open_on(MemoryStore(), ManualClock(START)) as made:
        made.deploy(jobs.SOURCE.replace("  event JobQueued", declared), queries=jobs.QUERIES)
        yield made


def test_an_outcome_with_its_fields(db: Database) -> None:
    jobs.queue(db, [1])
    claim = {"key": "1", "shop": jobs.SHOP, "number": 1, "worker": "00000000-0000-4000-8000-000000000001"}
    receipt = db.run("Claim", claim | {"seconds": 60, "expected_revision": 1}, principal="w")
    fields = assert_outcome(receipt, "Claimed", job={"token": 1, "title": "job 1"})
    assert fields["job"]["number"] == 1
    with pytest.raises(
        AssertionError, match=r"other fields:\n  job\.token is 1, not 2\n  there is no job\.titel; the"
    ):
        assert_outcome(receipt, "Claimed", job={"token": 2, "titel": ""})
    with pytest.raises(AssertionError, match="answered Claimed, not Taken; .*its fields: .*'token': 1"):
        assert_outcome(receipt, "Taken")
    with pytest.raises(ValueError, match="declares no outcome Claim; the nearest is Claimed"):
        assert_outcome(receipt, "Claim")


def test_a_page_and_an_error_of_a_batch(db: Database) -> None:
    assert_outcome(db.query("LiveJobs", {"shop": jobs.SHOP}), "Live", jobs=0)
    failed = db.run_many([("Claim", {"key": "1"})], principal="w")[0]
    with pytest.raises(AssertionError, match="Claimed was expected, and the call was refused: invalid_input"):
        assert_outcome(failed, "Claimed")


def test_events_in_their_order(db: Database) -> None:
    assert_events(db)
    jobs.queue(db, [1, 2])
    second = db.head[0] - 1
    assert_events(db, "JobQueued", ("JobQueued", {"number": 2, "shop": jobs.SHOP}))
    assert_events(db, ("JobQueued", {"number": 2}), since=second)
    assert_events(db, of="JobDone")
    with pytest.raises(AssertionError, match=r"1 event expected, 0 emitted .*\n  - JobQueued\(\)"):
        assert_events(db, "JobQueued", since=db.head[0])


def test_a_difference_shows_where_both_part(db: Database) -> None:
    jobs.queue(db, [1, 2, 3])
    first, third = ("JobQueued", {"number": 1}), ("JobQueued", {"number": 3})
    with pytest.raises(AssertionError) as told:
        assert_events(db, first, ("JobDone", {"number": 2}), third)
    lines = str(told.value).splitlines()
    assert lines[0].startswith("3 events expected, 3 emitted")
    assert [line[2] for line in lines[1:]] == ["=", "-", "+", "="]
    assert lines[2] == "  - JobDone(number=2)" and lines[3].startswith("  + JobQueued(")
    with pytest.raises(AssertionError) as told:
        assert_events(db, first, third)
    assert [line[2] for line in str(told.value).splitlines()[1:]] == ["=", "+", "="]
    with pytest.raises(AssertionError, match=r"\+ JobQueued\(.*\)    \(number is 2, not 7\)"):
        assert_events(db, first, ("JobQueued", {"number": 7}), third)
    with pytest.raises(AssertionError, match="1 event expected, 3 emitted"):
        assert_events(db, "JobQueued")


def test_an_event_that_does_not_exist_is_no_check(db: Database) -> None:
    with pytest.raises(ValueError, match="there is no event JobQueue; the nearest is JobQueued"):
        assert_events(db, of="JobQueue")
    with pytest.raises(ValueError, match="there is no event Done"):
        assert_events(db, "JobQueued", ("Done", {}))
