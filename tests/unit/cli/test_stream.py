"""`treadle stream`: what an operator and a consumer do with events from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.streams import SOURCE
from tests.unit.cli.conftest import Call


@pytest.fixture
def post(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`call` where a contract with events is deployed, and three letters were sent."""
    (tmp_path / "treadle.toml").write_text(
        '[database]\nurl = "sqlite:///post.db"\n[contract]\nsource = "post.riff"\n'
    )
    (tmp_path / "post.riff").write_text(SOURCE)
    assert call("deploy").code == 0
    for number in range(3):
        send(call, number)
    return call


def send(call: Call, number: int, town: str = "Ulm") -> None:
    words = (f"town={town}", f"number={number}", f"text=letter-{number}")
    assert call("run", "Send", *words, "--as", "desk", "--key", f"{town}-{number}").code == 0


def pull(post: Call, *words: str) -> list[dict]:
    return post("stream", "pull", "Sent", "mailer", "--as", "mail", *words).lines


def test_a_tail(post: Call) -> None:
    done = post("stream", "tail", "Sent", "--json")
    assert [line["fields"]["number"] for line in done.lines] == [0, 1, 2]
    rest = post("stream", "tail", "Sent", "--json", "--after", done.lines[0]["cursor"])
    assert rest.lines == done.lines[1:]
    send(post, 7, "Bonn")
    text = post("stream", "tail", "Sent", "--partition", "town=Bonn").out
    assert "Sent" in text and "letter-7" in text and "letter-1" not in text
    assert post("stream", "tail", "Sent", "--start", "newest").out == ""


def test_a_consumer(post: Call) -> None:
    first = pull(post, "--limit", "2")
    assert [one["fields"]["number"] for one in first] == [0, 1]
    assert post("stream", "ack", "Sent", "mailer", first[0]["token"], "--as", "mail").out == "done\n"
    nacked = post("stream", "nack", "Sent", "mailer", first[1]["token"], "--as", "mail", "--json")
    assert nacked.json == {"answers": ["done"]}
    assert [one["fields"]["number"] for one in pull(post)] == [1, 2]
    stale = post("stream", "ack", "Sent", "mailer", first[1]["token"], "--as", "mail")
    assert (stale.code, stale.out) == (1, "stale\n")
    nothing = post("stream", "pull", "Sent", "mailer", "--as", "mail")
    assert (nothing.code, nothing.out) == (1, "")


def test_the_list(post: Call) -> None:
    pull(post, "--limit", "1")
    post("stream", "pull", "Sent", "mailer", "--as", "mail", "--partition", "town=Ulm")
    listed = post("stream", "list", "--json").lines
    assert [(one["consumer"], one["partition"], one["open"], one["behind"]) for one in listed] == [
        ("mailer", None, 1, 2),
        ("mailer", ["Ulm"], 3, 0),
    ]
    assert "mailer" in post("stream", "list", "Sent").out
    assert "mailer" not in post("stream", "list", "Noted").out


def fail(post: Call) -> None:
    for _ in range(10):
        for one in pull(post):
            post("stream", "nack", "Sent", "mailer", one["token"], "--as", "mail", "--reason", "no street")


def test_dead_letters(post: Call) -> None:
    fail(post)
    letters = post("stream", "dead", "Sent", "mailer", "--json").lines
    assert [one["reason"] for one in letters] == ["no street"] * 3
    assert "10 times" in post("stream", "dead", "Sent", "mailer", "--limit", "1").out
    ids = [one["id"] for one in letters]
    tried = post("stream", "replay", "Sent", "mailer", "--all", "--dry-run", "--json")
    assert tried.json == {"events": ids}
    assert post("stream", "replay", "Sent", "mailer", ids[0]).out == f"{ids[0]}\n"
    assert post("stream", "drop", "Sent", "mailer", ids[1], "--as", "ann").err == "1 dropped\n"
    assert [one["id"] for one in post("stream", "dead", "Sent", "mailer", "--json").lines] == ids[2:]
    assert [one["fields"]["number"] for one in pull(post)] == [0]
    assert post("stream", "drop", "Sent", "mailer").code == 2
    assert post("stream", "drop", "Sent", "mailer", ids[2], "--all").code == 2


def test_seek_remove_retain_sweep(post: Call) -> None:
    pull(post)
    assert post("stream", "seek", "Sent", "mailer", "oldest", "--dry-run").out == "would go on after 0:0\n"
    assert post("stream", "seek", "Sent", "mailer", "oldest", "--json").json == {
        "after": "0:0",
        "dry_run": False,
    }
    assert len(pull(post)) == 3
    assert post("stream", "retain", "Sent", "1s").code == 0
    held = post("stream", "sweep", "Sent").out
    assert held.startswith("0 events removed from the stream\nthe oldest is kept for mailer (3 open)")
    assert "kept for mailer" in post("stream", "sweep", "Sent", "--json").json["kept"]
    assert post("stream", "seek", "Sent", "mailer", "2").code == 0
    assert [one["fields"]["number"] for one in pull(post)] == [1, 2]
    assert "2 open" in post("stream", "remove", "Sent", "mailer", "--dry-run").out
    refused = post("stream", "remove", "Sent", "mailer")
    assert refused.code == 2 and "this forgets 2 open and 0 dead of mailer: add --yes" in refused.err
    assert "mailer" in post("stream", "list").out
    assert post("stream", "remove", "Sent", "mailer", "--yes", "--json").json == {
        "open": 2,
        "dead": 0,
        "dry_run": False,
    }
    assert post("stream", "list").out.count("mailer") == 0
    assert post("stream", "retain", "Sent", "30d").code == 0
    assert post("stream", "sweep", "Sent").out == "0 events removed from the stream\n"
    assert post("stream", "sweep", "Sent", "--json").json == {"removed": 0}
    assert post("stream", "retain", "Sent", "forever").code == 0
    assert [line["name"] for line in post("log", "--json").lines][-2:] == ["retain", "retain"]


@pytest.mark.parametrize(
    "words, code, text",
    [
        (("pull", "Sent", "mailer"), 2, "--as"),
        (("tail", "Sint"), 4, "Sent"),
        (("tail", "Sent", "--partition", "street=x"), 4, "town"),
        (("tail", "Sent", "--partition", "Ulm"), 4, "town"),
        (("tail", "Sent", "--after", "x"), 4, "cursor"),
        (("tail", "Sent", "--start", "x"), 4, "oldest"),
        (("ack", "Sent", "mailer", "x", "--as", "mail"), 4, "token"),
        (("dead", "Sent", "nobody"), 4, "nobody"),
        (("retain", "Sent", "x"), 2, "30m"),
    ],
)
def test_what_is_refused(post: Call, words: tuple[str, ...], code: int, text: str) -> None:
    done = post("stream", *words)
    assert done.code == code and text in done.err, done
    assert done.out == ""
