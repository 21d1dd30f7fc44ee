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


def test_a_refused_contract_leaves_no_database_behind(project: Call) -> None:
    Path("lamp.riff").write_text("contract Lamp version 1 { oops }")
    done = project("deploy", "lamp.riff", "--database-url", "lamp.db")
    assert done.code == 4 and "the contract has an error; nothing was deployed" in done.err
    assert not list(Path().glob("lamp.db*"))


def test_what_is_active_already_changes_nothing(project: Call) -> None:
    head = project("log", "--head").out
    done = project("deploy")
    assert (
        done.code == 0
        and done.out
        == "Shop version 1 was active already in shop.db; queries: WaitingJobs; roles: desk, worker\n"
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


# Successors.

PRIORITY = "migrate 1 to 2 {\n  field Job.priority = 3\n  index Job.by_priority\n}\n"


def prioritised() -> None:
    edit("version 1", "version 2")
    edit("field title: string<120>", "field priority: u64 index by_priority (shop_id, priority)\n    TITLE")
    edit("TITLE", "field title: string<120>")
    edit("set job.title = title", "set job.title = title set job.priority = 1")


def test_a_dry_run_lists_what_changes_and_drafts_a_migration(job: Call) -> None:
    head = job("log", "--head").out
    assert job("deploy", "--dry-run").out == "version 1 is active already; nothing would change\n"
    prioritised()
    done = job("deploy", "--dry-run")
    assert done.code == 0 and done.out.startswith("from version 1 to version 2\n")
    assert "  migration   Job.priority: a required field is added; make it optional<u64>" in done.out
    assert "  compatible  command AddJob: what it does changes" in done.out
    assert done.out.endswith("migrate 1 to 2 {\n  field Job.priority = …\n  index Job.by_priority\n}\n")
    shown = job("deploy", "--dry-run", "--json").json
    assert shown["possible"] and shown["migration"].startswith("migrate 1 to 2 {")
    assert {"compatible", "migration"} == {one["class"] for one in shown["changes"]}
    assert job("log", "--head").out == head


def test_a_dry_run_names_what_stands_in_the_way(job: Call) -> None:
    edit("version 1", "version 2")
    edit("title: string<120>", "title: string<60>")
    done = job("deploy", "--dry-run")
    assert done.code == 4 and f"(used by Job({SHOP}, {JOB}))" in done.out
    assert job("deploy", "--dry-run", "--json").json["possible"] is False


def test_a_migration_brings_the_rows_along(job: Call) -> None:
    prioritised()
    refused = job("deploy")
    assert refused.code == 4 and "`treadle deploy --dry-run` prints one to complete" in refused.err
    Path("v2.migration").write_text(PRIORITY)
    done = job("deploy", "--migration", "v2.migration", "--json")
    assert done.code == 0 and (done.json["version"], done.json["before"]) == (2, 1)
    assert job("row", "Job", SHOP, JOB, "--json").json["fields"]["priority"] == 3
    assert job("verify").code == 0


def test_a_bad_migration_is_shown_as_a_contract_is(job: Call) -> None:
    prioritised()
    Path("v2.migration").write_text(PRIORITY.replace("= 3", "= true"))
    done = job("deploy", "--migration", "v2.migration")
    assert done.code == 4 and "error C006" in done.err and "--> v2.migration:2:" in done.err
    assert done.err.endswith("error contract_refused: the migration has an error; nothing was deployed\n")
    missing = job("deploy", "--migration", "nowhere.migration")
    assert missing.code != 0 and "nowhere.migration" in missing.err


def test_a_migration_is_given_up(job: Call) -> None:
    assert job("deploy", "--abandon").out == "no migration is under way\n"
    prioritised()
    edit("index by_priority", "invariant Urgent: priority > 5 index by_priority")
    Path("v2.migration").write_text(PRIORITY.replace("}", "  invariant Job.Urgent\n}"))
    done = job("deploy", "--migration", "v2.migration")
    assert done.code == 4 and f"Job({SHOP}, {JOB}): invariant Urgent does not hold" in done.err
    edit("= 3", "= 9", "v2.migration")
    assert "a migration to version 2 is under way" in job("deploy", "--migration", "v2.migration").err
    assert job("deploy", "--abandon").out == "the migration to version 2 is given up; rows are as they were\n"
    assert job("deploy", "--abandon", "--json").json == {"abandoned": None}
    assert job("verify").code == 0


def test_named_queries_are_deployed_with_the_contract(project: Call) -> None:
    assert project("deploy", "--json").json["queries"] == ["WaitingJobs"]
    edit("WaitingJobs", "Waiting", "queries/jobs.riffq")
    edit('queries = ["WaitingJobs"]', 'queries = ["Waiting"]', "treadle.toml")
    assert project("deploy", "--json").json["queries"] == ["Waiting"]
    assert project("query", "Waiting", f"shop_id={SHOP}").code == 0


def test_a_query_that_cannot_be_compiled_is_shown_and_nothing_is_deployed(project: Call) -> None:
    head = project("log", "--head").out
    edit("held_until revision", "held_til revision", "queries/jobs.riffq")
    done = project("deploy")
    assert done.code == 4 and "--> queries/jobs.riffq:7:" in done.err
    assert "the query text has an error; nothing was deployed" in done.err
    assert project("log", "--head").out == head


def test_patterns_that_find_no_file_would_end_every_query(project: Call) -> None:
    edit("queries/*.riffq", "querys/*.riffq", "treadle.toml")
    done = project("deploy")
    assert done.code == 2 and "contract.queries: no file is called querys/*.riffq" in done.err


def test_without_the_setting_the_deployed_queries_stay(project: Call) -> None:
    edit('queries = ["queries/*.riffq"]\n', "", "treadle.toml")
    assert "queries" not in project("deploy", "--json").json
    assert project("query", "WaitingJobs", f"shop_id={SHOP}").code == 0
