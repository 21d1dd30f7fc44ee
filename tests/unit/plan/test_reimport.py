"""Reimport: rows come back as they were, above everything that was observed before."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine, answer
from treadle import limits
from treadle.errors import InvalidInput, TooLarge
from treadle.model.facts import RevisionFact

SOURCE = """
contract Depot version 1 {
  enum Phase { Waiting, Busy }
  entity Depot { key (depot: u64) field name: string<20> field room: u64 }
  entity Job {
    key (depot: u64, job: u64)
    field phase: Phase
    field owner: optional<uuid>
    field until: optional<timestamp>
    field fence: u64
    field tries: u64
    field size: u64
    field label: string<20>
    invariant Sized: size >= 1
    unique by_label (depot, label)
    reference at (depot) -> Depot (depot)
  }
  entity Slot { key (depot: u64, slot: u64) field size: u64 field text: list<string<60000>, 0..20> }
  aggregate Depots {
    root Depot
    child Slot
    partition_by depot
    conflict_key (depot)
    invariant Room: Slot.size <= Depot.room
  }
  aggregate Jobs { root Job partition_by depot conflict_key (depot, job) }
  workflow JobLife {
    entity Job state phase initial Waiting
    transition Start from (Waiting) to Busy
    lease work { owner owner expires_at until fencing_token fence attempts tries duration_seconds (5, 90) }
  }
  reimport command RestoreJobs {
    input records: list<Job, 1..32>
    reconstitute Job from records else JobExists {}
    return Restored {}
  }
  reimport command RestoreSlots {
    input records: list<Slot, 1..32>
    reconstitute Slot from records else SlotExists {}
    return Restored {}
  }
  reimport command RestoreDepots {
    input records: list<Depot, 1..32>
    reconstitute Depot from records else DepotExists {}
    return Restored {}
  }
}
"""
OWNER = b"a" * 16


def job(number: int, **given: object) -> tuple[object, ...]:
    fields = {
        "owner": OWNER,
        "until": 5,
        "fence": 9,
        "tries": 4,
        "size": 1,
        "label": f"job {number}",
        **given,
    }
    return (1, number, "Busy", *fields.values())


@pytest.fixture
def machine() -> Machine:
    made = Machine(SOURCE)
    made.put("Depot", 1, "one", 10)
    return made


def test_rows_come_back_exactly_with_a_revision_above(machine: Machine) -> None:
    plan = machine.plan.reimports["RestoreJobs"]
    machine.view.tombstones["Job", (1, 2)] = 40
    verdict = plan.evaluate([job(1), job(2)], [7, 30], machine.view)
    assert [(change.revision, change.cells) for change in verdict.changes] == [(8, job(1)), (41, job(2))]
    assert verdict.revisions == (RevisionFact("records", 0, 8), RevisionFact("records", 1, 41))
    assert verdict.taken[0] == (("Job", "by_label", (1, "job 1")), (1, 1))
    assert (verdict.outcome, verdict.success) == ("Restored", True)


def test_an_entity_without_a_workflow_reports_no_revisions(machine: Machine) -> None:
    verdict = machine.plan.reimports["RestoreDepots"].evaluate([(2, "two", 10)], [3], machine.view)
    assert (verdict.changes[0].revision, verdict.revisions) == (4, ())


def test_a_present_row_answers_the_declared_outcome(machine: Machine) -> None:
    machine.put("Job", *job(1))
    verdict = machine.plan.reimports["RestoreJobs"].evaluate([job(2), job(1)], [1, 1], machine.view)
    assert (verdict.outcome, verdict.success, verdict.changes) == ("JobExists", False, ())


@pytest.mark.parametrize("half", [{"owner": None}, {"until": None}])
def test_half_a_lease_is_refused(machine: Machine, half: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=r"records\[1\]\.owner.*owner and an expiry"):
        machine.plan.reimports["RestoreJobs"].evaluate([job(1), job(2, **half)], [1, 1], machine.view)


def test_no_lease_at_all_is_fine(machine: Machine) -> None:
    free = job(1, owner=None, until=None)
    assert machine.plan.reimports["RestoreJobs"].evaluate([free], [1], machine.view).success


def test_a_reference_to_nothing_is_refused(machine: Machine) -> None:
    lost = (9, *job(1)[1:])
    with pytest.raises(InvalidInput, match=r"records\[0\]\.at"):
        machine.plan.reimports["RestoreJobs"].evaluate([lost], [1], machine.view)


@pytest.mark.parametrize(
    "records, revisions, failure",
    [
        ([job(1), job(1)], [1, 1], "duplicate_target"),
        ([job(1, size=0)], [1], "invariant_violated:Sized"),
        ([job(1), job(2, label="job 1")], [1, 1], "unique_conflict:by_label"),
        ([job(1)], [limits.U64_MAX], "revision_exhausted"),
    ],
)
def test_terminal_failures(machine: Machine, records: list, revisions: list[int], failure: str) -> None:
    plan = machine.plan.reimports["RestoreJobs"]
    assert answer(plan.evaluate(records, revisions, machine.view)) == failure


def test_everything_that_stands_in_the_way_is_listed_before_anything_is_written(machine: Machine) -> None:
    machine.put("Job", *job(1))
    records = [
        job(1),
        job(2, owner=None, size=0),
        job(2, label="job 1"),
        (9, *job(3)[1:]),
        job(4),
    ]
    found = machine.plan.reimports["RestoreJobs"].problems(
        records, [1, 1, 1, 1, limits.U64_MAX], machine.view
    )
    assert found == [
        (0, "present", "Job"),
        (0, "unique_conflict", "by_label"),
        (1, "half_lease", "owner"),
        (1, "invariant_violated", "Sized"),
        (2, "duplicate_target", "Job"),
        (2, "unique_conflict", "by_label"),
        (3, "missing_reference", "at"),
        (4, "revision_exhausted", "Job"),
    ]
    assert machine.plan.reimports["RestoreJobs"].problems([job(4)], [1], machine.view) == []


def test_the_access_set_covers_what_is_looked_at(machine: Machine) -> None:
    access = machine.plan.reimports["RestoreJobs"].access([job(1)])
    assert list(access.rows) == [("Job", (1, 1)), ("Depot", (1,))]
    assert list(access.uniques) == [("Job", "by_label", (1, "job 1"))]


def test_a_child_is_checked_against_its_root_and_its_size(machine: Machine) -> None:
    plan = machine.plan.reimports["RestoreSlots"]
    assert list(plan.access([(1, 1, 5, ())]).rows) == [("Slot", (1, 1)), ("Depot", (1,))]
    assert plan.evaluate([(1, 1, 10, ())], [1], machine.view).success
    assert answer(plan.evaluate([(1, 1, 11, ())], [1], machine.view)) == "invariant_violated:Room"
    huge = (1, 1, 5, ("x" * 60_000,) * 20)
    assert answer(plan.evaluate([huge], [1], machine.view)) == "row_too_large"
    assert plan.problems([huge], [1], machine.view) == [(0, "row_too_large", "Slot")]


def test_a_chunk_is_bounded_like_any_command(machine: Machine) -> None:
    plan = machine.plan.reimports["RestoreSlots"]
    records = [(1, number, 5, ("x" * 50_000,) * 20) for number in range(9)]
    with pytest.raises(TooLarge, match="fewer records"):
        plan.evaluate(records, [1] * 9, machine.view)
    assert plan.evaluate(records[:8], [1] * 8, machine.view).success
