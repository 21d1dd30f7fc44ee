"""Settings of the whole suite: Hypothesis' profile, and the table of what each group of tests took."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings

from tests.support.effort import effort

pytest_plugins = ["pytester"]

BUDGET = {
    "unit and golden": 60,
    "properties": 120,
    "conformance": 120,
    "faults": 120,
    "concurrency and kills": 120,
    "server and clients": 120,
    "browser": 60,
    "docs and examples": 120,
    "simulator": 90,
    "repository": 60,
}
"""Seconds of a run that each group may take, at effort 1 and with two workers on two cores."""

GROUPS = {
    "unit": "unit and golden",
    "golden": "unit and golden",
    "compat": "unit and golden",
    "properties": "properties",
    "conformance": "conformance",
    "faults": "faults",
    "faults/test_kill.py": "concurrency and kills",
    "faults/test_store_kill.py": "concurrency and kills",
    "concurrency": "concurrency and kills",
    "server": "server and clients",
    "typing": "server and clients",
    "browser": "browser",
    "acceptance": "docs and examples",
    "docs": "docs and examples",
    "sim": "simulator",
    "repo": "repository",
}
"""The group of a folder below tests/, or of a file in it that stands for itself."""

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
    """The group that a test belongs to, by its file or else its folder; a folder without one is its own."""
    _, _, place = nodeid.partition("::")[0].partition("/")
    folder = place.partition("/")[0]
    return GROUPS.get(place, GROUPS.get(folder, folder))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds up set-up, call and tear-down; under xdist the controller hears of every worker's tests."""
    entry = spent[group(report.nodeid)]
    entry.seconds += report.duration
    entry.tests += report.when == "call"


def rows(workers: int) -> Iterator[str]:
    """The table: the time of the run that a group's tests took up, `workers` of them at once."""
    for name in [*BUDGET, *sorted(set(spent) - set(BUDGET))]:
        if name in spent:
            seconds, budget = spent[name].seconds / workers, BUDGET.get(name)
            over = "  over" if budget and seconds > budget else ""
            yield f"{name:<22}{spent[name].tests:>7}{seconds:>10.1f}{budget or '-':>10}{over}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not spent:
        return
    workers = int(getattr(config.option, "numprocesses", None) or 1)
    terminalreporter.section("what each group took", sep="-")
    at_once = f", {workers} at once" if workers > 1 else ""
    terminalreporter.write_line(f"{'group':<22}{'tests':>7}{'seconds':>10}{'budget':>10}{at_once}")
    for row in rows(workers):
        terminalreporter.write_line(row)
