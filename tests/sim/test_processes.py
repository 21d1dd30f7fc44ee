"""Several processes: killed and started again, nothing is found; broken on purpose, each defect is."""

from __future__ import annotations

import re

import pytest

from sim.processes.run import draw, run
from sim.scenario import scenario
from tests.sim.budget import Group, groups, hold


@pytest.mark.parametrize("group", groups("processes"), ids=str)
def test_seeds(group: Group) -> None:
    hold(group)


def test_the_script_of_a_seed_is_the_same_for_ever() -> None:
    assert draw(7, 50) == draw(7, 50)
    assert draw(7, 50) != draw(8, 50)
    assert scenario("processes").tries > 1


def test_every_kind_of_end_comes() -> None:
    """Before, during and after a request, from outside, and all processes at once; and a failing disk."""
    wanted = {f"kill {how}" for how in ("before", "during", "after", "soon", "idle")} | {"at once", "disk"}
    seen = set()
    for seed in range(1_000, 1_020):
        result = run(seed, draw(seed, 120))
        assert result.broken is None
        seen |= {kind if not kind.startswith("disk") else "disk" for kind in result.faults}
        if wanted <= seen:
            return
    pytest.fail(f"only {sorted(seen)}")


@pytest.mark.parametrize(
    ("defect", "found"),
    [
        ("stale_read", r"job \d: no order of its operations explains look → (Job|None)"),
        ("lost_update", r"job \d: no order of its operations explains"),
        (
            "stale_board",
            r"(a board of commit \d+ stands before|no order of its operations explains board)",
        ),
        (
            "forgotten_receipts",
            r"key-\d+: .* answer the same request|job \d: no order of its operations explains",
        ),
    ],
)
def test_what_is_broken_on_purpose_is_found(defect: str, found: str) -> None:
    """Mostly the search for a linear order says so: it comes first, and knows nothing of the log."""
    said = []
    for seed in range(12):
        said.append(run(seed, draw(seed, 120), f"tests.sim.defects:{defect}").broken)
        if said[-1] is not None and re.search(found, said[-1]):
            return
    pytest.fail(f"not found: {said}")
