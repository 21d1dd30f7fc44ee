"""What a command would answer now, compared with what it does answer."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.contracts import work_contract
from tests.support.effort import effort
from tests.support.view import DictView
from treadle import limits
from treadle.model.facts import Row, Sealed
from treadle.plan import build
from treadle.plan.answers import Answer, answers, lease_now

CONTRACT = work_contract()
PLAN = build(CONTRACT)
ORG, WORK, OWNER = b"o" * 16, b"w" * 16, b"a" * 16
NOW = 1_700_000_000_000_000
MOST = limits.U64_MAX


def row(
    state: str = "Queued", until: int | None = None, fence: int = 3, attempts: int = 5, revision: int = 7
) -> Row:
    return Row(revision, (ORG, WORK, state, None if until is None else OWNER, until, fence, attempts))


def told(held: Row | None, time: int = NOW) -> dict[str, Answer]:
    return {each.command: each for each in answers(PLAN, "WorkItem", held, time)}


ROWS = st.builds(
    row,
    state=st.sampled_from(["Queued", "Running", "Complete"]),
    until=st.sampled_from([None, NOW - 1, NOW, NOW + 1, NOW + 60_000_000]),
    fence=st.sampled_from([0, 3, MOST]),
    attempts=st.sampled_from([0, 5, MOST]),
    revision=st.sampled_from([1, 7, MOST]),
)


@settings(max_examples=effort(200), deadline=None)
@given(held=st.none() | ROWS, late=st.booleans())
def test_an_answer_is_what_the_command_answers_to_right_evidence(held: Row | None, late: bool) -> None:
    time = limits.TIMESTAMP_MAX - 1 if late else NOW
    for answer in answers(PLAN, "WorkItem", held, time):
        plan = PLAN.commands[answer.command]
        view = DictView(CONTRACT)
        if held is not None:
            view.put("WorkItem", held.cells, held.revision)
        values: dict[str, Any] = {
            "request_key": "k",
            "organization_id": ORG,
            "work_id": WORK,
            "owner_id": OWNER,
            "token": held.cells[5] if held else 0,
            "duration": 5,
            "expected_revision": held.revision if held else 0,
        }
        verdict = plan.evaluate(tuple(values[field.name] for field in plan.inputs), Sealed(time), view)
        assert answer.outcome == (verdict.failure or verdict.outcome), answer
        assert answer.success == verdict.success
        assert answer.certain


def test_a_held_lease_says_until_when_and_what_helps() -> None:
    claim = told(row(until=NOW + 9))["ClaimWork"]
    assert (claim.outcome, claim.until, claim.needs) == ("Unavailable", NOW + 9, ("expected_revision",))
    assert "release" in claim.remedy


def test_a_renewal_works_until_the_expiry() -> None:
    renew = told(row(until=NOW + 9))["RenewWork"]
    assert (renew.success, renew.until) == (True, NOW + 9)
    assert renew.needs == ("expected_revision", "owner_id", "token")


def test_an_illegal_state_names_the_step_that_leads_on() -> None:
    finish = told(row(until=NOW + 9))["FinishWork"]
    assert finish.outcome == "Illegal"
    assert "Start" in finish.remedy
    assert "no single step" in told(row("Complete", until=NOW + 9))["StartWork"].remedy


def test_a_lease_now() -> None:
    entity = PLAN.entities["WorkItem"]
    now = lease_now(entity, row(until=NOW))
    assert now is not None
    assert not now.live(NOW)
    assert now.live(NOW - 1)
    free = lease_now(entity, row())
    assert free is not None
    assert not free.live(0)
