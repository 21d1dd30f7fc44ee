"""Receipts become stubs, stubs are dropped, and verification accepts exactly that, on every store."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta

import pytest

import treadle
from tests.support.engines import ORGANIZATION, SOURCE, START, claim, create, open_on, successor, work_id
from tests.support.streams import post, send
from treadle.access.roles import Role
from treadle.database import Database
from treadle.engine import parts
from treadle.errors import DatabaseCorrupt, InvalidInput, KeyExpired
from treadle.model import record
from treadle.ports.store import LogEntry, Store
from treadle.retention import Pruned, Windowed, receipts
from treadle.testing import ManualClock
from treadle.verify import snapshot
from treadle.verify.walk import Walk

DAY = timedelta(days=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def db(store: Store, clock: ManualClock) -> Database:
    """Record 1 deploys; a day later 2 to 5 create four rows; another day later 6 to 9 claim them."""
    made = open_on(store, clock)
    made.deploy(SOURCE)
    acting = made.acting_as("tests")
    for command in (create, claim):
        clock.advance(DAY)
        for number in range(4):
            acting.run(*command(number))
    return made


def problems(db: Database) -> list[str]:
    return [str(one) for one in db.verify().problems]


def identity(store: Store, number: int) -> bytes:
    with store.read() as tx:
        found = record.decode(next(tx.log(number, number)).data).identity
    assert found is not None
    return found


def test_a_stub_refuses_its_key_and_leaves_the_others(db: Database) -> None:
    acting = db.acting_as("tests")
    assert db.retention().receipts(before=5) == Pruned(4, 3, (10,))
    for number in range(3):
        with pytest.raises(KeyExpired):
            acting.run(*create(number))
        with pytest.raises(KeyExpired):
            acting.recall("CreateWork", f"create-{number}")
    assert acting.run(*create(3)).replayed and acting.run(*claim(0)).replayed
    assert not problems(db)
    entry = next(db.log(10))
    assert (entry.kind, entry.name, entry.principal) == ("prune", "receipts", "owner")
    assert entry.body == {"through": 4, "keys": 3}


def test_by_age_and_again(db: Database) -> None:
    retention = db.retention()
    assert retention.receipts(older_than=3 * DAY) == Pruned(0, 0)
    assert retention.receipts(older_than=DAY) == Pruned(1, 0, (10,)), "a day old is not older than a day"
    assert retention.receipts(older_than=DAY - timedelta(microseconds=1)) == Pruned(5, 4, (11,))
    assert retention.receipts(before=3) == Pruned(5, 0), "what is pruned stays pruned"
    assert not problems(db)


def test_a_dry_run_says_the_same_and_changes_nothing(db: Database) -> None:
    retention, head = db.retention(), db.head
    assert retention.receipts(before=5, dry_run=True) == Pruned(4, 3)
    retention.receipts(before=5)
    later = db.head
    assert later != head
    assert retention.receipts(before=5, dry_run=True) == Pruned(4, 0)
    assert retention.stubs(before=START + 3 * DAY, dry_run=True) == Pruned(4, 3)
    assert db.head == later


def test_dropped_stubs_execute_again(db: Database, clock: ManualClock) -> None:
    retention, acting = db.retention(), db.acting_as("tests")
    retention.receipts(before=10)
    dropped = retention.stubs(before=START + 2 * DAY)
    assert dropped == Pruned(5, 4, (11,)), "the creations, not the claims"
    assert next(db.log(11)).body["before"] == (START + 2 * DAY).timestamp() * 1_000_000
    again = acting.run(*create(0))
    assert (again.outcome, again.replayed, again.commit) == ("Exists", False, 12)
    assert acting.run(*create(0)).replayed
    with pytest.raises(KeyExpired):
        acting.run(*claim(0))
    assert not problems(db)
    retention.receipts(before=13)
    with pytest.raises(KeyExpired):
        acting.run(*create(0))
    clock.advance(DAY)
    assert retention.stubs(before=START + 9 * DAY).through == 12
    assert not problems(db)


def test_only_stubs_are_dropped(db: Database) -> None:
    assert db.retention().stubs(before=START + 9 * DAY) == Pruned(0, 0)
    db.retention().receipts(before=4)
    assert db.retention().stubs(before=START + 9 * DAY) == Pruned(3, 2, (11,))
    assert db.acting_as("tests").run(*create(2)).replayed
    assert not problems(db)


def test_steps_are_bounded_and_each_is_recorded(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "STEP", 2)
    seen: list[tuple[int, int]] = []
    done = db.retention().receipts(before=8, progress=lambda *at: seen.append(at))
    assert done == Pruned(7, 6, (10, 11, 12, 13)) and seen == [(2, 7), (4, 7), (6, 7), (7, 7)]
    assert db.retention().stubs(before=START + 9 * DAY).commits == (14, 15, 16)
    assert not problems(db)


def test_large_records_end_a_step(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "STEP_BYTES", 1)
    assert db.retention().receipts(before=4) == Pruned(3, 2, (10, 11, 12))
    assert not problems(db)


@pytest.mark.parametrize("bound", [{}, {"before": 3, "older_than": DAY}, {"before": 0}, {"before": 99}])
def test_one_sensible_bound(db: Database, bound: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        db.retention().receipts(**bound)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="negative"):
        db.retention().receipts(older_than=-DAY)
    with pytest.raises(InvalidInput, match="zone"):
        db.retention().stubs(before=datetime(2026, 1, 1))


def test_only_for_an_operator(db: Database) -> None:
    db.deploy(
        SOURCE, roles=[Role("worker", commands=("ClaimWork",)), Role("operator", operations=("admin",))]
    )
    refused = db.retention(principal="worker", role="worker")
    with pytest.raises(treadle.Denied, match="admin"):
        refused.receipts(before=2)
    with pytest.raises(treadle.Denied, match="admin"):
        refused.stubs(before=datetime.now(UTC), dry_run=True)
    assert db.retention(principal="ann", role="operator").receipts(before=3).keys == 1


def test_a_database_without_a_contract(store: Store) -> None:
    empty = open_on(store)
    assert empty.retention().receipts(before=1) == Pruned(0, 0)
    assert empty.retention().receipts(older_than=DAY) == Pruned(0, 0)
    assert empty.retention().stubs(before=START) == Pruned(0, 0)


class TestVerificationAcceptsExactlyThat:
    """What was done to receipts without a record is named."""

    @pytest.fixture
    def pruned(self, db: Database) -> Database:
        db.retention().receipts(before=6)
        db.retention().stubs(before=START + DAY + timedelta(microseconds=1))
        db.acting_as("tests").run(*create(9))
        assert not problems(db)
        return db

    def test_a_stub_without_a_record(self, pruned: Database, store: Store) -> None:
        found = identity(store, 7)
        with store.write() as tx:
            tx.write_receipts([(found, -7)])
            tx.commit()
        assert problems(pruned)[0] == "record 7: its idempotency receipt is missing or names another record"

    def test_a_receipt_that_came_back(self, store: Store, db: Database) -> None:
        found = identity(store, 3)
        db.retention().receipts(before=6)
        with store.write() as tx:
            assert tx.drop_stubs(3, 9) == (2, 3)
            tx.write_receipts([(found, 3)])
            tx.commit()
        assert any("record 3" in what for what in problems(db))

    def test_a_stub_that_is_gone(self, store: Store, db: Database) -> None:
        db.retention().receipts(before=6)
        with store.write() as tx:
            tx.drop_stubs(3, 9)
            tx.commit()
        assert any("record 2" in what for what in problems(db))
        assert any("the log gives 4 and 4" in what for what in problems(db))

    def test_a_receipt_of_nothing(self, pruned: Database, store: Store) -> None:
        with store.write() as tx:
            tx.write_receipts([(b"x" * 32, 3)])
            tx.commit()
        assert any("receipts and" in what for what in problems(pruned))

    @pytest.mark.parametrize("mark", ["retained.receipts", "retained.stubs"])
    def test_a_mark_that_was_moved(self, pruned: Database, store: Store, mark: str) -> None:
        with store.write() as tx:
            tx.put_setting(mark, b"7")
            tx.commit()
        assert any("marked" in what for what in problems(pruned))


class TestWindows:
    """What is older than an operator's windows goes, and nothing else."""

    def test_receipts_and_log_each_by_its_own(self, db: Database) -> None:
        retention = db.retention()
        dry = retention.windows(receipts=DAY / 2, log=DAY, dry_run=True)
        assert (dry.receipts, dry.log.through, dry.log.commits) == (Pruned(5, 4), 1, ())
        done = retention.windows(receipts=DAY / 2, log=DAY)
        assert (done.receipts.through, done.log.through, done.held) == (5, 1, "")
        assert retention.begins == 1 and not problems(db)
        again = retention.windows(receipts=DAY / 2, log=DAY)
        assert (again.receipts.commits, again.log.commits) == ((), ())
        assert retention.windows() == Windowed(Pruned(0, 0), Pruned(0, 0))

    def test_the_log_by_age_keeps_its_last_record(self, db: Database, clock: ManualClock) -> None:
        clock.advance(9 * DAY)
        assert db.retention().log(older_than=DAY).through == 8
        assert db.retention().windows(log=DAY).log.through == 9, "the prunings themselves are young"
        assert not problems(db)
        for wrong in ({}, {"through": 1, "older_than": DAY}):
            with pytest.raises(InvalidInput, match="one of them"):
                db.retention().log(**wrong)  # type: ignore[arg-type]

    def test_as_far_as_a_stream_allows(self, store: Store, clock: ManualClock) -> None:
        db = post(store, clock)
        clock.advance(DAY)
        send(db.acting_as("tests"), range(3))
        clock.advance(9 * DAY)
        done = db.retention().windows(log=DAY)
        assert (done.log.through, done.held) == (1, "stream Sent holds an event of record 2")
        with pytest.raises(InvalidInput, match="stream Sent holds"):
            db.retention().log(older_than=DAY)
        db.streams().retain("Sent", DAY)
        mailer = db.acting_as("mailer").consumer("Sent", "mailer")
        (first,) = mailer.pull(1)
        assert db.streams().sweep("Sent") == 0
        with pytest.raises(InvalidInput, match=r"kept for mailer \(1 open\): let it settle"):
            db.retention().log(older_than=DAY)
        assert "mailer (1 open)" in db.retention().windows(log=DAY, dry_run=True).held
        assert mailer.ack(first).ok
        assert db.streams().sweep("Sent") == 1
        assert db.streams().kept("Sent").startswith("kept for mailer (it is yet to come there)")
        db.streams().remove("Sent", "mailer")
        assert db.streams().kept("Sent") == ""
        db.streams().sweep("Sent")
        assert db.retention().windows(log=DAY).held == ""
        assert not problems(db)


