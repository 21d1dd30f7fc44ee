"""`treadle row`: one row by its key, lease evidence masked."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import ANN, JOB, SHOP, Call, claim


def test_a_row_with_its_revision(job: Call) -> None:
    job(*claim())
    done = job("row", "Job", SHOP, JOB)
    assert done.code == 0 and done.out.startswith("Job at revision 2, commit 6\n")
    assert "  title       Menu\n" in done.out and "  token       •••\n" in done.out and ANN not in done.out


def test_reveal_shows_lease_evidence(job: Call) -> None:
    job(*claim())
    fields = job("row", "Job", SHOP, JOB, "--reveal", "--json").json["fields"]
    assert (fields["printer_id"], fields["token"]) == (ANN, 1)
    masked = job("row", "Job", SHOP, JOB, "--json").json["fields"]
    assert (masked["printer_id"], masked["token"], masked["title"]) == ("•••", "•••", "Menu")


def test_no_such_row(project: Call) -> None:
    assert project("row", "Job", SHOP, JOB) == (1, "there is no such Job\n", "")
    assert project("row", "Job", SHOP, JOB, "--json") == (1, "null\n", "")


@pytest.mark.parametrize(
    "words, message",
    [
        (("Jobs", SHOP, JOB), "no entity Jobs in contract Shop; the nearest is Job"),
        (("Job", SHOP), "the key of Job is SHOP_ID JOB_ID; 1 value was given"),
        (("Job", SHOP, "x"), "key.job_id: expects uuid"),
    ],
)
def test_a_wrong_key_says_what_it_is(words: tuple[str, ...], message: str, project: Call) -> None:
    done = project("row", *words)
    assert done.code == 4 and message in done.err
