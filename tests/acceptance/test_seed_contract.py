"""Fenced leases, sentence by sentence: what a contract declares, and what a claim does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

import treadle
from tests.support.worlds import ANN, BOB, CONTRACT, ORGANIZATION, WORK, World, changed, codes
from treadle.access.roles import Role
from treadle.limits import U64_MAX
from treadle.model.facts import RowChange


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
