"""The style of the repository: rules.py over every file, but for the places in exceptions.toml."""

from __future__ import annotations

import statistics
import tomllib
from collections import Counter
from fnmatch import fnmatch
from functools import cache
from typing import Any

import pytest

from tests.repo import rules
from tests.repo.rules import RULES, Place, Rule
from tests.repo.sources import Source, python
from tests.support.shared import ROOT

MEDIAN_LINES = 7


@cache
def exceptions() -> dict[str, Any]:
    return tomllib.loads((ROOT / "tests/repo/exceptions.toml").read_text(encoding="utf-8"))


def allowed(rule: Rule) -> Counter[str]:
    listed = exceptions().get("exception", [])
    return Counter({entry["path"]: entry["count"] for entry in listed if entry["rule"] == rule.name})


def broken(rule: Rule) -> dict[str, list[Place]]:
    adapters = exceptions()["adapters"] if rule.name == "clock-or-chance" else []
    sources = [
        file for file in python(*rule.folders) if not any(fnmatch(file.path, glob) for glob in adapters)
    ]
    return {file.path: places for file in sources if (places := list(rule.find(file)))}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_no_rule_is_broken_outside_the_list(rule: Rule) -> None:
    found, free = broken(rule), allowed(rule)
    complaints = [
        f"{path}:{line}: {what}"
        for path, places in found.items()
        if len(places) > free[path]
        for line, what in places
    ]
    assert not complaints, f"{rule.name}: {rule.instead}\n" + "\n".join(complaints)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_list_names_nothing_that_is_gone(rule: Rule) -> None:
    found = broken(rule)
    gone = [path for path, count in allowed(rule).items() if len(found.get(path, ())) < count]
    assert not gone, f"{rule.name}: lower the count or remove the entry, and the ceiling with it: {gone}"


def test_the_list_only_shrinks() -> None:
    listed = exceptions().get("exception", [])
    assert sum(entry["count"] for entry in listed) == exceptions()["ceiling"]


def test_every_exception_is_complete_and_named_once() -> None:
    listed = exceptions().get("exception", [])
    names = {rule.name for rule in RULES}
    for entry in listed:
        assert set(entry) == {"rule", "path", "count", "reason"}, entry
        assert entry["rule"] in names and entry["count"] > 0 and len(entry["reason"]) > 10, entry
    assert len({(entry["rule"], entry["path"]) for entry in listed}) == len(listed)


def test_half_of_all_functions_are_short(record_property: Any) -> None:
    lengths = [rules.code_length(file, node) for file in python("src/") for node in rules.functions(file)]
    median = statistics.median(lengths or [0])
    record_property("median function", median)
    assert median <= MEDIAN_LINES, f"half of the package's {len(lengths)} functions have over {median} lines"


BROKEN = {
    "assert": "assert True",
    "broad-except": "try: pass\nexcept (OSError, Exception): pass",
    "clock-or-chance": "import datetime\ndatetime.datetime.now()",
    "file-length": "#\n" * 601,
    "function-length": "def f():\n" + "    pass\n" * 70,
    "no-cover": "pass  # pragma: no cover",
    "noqa": "import x  # noqa: F401",
    "type-ignore": "x = y  # type: ignore[arg-type]",
}
FINE = {
    "assert": "check(True, 'x')",
    "broad-except": "try: pass\nexcept OSError: pass\nexcept BaseException:\n    x = 1\n    raise",
    "clock-or-chance": "def f(clock, random): return clock.now() + random.pick() + datetime.max",
    "file-length": "#\n" * 600,
    "function-length": "def f():\n    '''a\n    b'''\n" + "    pass\n" * 69,
    "no-cover": "pass  # covered",
    "noqa": "x = '# noqa'",
    "type-ignore": "x = '# type: ignore'",
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_rule_finds_what_it_is_for(rule: Rule) -> None:
    assert list(rule.find(Source("broken.py", BROKEN[rule.name])))
    assert not list(rule.find(Source("fine.py", FINE[rule.name])))


@pytest.mark.parametrize(
    "code",
    ["import random", "from random import choice", "from uuid import uuid4", "import time\ntime.time()",
     "from time import time", "import secrets", "import os\nos.urandom(4)", "import uuid\nuuid.uuid4()"],
)  # fmt: skip
def test_every_way_to_a_clock_or_to_dice_is_found(code: str) -> None:
    assert list(rules.clock_or_chance(Source("clock.py", code)))
