"""A command as the engine uses it: access, partition, conflict keys, creation, purity."""

from __future__ import annotations

import copy

import pytest

from tests.support.contracts import work_contract
from tests.support.view import DictView
from treadle import limits
from treadle.errors import InvariantBroken
from treadle.model.facts import RevisionFact, Row, RowChange, Sealed
from treadle.plan import SEMANTICS_VERSION, build

CONTRACT = work_contract()
PLAN = build(CONTRACT)
ORG, WORK, OWNER = b"o" * 16, b"w" * 16, b"a" * 16
KEY = ("k", ORG, WORK)
SEALED = Sealed(1_700_000_000_000_000)
NEW = (ORG, WORK, "Queued", None, None, 0, 0)


def test_what_a_plan_says_of_a_command() -> None:
    claim = PLAN.commands["ClaimWork"]
    assert [field.name for field in claim.inputs][:3] == ["request_key", "organization_id", "work_id"]
    assert (claim.key_input, claim.bulk, claim.writes, claim.ranges) == (0, False, True, False)
    assert claim.outcomes["Done"].success
    assert not claim.outcomes["Stale"].success
    assert PLAN.semantics_version == SEMANTICS_VERSION


def test_what_a_plan_says_of_an_entity() -> None:
    item = PLAN.entities["WorkItem"]
    assert item.key_count == 2
    assert item.positions["lease_fence"] == 5
    assert item.workflow is not None
    assert item.key_of(NEW) == (ORG, WORK)


def test_access_partition_and_conflict_keys_come_from_the_input() -> None:
    claim = PLAN.commands["ClaimWork"]
    input = (*KEY, OWNER, 60, 1)
    assert list(claim.access(input, (), None).rows) == [("WorkItem", (ORG, WORK))]
    assert claim.partition(input) == (ORG,)
    assert claim.conflict_keys(input) == (("Work", (ORG, WORK)),)


def test_a_created_row_starts_at_revision_one_with_the_initial_state() -> None:
    verdict = PLAN.commands["CreateWork"].evaluate(KEY, SEALED, DictView(CONTRACT))
    assert verdict.changes == (RowChange("WorkItem", (ORG, WORK), None, 1, NEW),)
    assert verdict.fields == (NEW,)
    assert verdict.revisions == (RevisionFact("work", None, 1),)


def test_a_present_row_answers_the_create_binding() -> None:
    view = DictView(CONTRACT)
    view.put("WorkItem", NEW)
    assert PLAN.commands["CreateWork"].evaluate(KEY, SEALED, view).outcome == "Exists"


def test_a_new_row_goes_on_after_the_last_revision_of_its_key() -> None:
    view = DictView(CONTRACT)
    view.tombstones["WorkItem", (ORG, WORK)] = 41
    assert PLAN.commands["CreateWork"].evaluate(KEY, SEALED, view).changes[0].revision == 42
    view.tombstones["WorkItem", (ORG, WORK)] = limits.U64_MAX
    assert PLAN.commands["CreateWork"].evaluate(KEY, SEALED, view).failure == "revision_exhausted"


def test_evaluation_changes_none_of_its_arguments_and_repeats_itself() -> None:
    view = DictView(CONTRACT)
    view.put("WorkItem", NEW)
    rows = copy.deepcopy(view.rows)
    input = (*KEY, OWNER, 60, 1)
    claim = PLAN.commands["ClaimWork"]
    first = claim.evaluate(input, SEALED, view)
    assert claim.evaluate(input, SEALED, view) == first
    assert build(CONTRACT).commands["ClaimWork"].evaluate(input, SEALED, view) == first
    assert view.rows == rows
    assert first.changes[0].before == Row(1, NEW)
    assert first.success


def test_a_wrong_number_of_values_is_an_error_of_ours() -> None:
    with pytest.raises(InvariantBroken):
        PLAN.commands["ClaimWork"].evaluate(KEY, SEALED, DictView(CONTRACT))
