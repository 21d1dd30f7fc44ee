"""`treadle deploy`: contract and roles into force, or the reasons why not."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.unit.cli.conftest import JOB, SHOP, Call

WORKER = '\n[[roles]]\nname = "auditor"\ncommands = []\n'


def edit(old: str, new: str, file: str = "shop.riff") -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


def test_the_database_is_created_and_the_roles_are_written(call: Call, project: Call) -> None:
    assert os.path.exists("shop.db")
    roles = [entry for entry in call("log", "--json").lines if entry["kind"] == "roles"]
    assert [one["name"] for one in json.loads(roles[0]["body"]["roles"])] == ["desk", "worker"]
    denied = call(
        "run",
        "AddJob",
        f"shop_id={SHOP}",
        f"job_id={JOB}",
        "title=x",
        "--as",
        "a",
        "--role",
        "worker",
        "--key",
        "1",
    )
    assert denied.code == 4 and "error denied: role worker does not allow command AddJob" in denied.err


def test_what_is_active_already_changes_nothing(project: Call) -> None:
    head = project("log", "--head").out
    done = project("deploy")
    assert (
        done.code == 0 and done.out == "Shop version 1 was active already in shop.db; roles: desk, worker\n"
    )
    assert project("log", "--head").out == head


def test_roles_alone_may_change(project: Call) -> None:
    Path("treadle.toml").write_text(Path("treadle.toml").read_text() + WORKER)
    assert project("deploy", "--json").json["roles"] == ["desk", "worker", "auditor"]
    assert project("log", "--json").lines[-1]["kind"] == "roles"


def test_a_successor(project: Call) -> None:
    edit("version 1", "version 2")
    edit("field name: string<80>", "field name: string<80> field note: optional<string<80>>")
    done = project("deploy", "--json")
    assert done.code == 0
    assert (done.json["version"], done.json["before"], done.json["contract"]) == (2, 1, "Shop")
    assert project("deploy").out.startswith("Shop version 2 was active already")
    shown = project("row", "Shop", SHOP, "--json").json
    assert shown["fields"]["note"] is None and shown["fields"]["name"] == "Corner"


def test_what_cannot_follow_is_refused_with_the_reasons(job: Call) -> None:
    edit("version 1", "version 2")
    edit("title: string<120>", "title: string<60>")
    done = job("deploy")
    assert done.code == 4 and "error contract_incompatible" in done.err and "title" in done.err
    assert f"Job({SHOP}, {JOB})" in done.err.replace("\n", "")
    assert job("log", "--json").lines[-1]["kind"] == "command"


def test_a_lost_race_is_refused(project: Call) -> None:
    edit("version 1", "version 2")
    done = project("deploy", "--expected-version", "7")
    assert done.code == 4 and "error version_conflict: version 1 is active, not 7" in done.err


def test_a_bad_contract_is_shown_as_check_shows_it(project: Call) -> None:
    edit("set job.token = 0", "")
    done = project("deploy")
    assert done.code == 4 and done.out == ""
    assert "error C012" in done.err and "--> shop.riff:" in done.err
    assert done.err.endswith("error contract_refused: the contract has an error; nothing was deployed\n")
    answer = project("deploy", "--json")
    assert answer.json["error"]["diagnostics"][0]["code"] == "C012" and answer.err == ""


def test_from_standard_input(call: Call, project: Call) -> None:
    text = Path("shop.riff").read_bytes()
    done = call("deploy", "-", "-d", "other.db", stdin=b"\xef\xbb\xbf" + text)
    assert done.code == 0 and "in other.db" in done.out
    assert call("deploy", "-", stdin=b"\xff").err.startswith("error malformed: standard input is not UTF-8")


def test_a_role_needs_the_admin_permission(project: Call) -> None:
    Path("treadle.toml").write_text(Path("treadle.toml").read_text() + WORKER)
    done = project("deploy", "--role", "worker", "--as", "someone")
    assert done.code == 4 and "admin permission" in done.err
