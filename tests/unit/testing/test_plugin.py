"""The pytest plugin: its fixtures in a project of their own; where it is not used, it costs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from treadle import scaffold

TESTS = """
from datetime import timedelta

from datetime import UTC, datetime

import pytest

import treadle
from treadle.testing import Crashed, answer_lost, assert_outcome, reopen

SHOP = "11111111-1111-4111-8111-111111111111"


def open_shop(db, key="1"):
    return db.run("OpenShop", {"key": key, "shop_id": SHOP, "name": "Corner"}, principal="desk")


def test_the_project_is_deployed(treadle_db):
    assert treadle_db.version == 1
    assert_outcome(treadle_db.query("WaitingJobs", {"shop_id": SHOP}), "Found", jobs=[])
    with pytest.raises(treadle.Denied):
        treadle_db.acting_as("a", role="worker").run("OpenShop", {"key": "1", "shop_id": SHOP, "name": "x"})


def test_each_test_has_its_own(treadle_db, treadle_clock):
    before = open_shop(treadle_db).time
    treadle_clock.advance(timedelta(days=3))
    assert open_shop(treadle_db, "2").time - before == timedelta(days=3)
    assert datetime.now(UTC) == open_shop(treadle_db, "3").time


def test_python_has_the_database_s_time_without_the_clock_too(treadle_db):
    assert datetime.now(UTC) == datetime(2030, 1, 1, tzinfo=UTC) == open_shop(treadle_db).time


def test_elsewhere_it_is_today():
    assert datetime.now(UTC).year < 2030


def test_a_file(treadle_db, treadle_file, treadle_clock):
    open_shop(treadle_db)
    with treadle.open(treadle_file, create=False, clock=treadle_clock) as other:
        assert other.row("Shop", (SHOP,)).fields["name"] == "Corner"


def test_a_file_and_a_process_that_dies(treadle_faults, treadle_db, treadle_file):
    treadle_faults.crash()
    with pytest.raises(Crashed):
        open_shop(treadle_db)
    assert not open_shop(reopen(treadle_db)).replayed and treadle_file.exists()


async def waits():
    import asyncio

    await asyncio.sleep(0.01)
    return datetime.now(UTC)


def test_tasks(treadle_clock):
    import asyncio

    assert asyncio.run(waits()) == treadle_clock.time


def test_a_lost_answer_is_found_again(treadle_db, treadle_faults):
    treadle_faults.arm("commit", answer_lost, afterwards=True)
    with pytest.raises(treadle.OutcomeUnknown):
        open_shop(treadle_db)
    assert treadle_faults.fired
    again = open_shop(treadle_db)
    assert_outcome(again, "Opened")
    assert again.replayed


def test_a_disk_that_fails_leaves_nothing(treadle_db, treadle_faults):
    treadle_faults.arm(1)
    with pytest.raises(treadle.StoreError):
        open_shop(treadle_db)
    treadle_faults.arm(None)
    assert not open_shop(treadle_db).replayed
"""


FAILING = """
from datetime import UTC, datetime


def test_fails(treadle_db, treadle_clock):
    assert datetime.now(UTC).year == 2026


def test_after_it():
    assert datetime.now(UTC).year < 2030
"""

PROPERTY = """
from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, given, settings, strategies as st

from treadle.testing import START, ManualClock, memory_database


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.timedeltas(timedelta(0), timedelta(days=9_000)))
def test_any_time(step):
    with ManualClock(START).as_wall_clock() as clock, memory_database(".", clock=clock) as db:
        clock.advance(step)
        shop = {"key": "1", "shop_id": "11111111-1111-4111-8111-111111111111", "name": "x"}
        assert db.run("OpenShop", shop, principal="p").time == START + step == datetime.now(UTC)
"""

STORE = """
from datetime import UTC, datetime


def test_the_store_alone(treadle_db, treadle_clock):
    assert datetime.now(UTC).year < 2030 == treadle_clock.time.year
"""


QUICK = ("-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:anyio")
"""Plugins that have nothing to do with it, and take long to load."""


def run_pytest(folder: Path, *words: str, code: int = 0) -> str:
    """In a process of its own, so that it begins with nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *QUICK, *words],
        cwd=folder, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    scaffold.create(tmp_path / "shop")
    return tmp_path / "shop"


def test_fixtures_of_a_project_in_any_number_of_processes(shop: Path) -> None:
    """A test that fails leaves Python's time behind as it was, and Hypothesis has a time for each example."""
    for name, text in (("kit", TESTS), ("failing", FAILING), ("property", PROPERTY)):
        (shop / f"test_{name}.py").write_text(text)
    told = run_pytest(shop, "-n", "2", "test_kit.py", "test_failing.py", "test_property.py", code=1)
    assert "1 failed, 11 passed" in told and "test_fails" in told


@pytest.fixture
def here(shop: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project as the current folder, for runs in this process."""
    monkeypatch.chdir(shop)
    return shop


def test_another_configuration(here: Path, pytester: pytest.Pytester) -> None:
    (here / "other").mkdir()
    (here / "other/test_kit.py").write_text(
        "def test_nothing(treadle_db):\n    assert treadle_db.version == 0\n"
    )
    (here / "empty.toml").write_text("")
    (here / "pytest.ini").write_text("[pytest]\ntreadle_config = empty.toml\n")
    pytester.runpytest_inprocess("other").assert_outcomes(passed=1)


def test_without_time_machine(here: Path, pytester: pytest.Pytester) -> None:
    (here / "test_kit.py").write_text(STORE)
    (here / "conftest.py").write_text("import sys\n\nsys.modules['time_machine'] = None\n")
    told = pytester.runpytest_inprocess("test_kit.py", "-p", "no:time_machine")
    told.assert_outcomes(errors=1)
    told.stdout.fnmatch_lines(["*needs time-machine: pip install 'treadle?testing?', or let it move*"])
    (here / "pytest.ini").write_text("[pytest]\ntreadle_clock_moves = store\n")
    pytester.runpytest_inprocess("test_kit.py", "-p", "no:time_machine").assert_outcomes(passed=1)


def test_a_setting_that_is_wrong(here: Path, pytester: pytest.Pytester) -> None:
    (here / "test_kit.py").write_text(STORE)
    (here / "pytest.ini").write_text("[pytest]\ntreadle_clock_moves = both\n")
    pytester.runpytest_inprocess("test_kit.py").stdout.fnmatch_lines(["*write python or store*"])


def test_it_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_light.py").write_text(
        "import sys\n\n\ndef test_light(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.has_plugin('treadle.testing.plugin')\n"
        "    ours = ('treadle', 'apsw', 'lark')\n"
        "    loaded = sorted(name for name in sys.modules if name.split('.')[0] in ours)\n"
        "    parts = ('', '.errors', '.version', '.testing', '.testing.plugin')\n"
        "    light = {'treadle' + part for part in parts}\n"
        "    assert set(loaded) <= light\n"
    )
    assert "1 passed" in run_pytest(tmp_path, "-p", "treadle.testing.plugin"), "and named it is the same one"