class TestTheLog:
    """The beginning of the log goes; the state that it led to is where verification begins."""

    def test_records_go_and_everything_else_stays(self, db: Database, store: Store) -> None:
        acting = db.acting_as("tests")
        rows = [db.row("WorkItem", (ORGANIZATION, work_id(number))) for number in range(4)]
        dry = db.retention().log(through=7, dry_run=True)
        assert (dry.through, dry.keys, dry.commits) == (7, 6, ()) and dry.bytes > 0 < dry.state_bytes
        assert db.head[0] == 9
        done = db.retention().log(through=7)
        assert done == dry._replace(commits=(10, 11))
        assert [entry.number for entry in db.log()] == [8, 9, 10, 11] and db.retention().begins == 7
        assert next(db.log(11)).body["through"] == 7
        assert rows == [db.row("WorkItem", (ORGANIZATION, work_id(number))) for number in range(4)]
        report = db.verify()
        assert report.ok and (report.pruned, report.records, report.evaluated, report.rows) == (7, 4, 2, 4)
        for command in (create(0), claim(1)):
            with pytest.raises(KeyExpired):
                acting.run(*command)
        assert acting.run(*claim(2)).replayed
        assert acting.run(*claim(0, 2, key="again")).outcome == "AlreadyClaimed"
        assert acting.run(*create(7)).ok and not problems(db)

    def test_a_rows_history_ends_where_the_log_begins(self, db: Database) -> None:
        db.retention().log(through=7)
        of = lambda number: [  # noqa: E731
            entry.number for entry in db.log(of=("WorkItem", (ORGANIZATION, work_id(number))))
        ]
        assert of(2) == [8] and of(0) == []

    def test_again_and_further(self, db: Database, store: Store) -> None:
        retention = db.retention()
        retention.log(through=3)
        retention.log(through=8)
        assert retention.log(through=5) == Pruned(8, 0)
        assert db.verify().ok and db.verify().pruned == 8
        with store.read() as tx:
            kept = tx.entries(parts.SPACE, b"", None, 99)
        assert [key for key, _ in kept] == [parts.part_key(8)]

    def test_the_same_history_gives_the_same_state(self, db: Database, store: Store) -> None:
        with store.read() as tx:
            last = next(tx.log(8, 8))
        from_the_start = state_at(store, last)
        db.retention().log(through=5)
        assert state_at(store, last) == from_the_start

    def test_keys_execute_again_once_their_stubs_are_dropped(self, db: Database) -> None:
        db.retention().log(through=7)
        retention = db.retention()
        early = retention.stubs(before=START + 2 * DAY)
        assert early == Pruned(0, 0), "when they were committed is not known any more"
        assert retention.stubs(before=START + 2 * DAY + timedelta(microseconds=1)).keys == 6
        assert db.acting_as("tests").run(*create(0)).outcome == "Exists"
        assert not problems(db)

    def test_over_deployments_deletes_and_parts(
        self, store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(parts, "PART_BYTES", 64)
        db = open_on(store, clock)
        db.deploy(SOURCE)
        acting = db.acting_as("tests")
        for number in range(5):
            acting.run(*create(number))
        db.deploy(successor())
        for number in range(5):
            acting.run(*claim(number))
        for through in range(1, 12):
            db.retention().log(through=through)
            assert not problems(db), through

    @pytest.mark.parametrize("through", [0, 9, 99])
    def test_the_last_record_stays(self, db: Database, through: int) -> None:
        if through == 0:
            assert db.retention().log(through=0) == Pruned(0, 0)
            return
        with pytest.raises(InvalidInput, match="the last one stays"):
            db.retention().log(through=through)

    def test_a_history_that_does_not_verify_is_not_pruned(self, db: Database, store: Store) -> None:
        with store.write() as tx:
            tx.write_receipts([(identity(store, 3), -3)])
            tx.commit()
        with pytest.raises(DatabaseCorrupt, match="record 3"):
            db.retention().log(through=5)
        assert len(list(db.log())) == 9

    def test_records_of_the_graph_go_too(self, db: Database) -> None:
        db.graph.update("INSERT DATA { <urn:a> <urn:b> <urn:c> }", principal="tests")
        head = db.head[0]
        db.acting_as("tests").run(*create(8))
        db.retention().log(through=head)
        assert not problems(db)
        db.graph.update("DELETE WHERE { ?s ?p ?o }", principal="tests")
        assert not problems(db)

    def test_a_head_that_was_kept(self, db: Database) -> None:
        heads = {entry.number: entry.hash for entry in db.log()}
        db.retention().log(through=5)
        assert db.verify(head=(5, heads[5])).ok and db.verify(head=(6, heads[6])).ok
        assert not db.verify(head=(4, heads[4])).ok and not db.verify(head=(5, heads[6])).ok

    def test_a_state_that_was_changed_is_named(self, db: Database, store: Store) -> None:
        db.retention().log(through=7)
        with store.read() as tx:
            ((key, data),) = tx.entries(parts.SPACE, b"", None, 9)
        for other in (None, b"", data[:-1], zlib.compress(b"")):
            with store.write() as tx:
                tx.write_entries(parts.SPACE, [(key, other)])
                tx.commit()
            assert problems(db)[0].startswith("record 7: the state at record 7")

    def test_a_beginning_that_was_moved_is_named(self, db: Database, store: Store) -> None:
        db.retention().log(through=5)
        with store.write() as tx:
            tx.put_setting("retained.log", None)
            tx.commit()
        assert problems(db)[0] == "record 1: the record is missing"


def state_at(store: Store, last: LogEntry) -> list[bytes]:
    with store.read() as tx:
        walk = Walk(tx, None, None, last)
        walk.records()
        assert walk.report().ok
        return list(snapshot.items(*walk.reached[:3]))
