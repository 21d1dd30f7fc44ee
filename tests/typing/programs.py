"""Programs that use generated clients: what a type checker accepts, and what it must complain about.

A line that ends in `# wrong` is one that each checker has to report; all others are right.
"""

from __future__ import annotations

PRELUDE = """\
from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import treadle
from typing_extensions import assert_never, assert_type
from work_client import AsyncWorkItemsClient, ClaimWork, ClaimWorkOutcome, FinishWork, FinishWorkOutcome
from work_client import ShowWork, WorkItem, WorkItemsClient, WorkState

ORGANIZATION, WORK, ME = UUID(int=1), UUID(int=2), UUID(int=3)
"""

PYTHON = (
    PRELUDE
    + """

def claimed(outcome: ClaimWorkOutcome) -> int:
    match outcome:
        case ClaimWork.Claimed(work=work, receipt=receipt):
            assert_type(work, WorkItem)
            assert_type(work.lease_owner, UUID | None)
            assert_type(work.state, WorkState)
            return work.lease_fence + receipt.revisions["work"]
        case ClaimWork.Missing() | ClaimWork.StaleRevision() | ClaimWork.AlreadyClaimed():
            return 0
        case ClaimWork.InvalidDuration() | ClaimWork.LeaseCounterExhausted():
            return 0
        case _:
            assert_never(outcome)


def forgets(outcome: ClaimWorkOutcome) -> int:
    match outcome:
        case ClaimWork.Claimed():
            return 1
        case ClaimWork.Missing() | ClaimWork.StaleRevision() | ClaimWork.AlreadyClaimed():
            return 0
        case ClaimWork.InvalidDuration():
            return 0
        case _:
            assert_never(outcome)  # wrong


def over(database: treadle.Database, remote: treadle.Remote) -> None:
    WorkItemsClient(database.acting_as("service"))
    WorkItemsClient(database, principal="service")
    client = WorkItemsClient(remote)
    finish = FinishWork(
        request_key="k", organization_id=ORGANIZATION, work_id=WORK, owner_id=ME, token=1, expected_revision=2
    )
    assert_type(client.run(finish), FinishWorkOutcome)
    assert_type(client.run_many([finish, finish]), list[FinishWorkOutcome | treadle.TreadleError])
    shown = client.show_work(organization_id=ORGANIZATION, work_id=WORK)
    if isinstance(shown, ShowWork.Shown):
        assert_type(shown.work.lease_attempts, int)
    shown.work  # wrong
    client.show_work(organization_id=ORGANIZATION)  # wrong
    client.show_work(organization_id=ORGANIZATION, work_id="text")  # wrong
    client.claim_work(  # wrong
        request_key="k", organization_id=ORGANIZATION, work_id=WORK, owner_id=ME, duration=60
    )
    finish.token = 2  # wrong
    FinishWork("k", ORGANIZATION, WORK, ME, 1, 2)  # wrong
    WorkItemsClient(42)  # wrong


async def awaited(database: treadle.AsyncDatabase, remote: treadle.AsyncRemote) -> None:
    AsyncWorkItemsClient(database, principal="service")
    client = AsyncWorkItemsClient(remote)
    outcome = await client.claim_work(
        request_key="k",
        organization_id=ORGANIZATION,
        work_id=WORK,
        owner_id=ME,
        duration=60,
        expected_revision=1,
        timeout=5.0,
    )
    assert_type(outcome, ClaimWorkOutcome)
    claimed(outcome)
    AsyncWorkItemsClient(database.sync.acting_as("service"))  # wrong
"""
)
