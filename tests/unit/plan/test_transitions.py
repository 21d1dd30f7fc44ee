"""Transitions: the observed revision first, then the source state."""

from __future__ import annotations

import pytest

from tests.unit.plan.test_leases import HELD, LAPSED, NOW, REVISION, STALE, image, run
from treadle.model.facts import RevisionFact


def test_a_transition_sets_the_destination_and_adds_one_revision() -> None:
    verdict = run("StartWork", HELD)
    assert image(verdict)[2] == "Running"
    assert verdict.revisions == (RevisionFact("work", None, REVISION + 1),)


@pytest.mark.parametrize("state", ["Running", "Complete"])
def test_another_source_state_is_illegal(state: str) -> None:
    assert run("StartWork", {**HELD, "state": state}).outcome == "Illegal"


def test_a_self_transition_checks_and_counts_like_any_other() -> None:
    running = {**HELD, "state": "Running"}
    verdict = run("RotateWork", running)
    assert verdict.outcome == "Done"
    assert image(verdict)[2] == "Running"
    assert verdict.changes[0].revision == REVISION + 1
    assert run("RotateWork", running, **STALE).outcome == "Stale"
    assert run("RotateWork", HELD).outcome == "Illegal"


def test_effects_run_in_source_order_so_the_fence_decides_before_the_state() -> None:
    assert run("StartWork", {**LAPSED, "state": "Complete"}).outcome == "Expired"


def test_a_transition_after_a_fence_still_compares_the_revision_before_the_command() -> None:
    assert run("StartWork", HELD, now=NOW).outcome == "Done"
