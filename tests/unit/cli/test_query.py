"""`treadle query`: a page, all pages, and what is refused."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.unit.cli.conftest import ANN, JOB, SHOP, Call, claim

ASK = ("query", "WaitingJobs", f"shop_id={SHOP}")


@pytest.fixture
def many(job: Call) -> Call:
    """150 jobs more, so that a page of 100 does not hold them."""
    lines = "".join(
        f'{{"shop_id": "{SHOP}", "job_id": "{UUID(int=number)}", "title": "Flyer {number}"}}\n'
        for number in range(150)
    )
    added = job("run", "AddJob", "--lines", "--as", "desk", "--key", "auto", stdin=lines.encode())
    assert added.code == 0, added
    return job


def test_a_page_for_a_person(job: Call) -> None:
    done = job(*ASK)
    assert done.code == 0 and done.err == ""
    assert done.out.splitlines() == [
        "Found  as of commit 5",
        "jobs: 1 row",
        f"{'shop_id':36}  {'job_id':36}  title  held_until  revision",
        f"{SHOP}  {JOB}  Menu   null        1",
    ]


def test_an_empty_page(project: Call) -> None:
    assert project(*ASK) == (0, "Found  as of commit 4\njobs: 0 rows\n", "")


def test_a_page_as_json_is_what_http_answers(job: Call) -> None:
    job(*claim())
    page = job(*ASK, "--json").json
    assert set(page) == {"outcome", "fields", "next", "commit", "after_commit", "history"}
    assert (page["outcome"], page["next"], page["commit"]) == ("Found", None, 6)
    assert page["fields"]["jobs"][0]["revision"] == 2 and ANN not in str(page)


def test_pages_one_after_another(many: Call) -> None:
    first = many(*ASK, "--json").json
    assert len(first["fields"]["jobs"]) == 100
    second = many(*ASK, "--after", first["next"], "--json").json
    assert len(second["fields"]["jobs"]) == 51 and second["next"] is None
    assert f"more: --after {first['next'][:8]}" in many(*ASK).out


def test_all_pages(many: Call) -> None:
    pages = many(*ASK, "--all", "--json").lines
    assert [len(page["fields"]["jobs"]) for page in pages] == [100, 51]
    text = many(*ASK, "--all").out
    assert text.count("Flyer") == 150 and "more:" not in text


def test_a_commit_to_be_seen_is_waited_for(job: Call) -> None:
    assert job(*ASK, "--at-least", "5").code == 0
    late = job(*ASK, "--at-least", "99", "--timeout", "0.05")
    assert late.code == 1 and "commit 99 is not here yet, the last one is 5" in late.err


@pytest.mark.parametrize(
    "words, message",
    [
        (
            ("query", "WaitingJob", f"shop_id={SHOP}"),
            "no query WaitingJob is deployed; the nearest is WaitingJobs",
        ),
        (("query", "WaitingJobs", f"shop={SHOP}"), "has no parameter shop; the nearest is shop_id"),
        (("query", "WaitingJobs", "shop_id=7"), "shop_id: expects uuid"),
        (("query", "WaitingJobs"), "shop_id"),
        ((*ASK, "--after", "nonsense"), "cursor"),
        ((*ASK, "--as", "x", "--role", "nobody"), "the database has no role nobody"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], message: str, project: Call) -> None:
    done = project(*words)
    assert done.code == 4 and message in done.err


def test_what_is_no_parameter_at_all(project: Call) -> None:
    done = project(*ASK, "shop_id")
    assert done.code == 2 and "'shop_id' is no parameter: write name=value" in done.err
