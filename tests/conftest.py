"""Settings of the whole suite: Hypothesis' profile, and the table of what each group of tests took."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings

from tests.support.effort import effort

BUDGET = {
    "unit": 40,
    "golden": 20,
    "properties": 120,
    "conformance": 120,
    "faults": 120,
    "concurrency": 120,
    "sim": 150,
    "acceptance": 60,
    "server": 60,
    "browser": 60,
    "docs": 120,
    "repo": 60,
}
"""Seconds that each group may take at effort 1, summed over its tests. Other folders have none."""

settings.register_profile(
    "treadle",
    deadline=None,  # two cores shared by many processes: a time limit per example would only flicker
    max_examples=effort(50),
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("treadle")


@dataclass
class Spent:
    tests: int = 0
    seconds: float = 0.0


spent: defaultdict[str, Spent] = defaultdict(Spent)


def group(nodeid: str) -> str:
    """The folder below tests/ that a test lies in."""
    parts = nodeid.split("/")
    return parts[1] if len(parts) > 2 else "other"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds up set-up, call and tear-down; under xdist the controller hears of every worker's tests."""
    entry = spent[group(report.nodeid)]
    entry.seconds += report.duration
    entry.tests += report.when == "call"


def rows() -> Iterator[str]:
    order = [*BUDGET, *sorted(set(spent) - set(BUDGET))]
    for name in order:
        if name in spent:
            entry, budget = spent[name], BUDGET.get(name)
            over = "  over" if budget and entry.seconds > budget else ""
            yield f"{name:<14}{entry.tests:>7}{entry.seconds:>10.1f}{budget or '-':>10}{over}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not spent:
        return
    terminalreporter.section("what each group took", sep="-")
    terminalreporter.write_line(f"{'group':<14}{'tests':>7}{'seconds':>10}{'budget':>10}")
    for row in rows():
        terminalreporter.write_line(row)
