"""`treadle log`: what happened, filtered, masked, and the head to keep elsewhere."""

from __future__ import annotations

import re

import pytest

from tests.unit.cli.conftest import ANN, JOB, SHOP, Call, claim


@pytest.fixture
def story(job: Call) -> Call:
    """A project in which a job was claimed, and a second claim came too late."""
    job(*claim(), "--role", "worker")
    job(*claim())
    return job


def test_one_line_a_record(story: Call) -> None:
    lines = story("log").out.splitlines()
    assert len(lines) == 7
    stamp = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    assert re.fullmatch(rf"     1  {stamp}  deploy Shop version 1  owner", lines[0])
    assert re.fullmatch(rf"     5  {stamp}  AddJob → Added  desk  job at revision 1", lines[4])
    assert re.fullmatch(
        rf"     6  {stamp}  Claim → Claimed  printer-service \(worker\)  job at revision 2", lines[5]
    )
    assert re.fullmatch(rf"     7  {stamp}  Claim → Stale  printer-service", lines[6])


def test_json_lines(story: Call) -> None:
    entries = story("log", "--json").lines
    assert [entry["number"] for entry in entries] == [1, 2, 3, 4, 5, 6, 7]
    assert entries[5]["revisions"] == [{"binding": "job", "revision": 2}]
    assert entries[5]["input"]["printer_id"] == "•••" and entries[5]["input"]["seconds"] == 60


def test_of_one_row_newest_first(story: Call) -> None:
    found = story("log", "--of", "Job", SHOP, JOB, "--json").lines
    assert [entry["name"] for entry in found] == ["Claim", "AddJob"]


@pytest.mark.parametrize(
    "words, numbers",
    [
        (("--command", "Claim"), [6, 7]),
        (("--command", "Claim", "--outcome", "Stale"), [7]),
        (("--command", "AddJob", "--command", "OpenShop"), [4, 5]),
        (("--by", "owner"), [1, 2, 3]),
        (("--kind", "deploy"), [1]),
        (("--kind", "command", "--command", "Claim"), [6, 7]),
        (("--about", "urn:x"), []),
        (("--from", "3", "--to", "4"), [3, 4]),
        (("-n", "2"), [1, 2]),
        (("--from", "8"), []),
        (("--outcome", "Nothing"), []),
    ],
)
def test_filters(words: tuple[str, ...], numbers: list[int], story: Call) -> None:
    assert [entry["number"] for entry in story("log", "--json", *words).lines] == numbers


def test_lease_evidence_is_masked_unless_revealed(story: Call) -> None:
    assert ANN not in story("log", "-l").out + story("log", "--json").out
    assert ANN in story("log", "-l", "--reveal").out and ANN in story("log", "--json", "--reveal").out


def test_the_head(story: Call) -> None:
    head = story("log", "--head").out
    assert re.fullmatch(r"7:[0-9a-f]{64}\n", head)
    assert story("log", "--head", "--json").json == {"number": 7, "hash": head.strip()[2:]}
    assert story("log", "--json").lines[-1]["hash"] == head.strip()[2:]


@pytest.mark.parametrize("words", [("--of", "Job"), ("x",), ("--of", "Jobs", "1")])
def test_a_row_is_named_by_words(words: tuple[str, ...], story: Call) -> None:
    assert story("log", *words).code in (2, 4)


def test_names_that_find_nothing_are_doubted(story: Call) -> None:
    done = story("log", "--command", "Clam", "--outcome", "Claimd")
    assert (done.code, done.out) == (0, "")
    assert "no command Clam" in done.err and "Claim" in done.err
    assert "answers Claimd" in done.err and "Claimed" in done.err
    assert story("log", "--command", "Finish").err == "", "it is one, and has not run"
