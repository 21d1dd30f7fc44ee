"""`treadle why`: for a person and for a program."""

from __future__ import annotations

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
    assert done.code == 4 and "the key of Job is SHOP_ID JOB_ID; 1 values were given" in done.err
