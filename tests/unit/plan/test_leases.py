"""The lease table, row by row: what each operation checks, in which order, and what it writes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.contracts import work_contract
from tests.support.view import DictView
from treadle import limits
from treadle.model.facts import Cells, RevisionFact, Sealed, Verdict
from treadle.plan import build

CONTRACT = work_contract()
PLAN = build(CONTRACT)
ORG, WORK, ALICE, BOB = b"o" * 16, b"w" * 16, b"a" * 16, b"b" * 16
NOW = 1_700_000_000_000_000
SECOND = 1_000_000
REVISION = 7
FREE: dict[str, Any] = {"owner": None, "until": None, "fence": 3, "attempts": 5}
HELD: dict[str, Any] = {"owner": ALICE, "until": NOW + SECOND, "fence": 3, "attempts": 5}
LAPSED: dict[str, Any] = {**HELD, "until": NOW}


def run(
    command: str, row: dict[str, Any] | None, *, now: int = NOW, revision: int = REVISION, **given: Any
) -> Verdict:
    """Evaluate a command of the work contract on one row; inputs left out have values that succeed."""
    view = DictView(CONTRACT)
    if row is not None:
        state = row.get("state", "Queued")
        view.put(
            "WorkItem",
            (ORG, WORK, state, row["owner"], row["until"], row["fence"], row["attempts"]),
            revision,
        )
    values = {
        "request_key": "k",
        "organization_id": ORG,
        "work_id": WORK,
        "owner_id": ALICE,
        "token": 3,
        "duration": 60,
        "expected_revision": revision,
        **given,
    }
    plan = PLAN.commands[command]
    verdict = plan.evaluate(tuple(values[field.name] for field in plan.inputs), Sealed(now), view)
    check_shape(verdict)
    return verdict


def check_shape(verdict: Verdict) -> None:
    """Whatever is not the success changes nothing at all."""
    if not verdict.success:
        assert (
            *verdict.changes,
            *verdict.taken,
            *verdict.released,
            *verdict.events,
            *verdict.revisions,
        ) == ()


def image(verdict: Verdict) -> Cells:
    (change,) = verdict.changes
    assert change.cells is not None
    return change.cells


STALE = {"expected_revision": REVISION + 1}
SHORT, LONG = {"duration": 4}, {"duration": 901}
OTHER_OWNER, OTHER_TOKEN = {"owner_id": BOB}, {"token": 4}
LAST_FENCE = {"fence": limits.U64_MAX}
LAST_ATTEMPT = {"attempts": limits.U64_MAX}
LATE = limits.TIMESTAMP_MAX - SECOND

# Each check, and each check together with all that come after it: the first one answers.
CASES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("ClaimWork", FREE, {}, "Done"),
    ("ClaimWork", LAPSED, {}, "Done"),
    ("ClaimWork", {**HELD, **LAST_FENCE}, {**STALE, **SHORT}, "Stale"),
    ("ClaimWork", {**HELD, **LAST_FENCE}, SHORT, "Invalid"),
    ("ClaimWork", {**HELD, **LAST_FENCE}, LONG, "Invalid"),
    ("ClaimWork", {**HELD, **LAST_FENCE}, {}, "Unavailable"),
    ("ClaimWork", HELD, {"owner_id": BOB}, "Unavailable"),
    ("ClaimWork", {**FREE, **LAST_FENCE}, {}, "Exhausted"),
    ("ClaimWork", {**FREE, **LAST_ATTEMPT}, {}, "Exhausted"),
    ("ClaimWork", FREE, {"now": LATE}, "Exhausted"),
    ("ClaimWork", FREE, {"duration": 5}, "Done"),
    ("ClaimWork", FREE, {"duration": 900}, "Done"),
    ("ClaimWork", FREE, {"duration": 0}, "Invalid"),
    ("ClaimWork", FREE, {"duration": limits.U64_MAX}, "Invalid"),
    ("RenewWork", HELD, {}, "Done"),
    ("RenewWork", LAPSED, {**STALE, **SHORT, **OTHER_OWNER, **OTHER_TOKEN}, "Stale"),
    ("RenewWork", LAPSED, SHORT, "Invalid"),
    ("RenewWork", LAPSED, LONG, "Invalid"),
    ("RenewWork", LAPSED, OTHER_OWNER, "Invalid"),
    ("RenewWork", LAPSED, OTHER_TOKEN, "Invalid"),
    ("RenewWork", FREE, {}, "Invalid"),
    ("RenewWork", LAPSED, {}, "Expired"),
    ("RenewWork", {**HELD, "until": LATE}, {"now": LATE}, "Expired"),
    ("RenewWork", {**HELD, "until": limits.TIMESTAMP_MAX}, {"now": LATE}, "Exhausted"),
    ("RenewWork", {**HELD, **LAST_FENCE, **LAST_ATTEMPT}, {"token": limits.U64_MAX}, "Done"),
    ("ReleaseWork", HELD, {}, "Done"),
    ("ReleaseWork", LAPSED, {}, "Done"),
    ("ReleaseWork", FREE, {**STALE, **OTHER_TOKEN}, "Stale"),
    ("ReleaseWork", HELD, OTHER_OWNER, "Invalid"),
    ("ReleaseWork", HELD, OTHER_TOKEN, "Invalid"),
    ("ReleaseWork", FREE, {}, "Invalid"),
    ("ExpireWork", LAPSED, {}, "Done"),
    ("ExpireWork", {**HELD, "until": NOW - 1}, {}, "Done"),
    ("ExpireWork", HELD, STALE, "Stale"),
    ("ExpireWork", HELD, {}, "Active"),
    ("ExpireWork", {**HELD, "until": NOW + 1}, {}, "Active"),
    ("ExpireWork", FREE, {}, "Active"),
    ("FenceWork", HELD, {}, "Done"),
    ("FenceWork", {**HELD, "until": NOW + 1}, {}, "Done"),
    ("FenceWork", LAPSED, {**STALE, **OTHER_OWNER}, "Stale"),
    ("FenceWork", LAPSED, OTHER_OWNER, "Invalid"),
    ("FenceWork", LAPSED, OTHER_TOKEN, "Invalid"),
    ("FenceWork", FREE, {}, "Invalid"),
    ("FenceWork", LAPSED, {}, "Expired"),
    ("FenceWork", {**HELD, "until": NOW - 1}, {}, "Expired"),
]


@pytest.mark.parametrize("command, row, given, outcome", CASES)
def test_each_check_in_its_order(
    command: str, row: dict[str, Any], given: dict[str, Any], outcome: str
) -> None:
    assert run(command, row, **given).outcome == outcome


@pytest.mark.parametrize("command", ["ClaimWork", "RenewWork", "ReleaseWork", "ExpireWork", "FenceWork"])
def test_an_absent_row_is_missing(command: str) -> None:
    assert run(command, None).outcome == "Missing"


def test_a_claim_takes_the_lease_and_raises_fence_and_attempts() -> None:
    verdict = run("ClaimWork", LAPSED, owner_id=BOB)
    assert image(verdict) == (ORG, WORK, "Queued", BOB, NOW + 60 * SECOND, 4, 6)
    assert verdict.revisions == (RevisionFact("work", None, REVISION + 1),)
    assert verdict.fields == (image(verdict),)


def test_the_first_claim_takes_the_fence_from_zero_to_one() -> None:
    assert image(run("ClaimWork", {**FREE, "fence": 0, "attempts": 0}))[5:] == (1, 1)


def test_a_renewal_keeps_fence_and_attempts_and_may_shorten() -> None:
    verdict = run("RenewWork", {**HELD, "until": NOW + 600 * SECOND}, duration=5)
    assert image(verdict) == (ORG, WORK, "Queued", ALICE, NOW + 5 * SECOND, 3, 5)


def test_a_release_clears_owner_and_expiry_and_never_rolls_the_fence_back() -> None:
    assert image(run("ReleaseWork", HELD)) == (ORG, WORK, "Queued", None, None, 3, 5)


def test_an_expiry_clears_owner_and_expiry() -> None:
    assert image(run("ExpireWork", LAPSED)) == (ORG, WORK, "Queued", None, None, 3, 5)


def test_a_fence_writes_no_field_but_a_revision() -> None:
    verdict = run("FenceWork", HELD)
    (change,) = verdict.changes
    assert change.before is not None
    assert change.cells == change.before.cells
    assert change.revision == REVISION + 1


def test_the_last_instant_that_a_timestamp_can_hold_is_reachable() -> None:
    latest = limits.TIMESTAMP_MAX - 60 * SECOND
    assert image(run("ClaimWork", FREE, now=latest))[4] == limits.TIMESTAMP_MAX
    assert run("ClaimWork", FREE, now=latest + 1).outcome == "Exhausted"


def test_the_last_fence_is_reachable() -> None:
    assert image(run("ClaimWork", {**FREE, "fence": limits.U64_MAX - 1}))[5] == limits.U64_MAX


def test_a_revision_that_cannot_grow_fails_closed_and_writes_nothing() -> None:
    verdict = run("ClaimWork", FREE, revision=limits.U64_MAX)
    assert verdict.failure == "revision_exhausted"
    assert not verdict.success


def test_a_declared_failure_comes_before_an_exhausted_revision() -> None:
    assert run("ClaimWork", HELD, revision=limits.U64_MAX).outcome == "Unavailable"
