"""`treadle why`: for a person and for a program."""

from __future__ import annotations

import pytest

import treadle
from tests.support.graphs import ENFORCED, insert
from tests.support.serving import serving
from tests.support.workflows import Release
from tests.unit.cli.conftest import ANN, JOB, SHOP, Call, claim


def test_a_held_job(job: Call) -> None:
    job(*claim())
    done = job("why", "Job", SHOP, JOB)
    assert done.code == 0 and done.err == ""
    lines = done.out.splitlines()
    assert lines[0].startswith("Job is Waiting, at revision 2; the store's time is 20")
    assert lines[1].startswith("  lease printing: held by printer-service, ")
    assert lines[1].endswith("owner •••, token •••")
    assert lines[2].startswith("  held: somebody holds its lease")
    assert any(line.split()[:2] == ["Claim", "Taken"] for line in lines)
    assert any("Claim → Claimed  printer-service" in line and "revision 2" in line for line in lines)
    assert f"owner {ANN}, token 1" in job("why", "Job", SHOP, JOB, "--reveal").out


def test_as_a_principal_in_a_role(job: Call) -> None:
    job(*claim())
    mine = job("why", "Job", SHOP, JOB, "--as", "printer-service", "--role", "worker", "--json").json
    assert mine["lease"]["holder"] == "you" and mine["lease"]["owner"] == "•••"
    assert [one["command"] for one in mine["commands"]] == ["Claim", "Renew", "Release", "Expire", "Finish"]
    others = job("why", "Job", SHOP, JOB, "--as", "desk", "--role", "desk", "--reveal")
    assert "held by •••" in others.out and ANN not in others.out


def test_no_such_row(project: Call) -> None:
    done = project("why", "Job", SHOP, JOB)
    assert done.code == 1 and "there is no such Job" in done.out and "absent: " in done.out
    assert project("why", "Job", SHOP, JOB, "--json").json["exists"] is False


def test_a_wrong_key_says_what_it_is(project: Call) -> None:
    done = project("why", "Job", SHOP)
    assert done.code == 4 and "the key of Job is SHOP_ID JOB_ID; 1 value was given" in done.err


def test_a_signed_run(call: Call) -> None:
    release = Release()
    with treadle.open("treadle.db", graph=ENFORCED) as db:
        db.graph.update(insert(release.setup()), principal="tests")
    done = call("why", "--run", release.run.value)
    assert done.code == 0, done
    assert done.out.splitlines() == [
        f"{release.run.value} is Draft, at revision 0",
        "  may take  submit: Draft → Review",
        f"  may sign  {release.agent_name}",
    ]
    assert call("why", "--run", release.run.value, "--json").json["legal"][0]["name"] == "submit"
    assert call("why", "--run", "urn:none").code == 4


def test_on_a_server(job: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    job(*claim())
    with treadle.open("shop.db") as db, serving(db) as url:
        monkeypatch.setenv("TREADLE_TOKEN", db.tokens.create("printer-service", role="worker").text)
        mine = job("why", "Job", SHOP, JOB, "--json", "--url", url)
        assert mine.code == 0 and mine.json["key"] == [SHOP, JOB]
        assert mine.json["lease"]["holder"] == "you" and mine.json["lease"]["owner"] == "•••"
        assert "held by you" in job("why", "Job", SHOP, JOB, "--reveal", "--url", url).out
        assert job("why", "Job", SHOP, ANN, "--url", url).code == 1, "no such row"
        assert job("why", "--run", "urn:run", "--url", url).code == 4, "no such permission"
        refused = job("why", "Job", SHOP, JOB, "--url", url, "--as", "desk")
        assert refused.code == 2 and "--as does not go with --url" in refused.err


def test_a_row_or_a_run(project: Call) -> None:
    for words in ((), ("Job", SHOP, JOB, "--run", "urn:r")):
        done = project("why", *words)
        assert done.code == 2 and "name a row by words" in done.err
