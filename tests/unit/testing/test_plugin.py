"""The pytest plugin: its fixtures in a project of their own; where it is not used, it costs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from treadle import scaffold

TESTS = """
from datetime import timedelta

import pytest

import treadle
from treadle.testing import answer_lost, assert_outcome

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


def run_pytest(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=folder, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    scaffold.create(tmp_path / "shop")
    return tmp_path / "shop"


def test_fixtures_of_a_project(shop: Path) -> None:
    (shop / "tests").mkdir()
    (shop / "tests/test_kit.py").write_text(TESTS)
    assert "4 passed" in run_pytest(shop, "tests")


def test_another_configuration(shop: Path) -> None:
    (shop / "other").mkdir()
    (shop / "other/test_kit.py").write_text(
        "def test_nothing(treadle_db):\n    assert treadle_db.version == 0\n"
    )
    (shop / "empty.toml").write_text("")
    (shop / "pytest.ini").write_text("[pytest]\ntreadle_config = empty.toml\n")
    assert "1 passed" in run_pytest(shop, "other")


def test_it_is_found_by_itself_and_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_light.py").write_text(
        "import sys\n\n\ndef test_light(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.has_plugin('treadle.testing.plugin')\n"
        "    ours = ('treadle', 'apsw', 'lark')\n"
        "    loaded = sorted(name for name in sys.modules if name.split('.')[0] in ours)\n"
        "    parts = ('', '.errors', '.version', '.testing', '.testing.plugin')\n"
        "    light = {'treadle' + part for part in parts}\n"
        "    assert set(loaded) <= light\n"
    )
    assert "1 passed" in run_pytest(tmp_path)
    assert "1 passed" in run_pytest(tmp_path, "-p", "treadle.testing.plugin")
