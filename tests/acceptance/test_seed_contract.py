"""Workflow transitions and fenced leases: a test for each sentence of the description of the protocol."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

import treadle
from tests.acceptance.conftest import ANN, BOB, CONTRACT, ORGANIZATION, WORK, World
from tests.support.effort import effort
from treadle.access.roles import Role
from treadle.limits import U64_MAX
from treadle.model.facts import RowChange
from treadle.registry import load


def codes(contract: str) -> list[str]:
    """The codes of what the compiler refuses."""
    compiled = load("riff").compile_contract(contract, "work_items.riff")
    return [found.code for found in compiled.diagnostics if found.severity == "error"]


def changed(*replacements: tuple[str, str]) -> str:
    """The contract with each `old` replaced, wherever it stands, by its `new`."""
    text = CONTRACT
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return text


def test_the_contract_compiles() -> None:
    assert codes(CONTRACT) == []


# The operations are compiled commands, not a lock API.


def test_operations_use_the_same_authorization_as_every_command(world: World) -> None:
    world.db.deploy(CONTRACT, roles=[Role("reader", commands=("ShowWork",))])
    with pytest.raises(treadle.Denied):
        world.claim(role="reader")
    assert world.row.revision == 1


def test_operations_use_the_same_idempotency(world: World) -> None:
    first = world.claim(request_key="attempt-1")
    again = world.claim(request_key="attempt-1")
    assert (first.replayed, again.replayed) == (False, True)
    assert again == first and world.row.revision == 2
    with pytest.raises(treadle.KeyReused):
        world.claim(BOB, request_key="attempt-1")


def test_operations_use_the_same_provenance(world: World) -> None:
    receipt = world.claim()
    entry = list(world.db.log())[-1]
    assert (entry.number, entry.name, entry.outcome) == (receipt.commit, "ClaimWork", "Claimed")
    assert (entry.principal, entry.time) == ("scheduler", receipt.time)
    assert [one.name for one in world.db.log(of=("WorkItem", (ORGANIZATION, WORK)))] == [
        "ClaimWork",
        "CreateWork",
    ]


def test_operations_use_the_same_commit_and_recovery(tmp_path: Any) -> None:
    world = World(f"sqlite:///{tmp_path}/work.db")
    world.create()
    receipt, row = world.claim(request_key="before"), world.row
    world.db.close()
    with treadle.open(world.url, clock=world.clock) as reopened:
        assert reopened.row("WorkItem", (ORGANIZATION, WORK)) == row
        given = {"request_key": "before", "organization_id": ORGANIZATION, "work_id": WORK, "owner_id": ANN}
        again = reopened.run(
            "ClaimWork", given | {"duration": 60, "expected_revision": 1}, principal="scheduler"
        )
        assert again == receipt and again.replayed
        assert reopened.verify().ok


def test_there_is_no_caller_clock(world: World) -> None:
    with pytest.raises(treadle.InvalidInput, match="now"):
        world.claim(now="2030-01-01T00:00:00Z")


@pytest.mark.parametrize(
    "name", ["put", "set", "update", "delete", "write", "compare_and_swap", "lock", "edit"]
)
def test_there_is_no_way_to_write_but_a_declared_command(name: str, world: World) -> None:
    assert not hasattr(world.db, name) and not hasattr(world.db.acting_as("x"), name)
    with pytest.raises(treadle.UnknownName):
        world.run(name)
    world.row.fields["lease_fence"] = 7  # a row that was read is a copy
    assert world.row.fields["lease_fence"] == 0


# Declare the workflow state.


def test_initial_gives_every_ordinary_create_its_state(world: World) -> None:
    assert world.row.fields["state"] == "Queued"


@pytest.mark.parametrize("state", ["Queued", "Running"])
def test_the_command_has_no_set_operation_that_can_choose_a_state(state: str) -> None:
    wanted = changed(
        ("set work.lease_fence = 0", f"set work.lease_fence = 0 set work.state = WorkState.{state}")
    )
    assert "C034" in codes(wanted)


def test_the_command_has_no_input_that_can_choose_a_state(world: World) -> None:
    with pytest.raises(treadle.InvalidInput, match="state"):
        world.run("CreateWork", work_id=UUID(int=201), state="Running")


def test_initial_holds_for_a_bounded_collection_create_too() -> None:
    bulk = """
  bulk command CreateMany {
    input request_key: string<128>
    input organization_id: uuid
    input ids: list<uuid, 1..8>
    idempotency_key request_key
    for id in ids {
      create WorkItem(organization_id, id) as work else Exists {}
      set work.lease_fence = 0
      set work.lease_attempts = 0
    }
    return CreatedMany {}
  }
}"""
    contract = CONTRACT.rstrip().removesuffix("}") + bulk
    assert codes(contract) == []
    chosen = contract.replace(
        "id) as work else Exists {}", "id) as work else Exists {} set work.state = WorkState.Running"
    )
    assert "C034" in codes(chosen)
    world = World(":memory:", contract)
    ids = [UUID(int=number) for number in (301, 302)]
    world.db.run(
        "CreateMany",
        {"request_key": "many", "organization_id": ORGANIZATION, "ids": ids},
        principal="scheduler",
    ).expect("CreatedMany")
    rows = [world.db.row("WorkItem", (ORGANIZATION, one)) for one in ids]
    assert [row.fields["state"] for row in rows if row] == ["Queued", "Queued"]


def test_without_initial_an_ordinary_create_cannot_construct_the_state() -> None:
    assert "C012" in codes(changed(("    initial Queued\n", "")))


ROTATE = changed(
    (
        "    transition Finish from",
        "    transition Rotate from (Running) to Running\n    transition Finish from",
    ),
    (
        "  command ShowWork {",
        """  command RotateWork {
    input request_key: string<128>
    input organization_id: uuid
    input work_id: uuid
    input owner_id: uuid
    input token: u64
    input expected_revision: u64
    idempotency_key request_key
    mutate WorkItem(organization_id, work_id) as work else Missing {}
    transition Rotate on work revision expected_revision stale RotateStale {} illegal NotRunning {}
    lease fence execution on work owner owner_id fencing_token token revision expected_revision
      stale RotateStale {} invalid WrongHolder {} expired LeaseExpired {}
    return Rotated { work: work }
  }

  command ShowWork {""",
    ),
)


def test_a_transition_may_return_to_the_same_state(url: str) -> None:
    world = World(url, ROTATE)
    world.create()
    claimed = world.claim()
    assert world.held("RotateWork", claimed).outcome == "NotRunning", "it checks the declared source state"
    started = world.held("StartWork", claimed)
    rotated = world.held("RotateWork", started)
    assert rotated.expect("Rotated")["work"]["state"] == "Running"
    assert rotated.revisions["work"] == started.revisions["work"] + 1
    stale = world.held("RotateWork", started)
    assert stale.outcome == "RotateStale", "it still requires the exact observed revision"
    assert world.row.revision == rotated.revisions["work"], "only the mutation advanced the revision"
    world.db.close()


@pytest.mark.parametrize(
    "field, kind",
    [
        ("lease_owner: optional<uuid>", "uuid"),
        ("lease_owner: optional<uuid>", "optional<u64>"),
        ("lease_expires_at: optional<timestamp>", "timestamp"),
        ("lease_expires_at: optional<timestamp>", "optional<u64>"),
        ("lease_fence: u64", "i64"),
        ("lease_fence: u64", "optional<u64>"),
        ("lease_attempts: u64", "i64"),
    ],
)
def test_the_lease_fields_have_these_types_alone(field: str, kind: str) -> None:
    name = field.partition(":")[0]
    assert "C035" in codes(changed((f"field {field}", f"field {name}: {kind}")))


def test_the_attempt_field_is_optional() -> None:
    without = changed(
        ("      attempts lease_attempts\n", ""),
        ("    field lease_attempts: u64\n", ""),
        ("    set work.lease_attempts = 0\n", ""),
    )
    assert codes(without) == []
    world = World(":memory:", without)
    world.create()
    assert world.claim().expect("Claimed")["work"]["lease_fence"] == 1


@pytest.mark.parametrize(
    "old, new",
    [
        ("attempts lease_attempts\n", "attempts lease_fence\n"),
        ("      owner lease_owner\n", "      owner organization_id\n"),
    ],
)
def test_lease_fields_are_distinct_and_not_in_the_key(old: str, new: str) -> None:
    assert "C035" in codes(changed((old, new)))


@pytest.mark.parametrize("bounds", ["(0, 900)", "(5, 0)", "(900, 5)", "(5, 86401)"])
def test_duration_bounds_are_nonzero_ordered_and_at_most_a_day(bounds: str) -> None:
    assert "C035" in codes(changed(("(5, 900)", bounds)))


@pytest.mark.parametrize("bounds", ["(1, 86400)", "(5, 5)"])
def test_the_widest_and_the_narrowest_bounds_are_fine(bounds: str) -> None:
    assert codes(changed(("(5, 900)", bounds))) == []


@pytest.mark.parametrize(
    "seconds, outcome",
    [
        (0, "InvalidDuration"),
        (4, "InvalidDuration"),
        (5, "Claimed"),
        (900, "Claimed"),
        (901, "InvalidDuration"),
        (U64_MAX, "InvalidDuration"),
    ],
)
def test_duration_bounds_are_inclusive_seconds(seconds: int, outcome: str, world: World) -> None:
    assert world.claim(duration=seconds).outcome == outcome


def test_a_new_row_is_unowned_and_the_first_claim_makes_the_fence_one(world: World) -> None:
    fields = world.row.fields
    assert (fields["lease_owner"], fields["lease_expires_at"]) == (None, None)
    assert (fields["lease_fence"], fields["lease_attempts"]) == (0, 0)
    work = world.claim().expect("Claimed")["work"]
    assert (work["lease_fence"], work["lease_attempts"]) == (1, 1)


@pytest.mark.parametrize("field", ["lease_fence", "lease_attempts"])
def test_a_create_must_initialize_the_counters_explicitly(field: str) -> None:
    assert "C012" in codes(changed((f"    set work.{field} = 0\n", "")))


# Claim work.


@pytest.mark.parametrize("revision", [0, 2, U64_MAX])
def test_a_claim_requires_the_exact_revision(revision: int, world: World) -> None:
    assert world.claim(revision=revision).outcome == "StaleRevision"


def test_a_claim_succeeds_at_the_expiry_and_not_before(world: World) -> None:
    first = world.claim(ANN, duration=60)
    world.advance(seconds=59, microseconds=999_999)
    assert world.claim(BOB, revision=2).outcome == "AlreadyClaimed"
    assert world.claim(ANN, revision=2).outcome == "AlreadyClaimed", "not for the same owner either"
    world.advance(microseconds=1)
    second = world.claim(BOB, revision=2)
    assert second.time == first.expect("Claimed")["work"]["lease_expires_at"]
    work = second.expect("Claimed")["work"]
    assert (work["lease_owner"], work["lease_fence"], work["lease_attempts"]) == (BOB, 2, 2)


@pytest.mark.parametrize("field", ["lease_fence", "lease_attempts"])
def test_a_counter_at_its_end_is_exhausted_without_mutation(field: str, url: str) -> None:
    world = World(url, changed((f"set work.{field} = 0", f"set work.{field} = {U64_MAX}")))
    world.create().expect("Created")
    before = world.row
    assert world.claim().outcome == "LeaseCounterExhausted"
    assert world.row == before
    world.db.close()


def test_an_expiry_past_the_end_of_time_is_exhausted_without_mutation(url: str) -> None:
    world = World(url)
    world.clock.set(datetime(9999, 12, 31, 23, 59, 30, tzinfo=UTC))
    world.create()
    assert world.claim(duration=60).outcome == "LeaseCounterExhausted"
    assert world.row.revision == 1
    last = world.claim(duration=29).expect("Claimed")["work"]
    assert last["lease_expires_at"] == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    world.db.close()


CLAIM = "owner owner_id duration_seconds duration revision expected_revision"


@pytest.mark.parametrize(
    "old, new, code",
    [
        (CLAIM, CLAIM.replace("owner_id", "work.lease_owner"), "C038"),
        (CLAIM, CLAIM.replace("duration revision", "duration + 1 revision"), "C038"),
        (CLAIM, CLAIM.replace("duration revision", "60 revision"), "C038"),
        (CLAIM, f"{CLAIM} + 1", "C038"),
        ("fencing_token token revision", "fencing_token work.lease_fence revision", "C038"),
        (
            "transition Start on work revision expected_revision",
            "transition Start on work revision 1",
            "C037",
        ),
    ],
)
def test_evidence_is_a_direct_typed_input(old: str, new: str, code: str) -> None:
    assert code in codes(changed((old, new)))


@pytest.mark.parametrize("kind", ["i64", "string<20>"])
def test_evidence_has_the_declared_type(kind: str) -> None:
    assert "C038" in codes(changed(("input token: u64", f"input token: {kind}")))


@pytest.mark.parametrize("name", ["owner_id", "duration", "expected_revision"])
def test_evidence_is_required(name: str, world: World) -> None:
    given: dict[str, Any] = {"owner_id": ANN, "duration": 60, "expected_revision": 1}
    del given[name]
    with pytest.raises(treadle.InvalidInput, match=name):
        world.run("ClaimWork", **given)


def test_a_success_names_each_binding_with_its_successor_revision(world: World) -> None:
    revision = 1
    while revision < 7:
        claimed = world.claim(revision=revision)
        revision = world.held("ReleaseWork", claimed).revisions["work"]
    receipt = world.claim(revision=7)
    assert [(one.binding, one.revision) for one in receipt.workflow_revisions] == [("work", 8)]
    assert receipt.outcome == "Claimed" and receipt.revisions == {"work": 8}


def test_callers_feed_the_revision_forward_and_never_read_again(world: World) -> None:
    receipt = world.claim()
    for command in ("RenewWork", "StartWork", "FinishWork", "ReleaseWork"):
        given = {"duration": 60} if command == "RenewWork" else {}
        receipt = world.held(command, receipt, **given)
        assert receipt.ok, receipt
    assert world.row.revision == 6


def test_other_outcomes_return_no_revisions(world: World) -> None:
    for receipt in (world.claim(revision=9), world.claim(duration=1), world.run("CreateWork")):
        assert not receipt.ok and receipt.workflow_revisions == ()


def test_a_replay_returns_the_identical_successor_revision(world: World) -> None:
    first = world.claim(request_key="once")
    world.held("ReleaseWork", first)
    assert world.claim(request_key="once").workflow_revisions == first.workflow_revisions


def test_a_revision_at_its_end_fails_closed_and_never_wraps() -> None:
    world = World(":memory:")
    world.create()
    at_its_end(world)
    before = world.row
    with pytest.raises(treadle.TerminalFailure) as caught:
        world.claim(revision=U64_MAX)
    assert caught.value.code == "revision_exhausted"
    assert world.row == before


def at_its_end(world: World) -> None:
    """Put the row at the last revision there is, past the engine: no test could live that long."""
    engine = world.db._engine
    table = engine.state.require().tables["WorkItem"]
    with engine.store.write() as tx:
        row = tx.rows(table, [(ORGANIZATION.bytes, WORK.bytes)])[0]
        assert row is not None
        change = RowChange("WorkItem", (ORGANIZATION.bytes, WORK.bytes), row, U64_MAX, row.cells)
        tx.write_rows(table, [change], [row.commit])
        tx.commit()


# Renew, release, expire, and protect work.


def wrong(claimed: treadle.Receipt, world: World, command: str) -> list[str]:
    """The outcomes of a command for another owner, an older token, and another revision."""
    extra = {"duration": 60} if command == "RenewWork" else {}
    return [
        world.held(command, claimed, **extra, **{name: value}).outcome
        for name, value in (("owner_id", BOB), ("token", 0), ("token", 2), ("expected_revision", 1))
    ]


@pytest.mark.parametrize(
    "command, stale",
    [("RenewWork", "RenewStale"), ("ReleaseWork", "ReleaseStale"), ("StartWork", "WorkStale")],
)
def test_the_current_owner_fence_and_revision_are_required(command: str, stale: str, world: World) -> None:
    claimed = world.claim()
    before = world.row
    assert wrong(claimed, world, command) == ["WrongHolder", "WrongHolder", "WrongHolder", stale]
    assert world.row == before


@pytest.mark.parametrize("command", ["RenewWork", "StartWork"])
def test_an_expired_lease_neither_renews_nor_protects(command: str, world: World) -> None:
    claimed = world.claim(duration=60)
    world.advance(seconds=60)
    extra = {"duration": 60} if command == "RenewWork" else {}
    assert world.held(command, claimed, **extra).outcome == "LeaseExpired"


def test_renew_computes_its_expiry_from_transaction_time_and_the_checked_duration(world: World) -> None:
    claimed = world.claim(duration=60)
    world.advance(seconds=30)
    assert world.held("RenewWork", claimed, duration=901).outcome == "WrongHolder"
    renewed = world.held("RenewWork", claimed, duration=5)
    work = renewed.expect("Renewed")["work"]
    assert work["lease_expires_at"] == renewed.time + timedelta(seconds=5), "it may also shorten"
    assert (work["lease_owner"], work["lease_fence"], work["lease_attempts"]) == (ANN, 1, 1)


def test_release_clears_owner_and_expiry_and_never_rolls_the_fence_back(world: World) -> None:
    work = world.held("ReleaseWork", world.claim()).expect("Released")["work"]
    assert (work["lease_owner"], work["lease_expires_at"], work["lease_fence"]) == (None, None, 1)
    assert world.claim(BOB, revision=3).expect("Claimed")["work"]["lease_fence"] == 2


def test_release_is_legal_after_expiry_while_nobody_claimed(world: World) -> None:
    claimed = world.claim(duration=60)
    world.advance(seconds=3600)
    assert world.held("ReleaseWork", claimed).outcome == "Released"


def test_expire_requires_the_exact_revision_and_the_recorded_expiry(world: World) -> None:
    assert world.run("ExpireWork", expected_revision=1).outcome == "LeaseStillActive", "nobody holds it"
    world.claim(duration=60)
    assert world.run("ExpireWork", expected_revision=1).outcome == "ExpireStale"
    world.advance(seconds=59, microseconds=999_999)
    assert world.run("ExpireWork", expected_revision=2).outcome == "LeaseStillActive"
    world.advance(microseconds=1)
    work = world.run("ExpireWork", expected_revision=2).expect("Expired")["work"]
    assert (work["lease_owner"], work["lease_expires_at"], work["lease_fence"]) == (None, None, 1)


def test_time_passing_alone_changes_nothing(world: World) -> None:
    world.claim(duration=5)
    before, head = world.row, world.db.head
    world.advance(seconds=86_000)
    assert world.row == before and world.db.head == head
    assert world.row.fields["lease_owner"] == ANN


def test_fence_changes_no_lease_field(world: World) -> None:
    claimed = world.claim()
    started = world.held("StartWork", claimed).expect("Started")["work"]
    before = claimed.fields["work"]
    assert {name for name in before if before[name] != started[name]} == {"state"}


@pytest.mark.parametrize(
    "command, operation",
    [
        ("StartWork", r"    lease fence execution on work .*\n.*\n(?=    transition Start)"),
        ("FinishWork", r"    lease fence execution on work .*\n.*\n(?=    transition Finish)"),
        ("ReleaseWork", r"    lease release .*\n.*\n"),
    ],
)
def test_a_mutation_without_a_lease_operation_is_a_compiler_error(command: str, operation: str) -> None:
    text, count = re.subn(operation, "", CONTRACT)
    assert count == 1
    assert "C035" in codes(text)


def test_two_lease_operations_on_one_row_are_a_compiler_error() -> None:
    expire = (
        "    lease expire execution on work revision expected_revision stale WorkStale {} active Active {}\n"
    )
    assert "C035" in codes(changed(("    transition Start on", expire + "    transition Start on")))


DECIDED = """
  command Decide {
    input request_key: string<128>
    input organization_id: uuid
    input work_id: uuid
    input owner_id: uuid
    input token: u64
    input expected_revision: u64
    idempotency_key request_key
    mutate WorkItem(organization_id, work_id) as work else Missing {}
    decide work {
      when work.state == WorkState.Queued => apply {
        %s
        transition Start on work revision expected_revision stale WorkStale {} illegal NotQueued {}
      }
      when work.state == WorkState.Running => apply {
        %s
        transition Finish on work revision expected_revision stale WorkStale {} illegal NotRunning {}
      }
      else => no_effect
    }
    return Decided { work: work }
  }
}"""
FENCE = """lease fence execution on work owner owner_id fencing_token token revision expected_revision
          stale WorkStale {} invalid WrongHolder {} expired LeaseExpired {}"""


def test_a_lease_operation_may_stand_in_every_apply_arm() -> None:
    contract = CONTRACT.rstrip().removesuffix("}") + DECIDED
    assert codes(contract % (FENCE, FENCE)) == []
    assert "C035" in codes(contract % (FENCE, "")), "in one arm it is missing"
    assert "C035" in codes(contract % (FENCE, f"{FENCE} {FENCE}")), "in one arm it stands twice"
    world = World(":memory:", contract % (FENCE, FENCE))
    world.create()
    first = world.held("Decide", world.claim())
    assert first.expect("Decided")["work"]["state"] == "Running"
    second = world.held("Decide", first)
    assert second.expect("Decided")["work"]["state"] == "Complete"
    assert world.held("Decide", second, token=0).expect("Decided")["work"]["state"] == "Complete"


def test_creation_remains_possible_without_a_lease_operation(world: World) -> None:
    assert world.run("CreateWork", work_id=UUID(int=202)).outcome == "Created"


# Time, retries, and authority.


def test_expiry_uses_the_transaction_time_alone(world: World) -> None:
    receipt = world.claim(duration=60)
    assert receipt.fields["work"]["lease_expires_at"] == receipt.time + timedelta(seconds=60)
    assert receipt.time == datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_transaction_time_never_runs_backward(world: World) -> None:
    first = world.claim(duration=60)
    world.advance(seconds=-3600)
    second = world.held("RenewWork", first, duration=60)
    assert second.time == first.time


def test_evaluating_again_reads_neither_clock_nor_chance(world: World) -> None:
    world.held("StartWork", world.claim())
    world.advance(seconds=86_000)
    report = world.db.verify()
    assert report.ok and report.evaluated == 3


def test_a_retry_reuses_the_persisted_observation(world: World) -> None:
    first = world.claim(request_key="once", duration=60)
    world.advance(seconds=45)
    again = world.claim(request_key="once", duration=60)
    assert again.time == first.time
    assert again.fields["work"]["lease_expires_at"] == first.fields["work"]["lease_expires_at"]


def test_a_retry_after_recovery_reuses_it_too(tmp_path: Any) -> None:
    world = World(f"sqlite:///{tmp_path}/work.db")
    world.create()
    first = world.claim(request_key="once", duration=60)
    world.db.close()
    world.advance(seconds=45)
    world.db = treadle.open(world.url, clock=world.clock)
    assert world.claim(request_key="once", duration=60) == first
    world.db.close()


def test_evidence_never_grants_permission(world: World) -> None:
    roles = [Role("claimer", commands=("ClaimWork",)), Role("finisher", commands=("StartWork", "FinishWork"))]
    world.db.deploy(CONTRACT, roles=roles)
    claimed = world.claim(role="claimer")
    with pytest.raises(treadle.Denied) as caught:
        world.held("StartWork", claimed, role="claimer")
    assert str(ANN) not in str(caught.value)
    assert world.held("StartWork", claimed, role="finisher").outcome == "Started"


def test_permission_is_that_of_now_on_replays_too(world: World) -> None:
    world.db.deploy(CONTRACT, roles=[Role("worker", commands=("ClaimWork", "ReleaseWork"))])
    claimed = world.claim(role="worker", request_key="once")
    world.db.deploy(CONTRACT, roles=[Role("worker", commands=("ReleaseWork",))])
    with pytest.raises(treadle.Denied):
        world.claim(role="worker", request_key="once")
    assert world.held("ReleaseWork", claimed, role="worker").outcome == "Released"


def test_lease_evidence_stays_out_of_the_log_that_is_shown(world: World) -> None:
    world.held("StartWork", world.claim())
    shown = [entry.to_json() for entry in world.db.log()]
    assert str(ANN) not in str(shown)
    for entry in shown[2:]:
        assert {entry["input"][name] for name in ("owner_id", "token") if name in entry["input"]} == {"•••"}
        assert entry["fields"]["work"]["lease_fence"] == "•••"


def test_errors_carry_no_lease_evidence(world: World) -> None:
    claimed = world.claim()
    calls: list[Callable[[], object]] = [
        lambda: world.held("StartWork", claimed, token=-7),
        lambda: world.held("StartWork", claimed, token="no number 4711"),
        lambda: world.held("StartWork", claimed, owner_id="no uuid 4711"),
    ]
    for call in calls:
        with pytest.raises(treadle.InvalidInput) as caught:
            call()
        assert "4711" not in str(caught.value) and str(ANN) not in str(caught.value)


def test_fences_and_history_incarnations_are_not_interchangeable(world: World) -> None:
    receipt = world.claim()
    assert receipt.fields["work"]["lease_fence"] == 1 and receipt.history != "1"
    with pytest.raises(treadle.InvalidInput):
        world.held("StartWork", receipt, token=receipt.history)


# Failure model.


def test_business_failures_are_declared_outcomes_that_commit_with_no_mutation(world: World) -> None:
    claimed = world.claim(duration=60)
    failures: list[Callable[[], treadle.Receipt]] = [
        lambda: world.run("CreateWork"),
        lambda: world.claim(BOB, revision=2),
        lambda: world.claim(BOB, revision=1),
        lambda: world.claim(BOB, revision=2, duration=1),
        lambda: world.held("RenewWork", claimed, duration=60, token=9),
        lambda: world.held("ReleaseWork", claimed, owner_id=BOB),
        lambda: world.run("ExpireWork", expected_revision=2),
        lambda: world.held("FinishWork", claimed),
        lambda: world.claim(work_id=UUID(int=999)),
    ]
    before = world.row
    for fail in failures:
        number = world.db.head[0]
        receipt = fail()
        assert not receipt.ok and receipt.commit == number + 1 == world.db.head[0]
        assert world.row == before
        assert next(world.db.log(receipt.commit)).rows == ()


def race(world: World, owners: int) -> list[str]:
    """The outcomes of claims of the same revision that are let loose at once, one for each owner."""
    outcomes: list[str] = []
    start = threading.Barrier(owners)

    def claim(owner: int) -> None:
        start.wait()
        outcomes.append(world.claim(UUID(int=owner), revision=1).outcome)

    threads = [threading.Thread(target=claim, args=(owner,)) for owner in range(1, owners + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_of_concurrent_claims_one_wins_and_the_others_are_stale(world: World) -> None:
    for number in range(effort(5)):
        work = UUID(int=400 + number)
        world.item = {"organization_id": ORGANIZATION, "work_id": work}
        world.create()
        assert sorted(race(world, 4)) == ["Claimed", "StaleRevision", "StaleRevision", "StaleRevision"]
        assert world.row.revision == 2 and world.row.fields["lease_fence"] == 1


def test_no_newer_revision_or_token_is_ever_substituted(world: World) -> None:
    first = world.claim(ANN, duration=60)
    world.advance(seconds=60)
    world.claim(BOB, revision=2)
    late = world.held("StartWork", first)
    assert late.outcome == "WorkStale"
    with_revision_alone = world.held("StartWork", first, expected_revision=3)
    assert with_revision_alone.outcome == "WrongHolder", (
        "an old token is refused though the revision is right"
    )
    assert world.row.fields["state"] == "Queued"
