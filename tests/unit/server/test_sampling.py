"""What the store says of a workflow: the same from one statement as from reading every row."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

import treadle
from tests.support import postgres
from tests.support.contracts import SOURCE, work_contract
from treadle.ports import tallies
from treadle.ports.store import ReadTx
from treadle.ports.tallies import FREE, HELD, LAPSED, Places, Tallies
from treadle.server.metrics import Durations
from treadle.server.sampling import Sampler, final_states, meanings_of, wal_path
from treadle.testing import ManualClock

START = datetime(2030, 1, 1, tzinfo=UTC)
ORGANIZATION = UUID(int=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[treadle.Database]:
    if request.param == "postgres":
        url = postgres.fresh_url()
    else:
        url = ":memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/work.db"
    with treadle.open(url, clock=clock) as opened:
        opened.deploy(SOURCE)
        yield opened


def run(db: treadle.Database, command: str, work: int, key: str, **more: object) -> treadle.Receipt:
    given = {"request_key": key, "organization_id": ORGANIZATION, "work_id": UUID(int=work)}
    return db.run(command, given | more, principal="p")


def claim(db: treadle.Database, work: int, revision: int, seconds: int) -> None:
    more = {"owner_id": UUID(int=9), "duration": seconds, "expected_revision": revision}
    assert run(db, "ClaimWork", work, f"c{work}.{revision}", **more).ok


class Plain:
    """A snapshot that cannot count by itself."""

    def __init__(self, tx: ReadTx) -> None:
        self.scan = tx.scan


def test_counting_in_the_store_and_row_by_row_agree(db: treadle.Database, clock: ManualClock) -> None:
    for work in range(5):
        run(db, "CreateWork", work, f"k{work}")
    claim(db, 0, 1, 900)
    claim(db, 1, 1, 10)
    claim(db, 2, 1, 20)
    clock.advance(timedelta(seconds=20))
    table = db._engine.refresh().require().tables["WorkItem"]
    names = [column.field for column in table.columns]
    places = Places(names.index("state"), names.index("lease_owner"), names.index("lease_expires_at"))
    now = db._engine.clock.now()
    with db._engine.store.read() as tx:
        plain: ReadTx = Plain(tx)  # type: ignore[assignment]
        by_row = tallies.counted(plain, table, places, now, page=2)
        by_store = tallies.counted(tx, table, places, now)
        only_states = tallies.counted(tx, table, Places(places.state), now)
    assert sorted(by_row) == sorted(by_store)
    assert {(one.state, one.hold): one.rows for one in by_row} == {
        ("Queued", FREE): 2,
        ("Queued", HELD): 1,
        ("Queued", LAPSED): 2,
    }
    assert [(one.state, one.hold, one.rows, one.until) for one in only_states] == [("Queued", FREE, 5, None)]


def test_sqlite_counts_by_itself(tmp_path: Path) -> None:
    with treadle.open(tmp_path / "a.db") as db, db._engine.store.read() as tx:
        assert isinstance(tx, Tallies)


def test_what_waits_longest_counts_from_its_last_write_or_its_leases_end(
    db: treadle.Database, clock: ManualClock
) -> None:
    sampler = Sampler(db._engine)
    run(db, "CreateWork", 1, "k1")
    clock.advance(timedelta(seconds=100))
    claim(db, 1, 1, 10)
    run(db, "CreateWork", 2, "k2")
    claim(db, 2, 1, 900)
    clock.advance(timedelta(seconds=30))
    found = sampler.sample().items[0]
    assert (found.states, found.held, found.lapsed, found.oldest) == (
        {"Queued": 2, "Running": 0, "Complete": 0}, 1, 1, 20.0,
    )  # fmt: skip


def test_the_floor_is_how_far_the_log_is_ahead(db: treadle.Database, clock: ManualClock) -> None:
    run(db, "CreateWork", 1, "k1")
    clock.advance(timedelta(seconds=-50))
    assert Sampler(db._engine).sample().floor == 50.0


def test_samples_begin_where_the_sampler_was_made(db: treadle.Database) -> None:
    run(db, "CreateWork", 1, "k1")
    sampler = Sampler(db._engine)
    run(db, "CreateWork", 2, "k2")
    run(db, "CreateWork", 2, "k3")
    counters = sampler.sample().counters["commands"]
    assert dict(counters) == {("CreateWork", "Created"): 1, ("CreateWork", "Exists"): 1}


def test_meanings_of_outcomes() -> None:
    found = meanings_of(work_contract())
    assert found.clauses["ClaimWork", "Unavailable"] == ("WorkLifecycle", "claim", "unavailable")
    assert found.clauses["FinishWork", "Invalid"] == ("WorkLifecycle", "fence", "invalid")
    assert found.claims == {"ClaimWork": "WorkLifecycle"}
    assert final_states(work_contract().workflows[0]) == {"Complete"}


def test_durations_fall_into_buckets() -> None:
    durations = Durations()
    for seconds in (0.0005, 0.001, 0.02, 99.0):
        durations.add(seconds)
    counts = dict(durations.buckets())
    assert (counts["0.001"], counts["0.025"], counts["30"], counts["+Inf"]) == (2, 3, 3, 4)
    assert durations.total == pytest.approx(99.0215)


def test_where_the_write_ahead_log_is() -> None:
    assert wal_path("work.db") == "work.db-wal" and wal_path("sqlite:////srv/work.db") == "/srv/work.db-wal"
    assert wal_path(":memory:") is None
