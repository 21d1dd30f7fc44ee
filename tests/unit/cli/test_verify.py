"""`treadle verify`: agrees, or names the first record that does not."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from tests.unit.cli.conftest import Call, claim
from tests.unit.cli.terminal import on_a_terminal
from tests.unit.cli.test_lines import ADD, jobs


def test_a_good_history(job: Call) -> None:
    job(*claim())
    head = job("log", "--head").out.strip()
    done = job("verify")
    assert done.code == 0 and done.err == ""
    assert done.out == f"history agrees: 6 records, 3 commands evaluated again, 2 rows\nhead {head}\n"
    report = job("verify", "--json").json
    assert report["ok"] and report["evaluated"] == 3 and report["problems"] == []


def test_a_head_that_was_kept(job: Call) -> None:
    head = job("log", "--head").out.strip()
    job(*claim())
    assert job("verify", "--head", head).code == 0
    assert job("verify", "--head", head.upper()).code == 0
    assert job("verify", "--head", head[:-1] + ("0" if head[-1] != "0" else "1")).code == 1
    assert job("verify", "--head", "99" + head[1:]).code == 1


def test_a_changed_row_is_found(job: Call) -> None:
    database = apsw.Connection(str(Path("shop.db")))
    database.execute("UPDATE \"Job\" SET title = 'Another'")
    database.close()
    done = job("verify")
    assert done.code == 1 and done.out.startswith("history does not agree: ")
    assert "a stored row of Job is not what the log gives (commit 5)" in done.out
    assert not job("verify", "--json").json["ok"]


@pytest.mark.parametrize("head", ["", "1", "x:y", "1:12", "-1:" + "0" * 64])
def test_a_head_that_is_none(head: str, project: Call) -> None:
    assert project("verify", "--head", head).code == 2


def test_progress_is_shown_on_a_terminal_only(project: Call) -> None:
    project(*ADD, stdin=jobs(1_100))
    shown = on_a_terminal(("verify",), Path.cwd(), TERM="xterm")
    assert "verify" in shown and "history agrees" in shown
    assert project("verify").err == ""
