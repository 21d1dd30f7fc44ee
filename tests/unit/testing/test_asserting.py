"""Assertions of outcomes and events: they hold where they should, and say what came instead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import jobs
from treadle.database import Database
from treadle.store.memory import MemoryStore
from treadle.testing import assert_events, assert_outcome


@pytest.fixture
def db() -> Iterator[Database]:
    with jobs.jobs(MemoryStore()) as made:
        yield made


def test_an_outcome_with_its_fields(db: Database) -> None:
    jobs.queue(db, [1])
    claim = {"key": "1", "shop": jobs.SHOP, "number": 1, "worker": "00000000-0000-4000-8000-000000000001"}
    receipt = db.run("Claim", claim | {"seconds": 60, "expected_revision": 1}, principal="w")
    fields = assert_outcome(receipt, "Claimed", job={"token": 1, "title": "job 1"})
    assert fields["job"]["number"] == 1
    with pytest.raises(
        AssertionError, match=r"other fields: job\.token is 1, not 2; there is no job\.titel; the"
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
    with pytest.raises(AssertionError, match="1 events were expected, 2 emitted; emitted were:\n  JobQueued"):
        assert_events(db, "JobQueued")
    with pytest.raises(
        AssertionError, match="event 1, number is 1, not 2; event 2 is JobQueued, not JobDone"
    ):
        assert_events(db, ("JobQueued", {"number": 2}), "JobDone")
    with pytest.raises(AssertionError, match="emitted were: none"):
        assert_events(db, "JobQueued", since=db.head[0])
