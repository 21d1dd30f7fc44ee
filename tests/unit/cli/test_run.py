"""`treadle run`: one command, its receipt and its exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import ANN, JOB, SHOP, Call, claim


def test_a_success_shows_the_receipt(job: Call) -> None:
    done = job(*claim())
    assert done.code == 0
    assert re.fullmatch(r"key [\w-]{22}\n", done.err)
    assert re.match(r"Claimed  commit 6, \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z\n", done.out)
    assert f"  job.printer_id  {ANN}\n" in done.out
    assert done.out.endswith("  job is now at revision 2\n")


def test_another_declared_outcome_has_its_own_exit_code(job: Call) -> None:
    done = job(*claim(revision=9))
    assert done.code == 3 and done.out.startswith("Stale  commit 6")


def test_the_same_key_replays(job: Call) -> None:
    first, again = (job(*claim(key="attempt-1"), "--json") for _ in range(2))
    assert (first.code, again.code) == (0, 0)
    assert (first.json["replayed"], again.json["replayed"]) == (False, True)
    assert first.json | {"replayed": True} == again.json
    assert "stored by an earlier call" in job(*claim(key="attempt-1")).out
    reused = job(*claim(key="attempt-1", revision=2))
    assert reused.code == 4 and "error idempotency_key_reused" in reused.err


def test_json_is_the_wire_form_and_names_a_fresh_key(job: Call) -> None:
    done = job(*claim(), "--json")
    assert done.err == ""
    assert set(done.json) == {
        "outcome", "fields", "workflow_revisions", "commit", "time", "history", "replayed", "key"
    }  # fmt: skip
    assert done.json["fields"]["job"]["token"] == 1
    assert done.json["workflow_revisions"] == [{"binding": "job", "revision": 2}]
    again = job(*claim(key=done.json["key"]), "--json")
    assert again.json["replayed"] and again.json["commit"] == done.json["commit"]


def test_input_from_a_file_with_words_over_it(job: Call) -> None:
    given = {"shop_id": SHOP, "job_id": JOB, "printer_id": ANN, "seconds": 60, "expected_revision": 7}
    Path("claim.json").write_text(json.dumps(given))
    done = job("run", "Claim", "--input", "@claim.json", "expected_revision=1", "--as", "me", "--key", "1")
    assert done.code == 0, done.err


def test_input_from_standard_input(job: Call) -> None:
    given = {
        "shop_id": SHOP,
        "job_id": JOB,
        "printer_id": ANN,
        "seconds": "60",
        "expected_revision": 1,
        "key": "k",
    }
    assert job("run", "Claim", "--input", "-", "--as", "me", stdin=json.dumps(given).encode()).code == 0


def test_json_words(job: Call) -> None:
    words = [word.replace("=", ":=") if word.startswith("seconds") else word for word in claim()]
    assert "seconds:=60" in words and job(*words).code == 0


TEXTS = ["a=b:=c", "  spaced  ", "line\nbreak", "null", "true", "@file", "日本", "", "-", "{}"]


@pytest.mark.parametrize("title", TEXTS)
def test_text_is_taken_as_it_stands(title: str, project: Call) -> None:
    done = project(
        "run",
        "AddJob",
        f"shop_id={SHOP}",
        f"job_id={JOB}",
        f"title={title}",
        "--as",
        "me",
        "--key",
        "1",
        "--json",
    )
    assert done.json["fields"]["job"]["title"] == title


def test_text_of_the_database_cannot_move_the_cursor(project: Call) -> None:
    done = project(
        "run",
        "AddJob",
        f"shop_id={SHOP}",
        f"job_id={JOB}",
        "title=\x1b[2J\r\u202ex",
        "--as",
        "me",
        "--key",
        "1",
    )
    assert "title       \\x1b[2J\\r\\u202ex\n" in done.out
    for words in (("row", "Job", SHOP, JOB), ("log", "-l")):
        shown = project(*words).out
        assert "\x1b" not in shown and "\r" not in shown and "\\x1b[2J" in shown


@pytest.mark.parametrize(
    "words, code, message",
    [
        (("run", "Claim"), 2, "say who acts: --as printer-service"),
        (("run", "Claim", "--as", ""), 4, "name the service that acts"),
        (("run", "--as", "me"), 2, "name a command, or use --lines"),
        (("run", "Clam", "--as", "me"), 4, "no command Clam in contract Shop; the nearest is Claim"),
        (("run", "Claim", "--as", "me"), 2, "Claim needs an idempotency key: add --key auto for a fresh one"),
        (("run", "Claim", "--as", "me", "key=1", "--key", "2"), 2, "given twice, as key and as --key"),
        (("run", "Claim", "--as", "me", "--key", "1"), 4, "input.shop_id: is missing"),
        (("run", "Claim", "--as", "me", "secnds=1"), 4, "no input secnds; the nearest is seconds"),
        (("run", "Claim", "--as", "me", "seconds"), 2, "'seconds' is no input: write name=value"),
        (("run", "Claim", "--as", "me", "seconds=1", "seconds=2"), 2, "seconds is given twice"),
        (("run", "Claim", "--as", "me", "seconds:=[1"), 4, "error malformed: seconds: not JSON"),
        (("run", "Claim", "--as", "me", "--input", "x"), 2, "--input x: write @FILE, or -"),
        (("run", "Claim", "--as", "me", "--input", "-"), 4, "error malformed: -: not JSON"),
        (("run", *claim()[1:-1], ""), 4, "the idempotency key is empty"),
        ((*claim(), "--role", "wrker"), 4, "the database has no role wrker; the nearest is worker"),
        ((*claim(), "--role", "desk"), 4, "role desk does not allow command Claim"),
        ((*claim(), "--timeout", "-1"), 2, "--timeout"),
    ],
)  # fmt: skip
def test_what_cannot_run_says_why(words: tuple[str, ...], code: int, message: str, job: Call) -> None:
    head = job("log", "--head").out
    done = job(*words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err and "Traceback" not in done.err
    assert job("log", "--head").out == head, "nothing was recorded"


def test_an_array_is_no_input(job: Call) -> None:
    done = job("run", "Claim", "--as", "me", "--input", "-", stdin=b"[]")
    assert done.code == 4 and "expects a JSON object that maps input names to values" in done.err


def test_values_of_a_wrong_type_name_their_input(job: Call) -> None:
    for word in (
        "seconds=-1",
        "seconds=x",
        "seconds=1.5",
        "shop_id=x",
        "expected_revision=18446744073709551616",
    ):
        name = word.partition("=")[0]
        words = [one for one in claim() if not one.startswith(name + "=")]
        done = job(*words, word)
        assert done.code == 4 and f"error invalid_input: input.{name}" in done.err, word


def test_instance_is_recorded(job: Call) -> None:
    job(*claim(), "--instance", "host-7/4242")
    assert job("log", "--json").lines[-1]["instance"] == "host-7/4242"


KEYS = """contract Keys version 1 {
  entity Mark {
    key (mark_id: uuid)
    field on: bool
    field tags: list<string<9>, 0..3>
    field at: optional<date>
  }
  aggregate Marks { root Mark partition_by mark_id conflict_key (mark_id) }
  command Make {
    input request: uuid
    input mark_id: uuid
    input on: bool
    input tags: list<string<9>, 0..3>
    input at: optional<date>
    idempotency_key request
    create Mark(mark_id) as mark else Exists {}
    set mark.on = on
    set mark.tags = tags
    set mark.at = at
    return Made { mark: mark }
  }
  command Look {
    input mark_id: uuid
    read Mark(mark_id) as mark else Missing {}
    return Seen { mark: mark }
  }
}
"""


def test_values_of_every_form_and_a_key_that_is_a_uuid(call: Call) -> None:
    assert call("deploy", "-", stdin=KEYS.encode()).code == 0
    words = (f"mark_id={JOB}", "on=true", 'tags:=["a", "b"]', "at=null")
    done = call("run", "Make", *words, "--as", "me", "--key", "auto", "--json")
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", done.json["key"]
    )
    assert done.json["fields"]["mark"] == {"mark_id": JOB, "on": True, "tags": ["a", "b"], "at": None}
    assert 'mark.tags     ["a", "b"]' in call("run", "Look", f"mark_id={JOB}", "--as", "me").out
    for word in ("on=1", "on=True", "tags=a"):
        assert call("run", "Make", word, "--as", "me", "--key", "auto").code == 4
    keyed = call("run", "Look", f"mark_id={JOB}", "--as", "me", "--key", "auto")
    assert keyed.code == 2 and "Look has no idempotency key; leave --key out" in keyed.err


def test_names_for_the_shell(job: Call) -> None:
    from treadle.cli import session

    assert "Claim" in session.names("commands") and session.names("entities") == ["Shop", "Job"]
    Path("shop.db").unlink()
    assert session.names("commands") == []
