"""`treadle worker`: workers and schedules of a module, run until there is nothing to do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import treadle
from tests.support.jobs import QUERIES, SHOP, SOURCE
from tests.support.serving import serving
from tests.unit.cli.conftest import Call
from treadle.access.roles import Role

MODULE = """
import datetime
import treadle

@treadle.worker(query="OpenJobs", parameters={"shop": "Ulm"}, claim="Claim", finish="Finish")
def work(job, turn):
    return {"result": f"job {job['number']}"}

@treadle.worker(query="OpenJobs", parameters={"shop": "Ulm"}, claim="Claim", finish="Nothing")
def wrong(job, turn):
    pass

nightly = treadle.Schedule(
    "nightly", command="Nightly", cron="@hourly", start=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    input=lambda due: {"shop": "Bonn", "number": 1},
)
something = 7
"""


@pytest.fixture
def shop(call: Call, tmp_path: Path) -> Iterator[Call]:
    """`call` in a project with two jobs and a module of workers."""
    (tmp_path / "treadle.toml").write_text(
        '[database]\nurl = "sqlite:///jobs.db"\n[contract]\nsource = "jobs.riff"\nqueries = ["jobs.riffq"]\n'
    )
    (tmp_path / "jobs.riff").write_text(SOURCE)
    (tmp_path / "jobs.riffq").write_text(QUERIES)
    name = f"workers_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "empty_of_workers.py").write_text("x = 1\n")
    assert call("deploy").code == 0
    for number in (1, 2):
        words = (f"shop={SHOP}", f"number={number}", "title=x", "priority=0", "due_at=2026-01-01T00:00:00Z")
        assert call("run", "Queue", *words, "--as", "desk", "--key", f"q{number}").code == 0

    def run(*words: str) -> object:
        return call(*(word.replace("app", name, 1) for word in words))

    before = list(sys.path)
    yield run  # type: ignore[misc]
    sys.path[:] = before


def test_a_worker_until_it_is_idle(shop: Call) -> None:
    done = shop("worker", "app:work", "--as", "job-service", "--until-idle", "--json")
    assert done.code == 0, done.err
    assert done.json["worker"] == "work" and done.json["finished"] == 2
    assert "work runs" in done.err
    shown = shop("row", "Job", SHOP, "2", "--json").json["fields"]
    assert (shown["state"], shown["result"]) == ("Done", "job 2")
    entries = [line for line in shop("log", "--json").lines if line["name"] == "Finish"]
    assert {line["principal"] for line in entries} == {"job-service"}
    assert all("/" in line["instance"] for line in entries), "host and process"


def test_several_at_once(shop: Call) -> None:
    done = shop(
        "worker", "app:work", "app:nightly", "app:work", "--as", "job-service", "--until-idle", "--json"
    )
    assert [line["worker"] for line in done.lines] == ["work", "nightly"]
    assert done.lines[1]["fired"] == 1


def test_looking_whether_they_fit(shop: Call) -> None:
    good = shop("worker", "app:work", "--as", "job-service", "--check")
    assert (good.code, good.err) == (0, "work fits\n")
    bad = shop("worker", "app", "--as", "job-service", "--check")
    assert bad.code == 2 and "Nothing" in bad.err


def test_on_a_server(shop: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    role = Role("worker", commands=("Claim", "Finish", "Release", "Renew", "Nightly"), queries=("OpenJobs",))
    with treadle.open("jobs.db") as database, serving(database) as url:
        database.deploy(SOURCE, queries=QUERIES, roles=[role])
        token = database.tokens.create("job-service", role="worker").text
        words = ("worker", "app:work", "app:nightly", "--url", url)
        none = shop(*words, "--check")
        assert none.code == 4 and "set TREADLE_TOKEN, or TREADLE_TOKEN_FILE" in none.err
        monkeypatch.setenv("TREADLE_TOKEN", token)
        assert shop(*words, "--check").err == "work fits\nnightly fits\n"
        monkeypatch.delenv("TREADLE_TOKEN")
        file = tmp_path / "token"
        monkeypatch.setenv("TREADLE_TOKEN_FILE", str(file))
        missing = shop(*words, "--check")
        assert missing.code == 2 and "TREADLE_TOKEN_FILE" in missing.err
        file.write_text("\n")
        assert "is empty" in shop(*words, "--check").err
        file.write_text(f"{token}\n")
        done = shop(*words, "--until-idle", "--json", "--instance", "far/1")
        assert [line["worker"] for line in done.lines] == ["work", "nightly"], done
        assert (done.lines[0]["finished"], done.lines[1]["fired"]) == (2, 1)
        assert token not in done.err
        finished = [entry for entry in database.log() if entry.name in ("Finish", "Nightly")]
        assert {(one.principal, str(one.instance)[:5]) for one in finished} == {("job-service", "far/1")}
        for option in ("--as", "--role", "--tenant", "--database-url"):
            refused = shop(*words, option, "x")
            assert refused.code == 2 and f"{option} does not go with --url" in refused.err


@pytest.mark.parametrize(
    "words, text",
    [
        (("app:work",), "--as"),
        (("app:wrok", "--as", "x"), "did you mean work|work"),
        (("app:something", "--as", "x"), "has no worker something"),
        (("no_such_module:work", "--as", "x"), "no module 'no_such_module'"),
        (("empty_of_workers", "--as", "x"), "treadle.worker"),
        ((":work", "--as", "x"), "MODULE:NAME"),
    ],
)
def test_what_is_refused(shop: Call, words: tuple[str, ...], text: str) -> None:
    import re

    done = shop("worker", *words, "--until-idle")
    assert done.code == 2 and re.search(text, done.err), done


def test_without_the_packages_of_a_client_it_says_which_to_install(
    shop: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(part: str) -> None:
        raise ModuleNotFoundError(f"no module for {part}", name="httpx2")

    monkeypatch.setattr("treadle.cli.session.load", missing)
    refused = shop("worker", "app:work", "--url", "http://127.0.0.1:9")
    assert refused.code == 2 and "httpx2 is missing): pip install 'treadle[client]'" in refused.err
