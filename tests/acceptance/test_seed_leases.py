"""Fenced leases, sentence by sentence: renew, release, expire, fence; time and retries; the failure model."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

import treadle
from tests.support.effort import effort
from tests.support.worlds import ANN, BOB, CONTRACT, ORGANIZATION, World, changed, codes
from treadle.access.roles import Role

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
