"""What the engine promises, on every store: replay, refusals, deployment, time, roles and tokens."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import treadle
from tests.support.engines import (
    ORGANIZATION,
    OWNER,
    SOURCE,
    START,
    claim,
    create,
    open_on,
    successor,
    work_id,
)
from treadle.access.caller import Caller
from treadle.access.roles import Role
from treadle.asynchronous import AsyncDatabase
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.engine.grants import CreateToken, Grant, RevokeToken, authenticate
from treadle.engine.request import Request
from treadle.errors import ClockJumped, TreadleError
from treadle.store.ids import SystemIds
from treadle.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def db(store, clock) -> Database:
    """The contract of leased work items, with one item."""
    made = open_on(store, clock)
    made.deploy(SOURCE)
    assert made.run(*create(0), principal="tests").outcome == "Created"
    return made


def raised(db: Database, *args, **options) -> TreadleError:
    with pytest.raises(TreadleError) as caught:
        db.run(*args, **options)
    return caught.value


# Replay.


def test_the_same_key_gets_the_same_answer_whatever_happened_since(db: Database, clock: ManualClock) -> None:
    first = db.run(*claim(0), principal="tests")
    clock.advance(timedelta(seconds=61))
    assert db.run(*claim(0, 2), principal="tests").ok
    again = db.run(*claim(0), principal="tests")
    assert again == first
    assert again.replayed
    assert not first.replayed
    assert again.to_json() == first.to_json() | {"replayed": True}
    assert again.fields == first.fields


def test_a_declared_failure_replays_too_and_changed_nothing(db: Database) -> None:
    before = db.row("WorkItem", (ORGANIZATION, work_id(0)))
    failed = db.run(*claim(0, 7), principal="tests")
    assert failed.outcome == "StaleRevision"
    assert not failed.ok
    assert failed.workflow_revisions == ()
    assert db.row("WorkItem", (ORGANIZATION, work_id(0))) == before
    assert db.run(*claim(0, 7), principal="tests") == failed


def test_the_same_key_with_another_input_is_refused_and_reveals_nothing(db: Database) -> None:
    db.run(*claim(0, key="k"), principal="tests")
    error = raised(db, *claim(0, 2, key="k"), principal="tests")
    assert error.code == "idempotency_key_reused"
    assert "Claimed" not in error.message
    assert db.run(*claim(0, key="k"), principal="tests").replayed


def test_a_key_belongs_to_its_principal_command_and_tenant(db: Database) -> None:
    assert db.run(*claim(0, key="k"), principal="one").ok
    assert db.run(*claim(0, key="k"), principal="two").outcome == "StaleRevision"
    assert not db.run("ReleaseWork", release(1, 2, "k"), principal="one").replayed


def release(token: int, revision: int, key: str) -> dict:
    return {
        "request_key": key,
        "organization_id": ORGANIZATION,
        "work_id": work_id(0),
        "owner_id": OWNER,
        "token": token,
        "expected_revision": revision,
    }


def test_two_copies_in_one_batch_evaluate_once(db: Database) -> None:
    calls = [claim(0, key="same"), claim(0, key="same"), claim(0, 9, key="same")]
    third: Any
    second: Any
    first, second, third = db.run_many(calls, principal="tests")
    assert first.ok
    assert first == second
    assert second.replayed
    assert third.code == "idempotency_key_reused"


def test_a_batch_sees_its_own_earlier_commands_and_is_not_all_or_nothing(db: Database) -> None:
    twice = ("CreateWork", {**create(0)[1], "request_key": "another"})
    calls = [claim(0, 1), ("NoSuch", {}), claim(0, 2), ("ClaimWork", {}), twice, create(1), claim(1, 1)]
    answers: list[Any] = db.run_many(calls, principal="tests")
    assert [getattr(answer, "outcome", None) or answer.code for answer in answers] == [
        "Claimed",
        "unknown_name",
        "AlreadyClaimed",
        "invalid_input",
        "Exists",
        "Created",
        "Claimed",
    ]
    assert [answer.ok for answer in answers] == [True, False, False, False, False, True, True]
    assert db.verify().ok


def test_a_large_batch_is_cut_into_several(db: Database) -> None:
    answers: list[Any] = db.run_many([create(number) for number in range(1, 1500)], principal="tests")
    assert all(answer.ok for answer in answers)
    assert len({answer.time for answer in answers}) == 1  # the clock stands still
    assert [answer.commit for answer in answers] == list(range(3, 1502))


# Refused before evaluation.


@pytest.mark.parametrize(
    ("name", "change", "code", "path"),
    [
        ("Clam", {}, "unknown_name", ""),
        ("ClaimWork", {"request_key": ""}, "malformed", ""),
        ("ClaimWork", {"duration": -1}, "invalid_input", "input.duration"),
        ("ClaimWork", {"duration": True}, "invalid_input", "input.duration"),
        ("ClaimWork", {"duration": 1.0}, "invalid_input", "input.duration"),
        ("ClaimWork", {"duration": 2**64}, "invalid_input", "input.duration"),
        ("ClaimWork", {"work_id": "no"}, "invalid_input", "input.work_id"),
        ("ClaimWork", {"request_key": "a\0b"}, "invalid_input", "input.request_key"),
        ("ClaimWork", {"request_key": "\ud800"}, "invalid_input", "input.request_key"),
        ("ClaimWork", {"owner": 1}, "invalid_input", "input"),
    ],
)
def test_what_the_caller_must_correct(db: Database, name: str, change: dict, code: str, path: str) -> None:
    head = len(list(db.log()))
    error = raised(db, name, {**claim(0)[1], **change}, principal="tests")
    assert error.code == code
    assert getattr(error, "path", "").startswith(path)
    assert len(list(db.log())) == head
    assert db.run(*claim(0), principal="tests").ok


def test_nobody_acts_without_a_name(db: Database) -> None:
    assert "say who acts" in raised(db, *create(5)).message
    with pytest.raises(TreadleError, match="name the service"):
        db.acting_as("")


def test_an_unexpected_error_ends_its_command_alone(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = db._engine.state.require().plan.commands["ClaimWork"]
    original = type(plan).evaluate

    def evaluate(self, input, sealed, view):
        if self.name == "ClaimWork":
            raise ZeroDivisionError
        return original(self, input, sealed, view)

    monkeypatch.setattr(type(plan), "evaluate", evaluate)
    claimed: Any
    claimed, created = db.run_many([claim(0), create(1)], principal="tests")
    assert claimed.code == "internal"
    assert created.ok
    monkeypatch.undo()
    assert db.run(*claim(0), principal="tests").replayed is False
    assert db.verify().ok


def test_a_history_that_ended_is_refused_but_a_stored_answer_is_not(db: Database) -> None:
    me = db.acting_as("tests")
    first = me.run(*claim(0), history=db.history)
    assert me.run(*claim(0), history="another.1") == first
    with pytest.raises(treadle.HistoryChanged):
        me.run(*claim(0, 2), history="another.1")


def test_a_command_without_a_key_reads_and_is_not_recorded(db: Database) -> None:
    head = len(list(db.log()))
    body = {"organization_id": ORGANIZATION, "work_id": work_id(0)}
    shown = db.run("ShowWork", body, principal="tests")
    assert shown.outcome == "Shown"
    assert shown.commit == head
    assert len(list(db.log())) == head
    assert not db.run("ShowWork", body, principal="tests").replayed


# Deployment.


def test_deploying_again_is_a_no_op_and_a_successor_keeps_rows_and_receipts(db: Database) -> None:
    first = db.run(*claim(0), principal="tests")
    assert db.deploy("// a comment\n" + SOURCE) == 1
    assert db.deploy(successor()) == 2
    assert db.run(*claim(0), principal="tests") == first
    row = db.row("WorkItem", (ORGANIZATION, work_id(0)))
    assert row is not None
    assert row.fields["note"] is None
    assert db.run(*create(1), principal="tests").ok
    assert db.verify().ok


def test_a_successor_that_cannot_follow_is_refused_with_what_would(db: Database) -> None:
    for source, says in (
        (SOURCE.replace("(5, 900)", "(5, 600)"), "version 1 is active"),
        (successor().replace("(5, 900)", "(5, 600)"), "narrower"),
        (successor().replace("contract WorkItems", "contract Others"), "holds WorkItems"),
    ):
        with pytest.raises(treadle.ContractError, match=says) as caught:
            db.deploy(source)
        assert caught.value.code == "contract_incompatible"
    assert db.version == 1


def test_a_deployment_names_the_version_it_expects(db: Database) -> None:
    with pytest.raises(treadle.ContractMismatch) as caught:
        db.deploy(successor(), expected_version=7)
    assert caught.value.code == "version_conflict"
    assert db.deploy(successor(), expected_version=1) == 2


def test_a_contract_with_errors_is_refused_with_all_of_them(db: Database) -> None:
    with pytest.raises(treadle.ContractError) as caught:
        db.deploy(
            successor().replace("owner lease_owner", "owner nobody").replace("initial Queued", "initial Gone")
        )
    codes = {diagnostic.code for diagnostic in caught.value.diagnostics}
    assert "C034" in codes
    assert len(codes) > 1


def test_a_restart_finds_everything(open_store, kind) -> None:
    if kind.name == "memory":
        pytest.skip("a memory database ends with its handle")
    first = open_on(open_store())
    first.deploy(SOURCE)
    first.run(*create(0), principal="tests")
    receipt = first.run(*claim(0), principal="tests")
    history = first.history
    first.close()
    again = open_on(open_store())
    assert again.run(*claim(0), principal="tests") == receipt
    assert again.history == history
    assert again.version == 1


def test_another_handle_follows_a_deployment(open_store, kind) -> None:
    if kind.name == "memory":
        pytest.skip("a memory database has one handle")
    one, two = open_on(open_store()), open_on(open_store())
    one.deploy(SOURCE)
    assert two.run(*create(0), principal="tests").ok
    one.deploy(successor())
    assert two.run(*create(1), principal="tests").fields["work"]["note"] is None
    with pytest.raises(treadle.ContractMismatch):
        open_on(open_store()).deploy(SOURCE.replace("version 1", "version 3"), expected_version=1)


# Time.


def test_the_transaction_time_never_runs_backward(db: Database, clock: ManualClock) -> None:
    later = db.run(*create(1), principal="tests").time
    clock.set(START - timedelta(days=3))
    assert db.run(*create(2), principal="tests").time == later
    clock.set(START + timedelta(seconds=5))
    assert db.run(*create(3), principal="tests").time == START + timedelta(seconds=5)
    assert db.verify().ok


def test_a_lease_ends_exactly_at_its_expiry(db: Database, clock: ManualClock) -> None:
    assert db.run(*claim(0), principal="tests").ok
    clock.advance(timedelta(seconds=60) - timedelta(microseconds=1))
    assert db.run(*claim(0, 2, key="early"), principal="tests").outcome == "AlreadyClaimed"
    clock.advance(timedelta(microseconds=1))
    taken = db.run(*claim(0, 2, key="now"), principal="tests")
    assert taken.ok
    assert taken.fields["work"]["lease_fence"] == 2


def test_a_clock_far_ahead_is_refused_until_it_is_confirmed(store, clock: ManualClock) -> None:
    day = 86_400 * 1_000_000
    db = Database(Engine(store, clock, SystemIds(), maximum_jump=day), "test")
    db.deploy(SOURCE)
    clock.advance(timedelta(days=1))
    assert db.run(*create(0), principal="tests").ok
    clock.advance(timedelta(days=1, microseconds=1))
    with pytest.raises(ClockJumped, match="clock confirm"):
        db.run(*create(1), principal="tests")
    db.confirm_clock()
    assert db.run(*create(1), principal="tests").ok
    assert db.verify().ok


def test_resetting_the_clock_frees_leases_that_would_last_for_ever(db: Database, clock: ManualClock) -> None:
    clock.set(datetime(2199, 1, 1, tzinfo=UTC))
    claimed = db.run(*claim(0), principal="tests")
    clock.set(START + timedelta(seconds=1))
    assert db.run(*create(1), principal="tests").time == claimed.time
    history = db.history
    _, cleared = db.reset_clock()
    assert cleared == 1
    assert db.history != history
    row = db.row("WorkItem", (ORGANIZATION, work_id(0)))
    assert row is not None
    assert (row.fields["lease_owner"], row.fields["lease_expires_at"], row.fields["lease_fence"]) == (
        None,
        None,
        1,
    )
    again = db.run(*claim(0, row.revision), principal="tests")
    assert again.time == START + timedelta(seconds=1)
    assert again.fields["work"]["lease_fence"] == 2
    assert db.verify().ok


# Roles and tokens.

WORKER = Role("worker", commands=("ClaimWork", "ReleaseWork"))
OPERATOR = Role("operator", operations=("admin",))


def test_a_role_allows_exactly_its_commands(db: Database) -> None:
    assert db.run(*create(1), principal="tests", role="anything").ok  # none is declared yet
    db.deploy(SOURCE, roles=[WORKER, OPERATOR])
    worker = db.acting_as("tests", role="worker")
    assert worker.run(*claim(0)).ok
    with pytest.raises(treadle.Denied, match="CreateWork"):
        worker.run(*create(9))
    with pytest.raises(treadle.Denied, match="no role wroker; the nearest is worker"):
        db.run(*claim(0, 2), principal="tests", role="wroker")
    with pytest.raises(treadle.Denied, match="admin"):
        db.deploy(successor(), role="worker")
    assert db.deploy(successor(), role="operator") == 2


def test_permission_is_looked_at_again_on_replay(db: Database) -> None:
    db.deploy(SOURCE, roles=[WORKER])
    worker = db.acting_as("tests", role="worker")
    assert worker.run(*claim(0)).ok
    db.deploy(SOURCE, roles=[Role("worker", commands=("ReleaseWork",))])
    with pytest.raises(treadle.Denied):
        worker.run(*claim(0))


def test_a_token_acts_until_it_is_revoked_and_the_log_never_holds_it(db: Database, store) -> None:
    db.deploy(SOURCE, roles=[WORKER])
    secret = b"s" * 32
    granted = db._one(CreateToken(Caller("owner"), Grant("printer", "worker", seconds=100), secret), None)
    with store.read() as tx:
        caller = authenticate(tx, db._engine.refresh(), granted.text, "here")
    assert (caller.principal, caller.role, caller.kind) == ("printer", "worker", "token")
    assert db._one(db._engine.command_job(Request(*claim(0), caller)), None).ok
    db._one(RevokeToken(Caller("owner"), granted.token.id), None)
    error = db._engine.submit([db._engine.command_job(Request(*claim(0), caller))])[0]
    assert error.code == "unauthenticated"
    shown = [entry for entry in db.log() if entry.kind == "grant"]
    assert [entry.name for entry in shown] == ["create", "revoke"]
    assert granted.text not in repr(shown)
    with pytest.raises(treadle.Malformed), store.read() as tx:
        authenticate(tx, db._engine.state, "short", "here")
    with pytest.raises(treadle.Denied), store.read() as tx:
        authenticate(tx, db._engine.state, "A" * 43, "here")


def test_a_token_ends_at_its_time(db: Database, store, clock: ManualClock) -> None:
    db.deploy(SOURCE, roles=[WORKER])
    granted = db._one(CreateToken(Caller("owner"), Grant("printer", "worker", seconds=10), b"t" * 32), None)
    with store.read() as tx:
        caller = authenticate(tx, db._engine.refresh(), granted.text, "")
    clock.advance(timedelta(seconds=10))
    error = db._engine.submit([db._engine.command_job(Request(*claim(0), caller))])[0]
    assert error.code == "unauthenticated"


def test_a_caller_bound_to_a_tenant_stays_in_its_partition(db: Database) -> None:
    mine = db.acting_as("tests", tenant=str(ORGANIZATION))
    assert mine.run(*claim(0)).ok
    with pytest.raises(treadle.Denied, match="partition"):
        db.acting_as("tests", tenant=str(uuid.uuid4())).run(*claim(0, 2))


# The async twin.


def test_tasks_share_batches_and_get_their_own_answers(db: Database) -> None:
    async def main() -> None:
        twin = AsyncDatabase(db)
        me = twin.acting_as("tests")
        receipts = await asyncio.gather(*(me.run(*create(number)) for number in range(1, 200)))
        assert all(receipt.ok for receipt in receipts)
        assert [receipt.fields["work"]["work_id"] for receipt in receipts] == [
            work_id(n) for n in range(1, 200)
        ]
        many = await me.run_many([claim(1), ("NoSuch", {}), claim(2)])
        assert [answer.ok for answer in many] == [True, False, True]
        with pytest.raises(treadle.UnknownName):
            await me.run("NoSuch", {})
        assert (await twin.row("WorkItem", (ORGANIZATION, work_id(1)))).revision == 2
        assert (await twin.verify()).ok

    asyncio.run(main())


def test_a_cancelled_task_that_still_waits_did_nothing(db: Database) -> None:
    async def main() -> None:
        twin = AsyncDatabase(db)
        me = twin.acting_as("tests")
        task = asyncio.create_task(me.run(*create(300)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await twin.row("WorkItem", (ORGANIZATION, work_id(300))) is None
        assert (await me.run(*create(300))).ok

    asyncio.run(main())


def test_a_loop_that_stops_behind_its_commands_keeps_no_thread_waiting(db: Database) -> None:
    """What a task queued in its loop's last turn is run all the same, and threads get their turn."""
    loop = asyncio.new_event_loop()
    twin = AsyncDatabase(db)
    task = loop.create_task(twin.acting_as("tests").run(*create(400)))
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert not task.done()
    assert db.run(*create(401), principal="tests", timeout=20).ok
    assert loop.run_until_complete(task).ok
    loop.run_until_complete(twin.release())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
