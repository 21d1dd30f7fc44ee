"""`treadle token`: made, shown once, listed, rotated, ended."""

from __future__ import annotations

import json

import pytest

from tests.unit.cli.conftest import Call


def created(call: Call, *words: str) -> dict[str, object]:
    done = call("token", "create", "printers", "--role", "worker", "--json", *words)
    assert done.code == 0, done.err
    found: dict[str, object] = done.json
    return found


def test_a_token_is_alone_on_standard_output(project: Call) -> None:
    done = project("token", "create", "printers", "--role", "worker", "--as", "ann")
    assert done.code == 0 and len(done.out.strip()) == 43 and done.out.count("\n") == 1
    assert "printers in role worker" in done.err and done.out.strip() not in done.err
    entry = json.loads(project("log", "--json").out.splitlines()[-1])
    assert (entry["kind"], entry["name"], entry["principal"]) == ("grant", "create", "ann")
    assert done.out.strip() not in project("log", "--json", "--reveal").out


def test_the_list_never_shows_a_token(project: Call) -> None:
    made = created(project, "--valid", "90d")
    shown = project("token", "list")
    assert shown.code == 0 and str(made["id"]) in shown.out and "until 2" in shown.out
    assert str(made["token"]) not in shown.out + project("token", "list", "--json").out
    assert project("token", "list", "--json").lines[0]["valid"] is True


def test_rotating_and_revoking(project: Call) -> None:
    old = created(project)
    new = project("token", "rotate", str(old["id"]), "--overlap", "1h", "--json").json
    assert new["token"] != old["token"] and new["principal"] == "printers"
    assert project("token", "revoke", str(old["id"])).code == 0
    listed = project("token", "list", "--json").lines
    assert [one["id"] for one in listed] == [new["id"]]
    every = project("token", "list", "--all").out
    assert "revoked" in every and len(every.splitlines()) == 3
    assert project("token", "revoke", str(old["id"])).code == 0  # twice is fine


@pytest.mark.parametrize(
    "words, code, message",
    [
        (("create", "printers", "--role", "wroker"), 4, "nearest is worker"),
        (("create", "printers", "--role", "worker", "--valid", "soon"), 2, "write 90d, 12h, 30m or 45s"),
        (("create", "printers", "--role", "worker", "--valid", "0s"), 4, "1 second to a hundred years"),
        (("create", "printers", "--role", "worker", "--valid", "999999999d"), 4, "hundred years"),
        (("create", "printers", "--role", "worker", "--fact", "x"), 2, "is no fact"),
        (("create", "printers", "--role", "worker", "--fact", "x=1"), 4, "is no field"),
        (("create", "", "--role", "worker"), 4, "name the service"),
        (("create", "printers"), 2, "--role"),
        (("revoke", "000000000000"), 4, "no token"),
        (("rotate", "%"), 4, "no token"),
    ],
)
def test_what_is_refused(project: Call, words: tuple[str, ...], code: int, message: str) -> None:
    done = project("token", *words)
    assert done.code == code and message in done.err, done.err
    assert project("token", "list", "--all", "--json").out == ""


def test_without_a_database(call: Call) -> None:
    done = call("token", "list")
    assert done.code == 1 and "no database" in done.err


def test_serve_and_dev_say_what_is_missing(call: Call) -> None:
    done = call("serve")
    assert done.code == 1 and "no database" in done.err
    done = call("dev", "--bind", "nonsense")
    assert done.code == 2 and "host:port" in done.err
