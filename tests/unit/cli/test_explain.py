"""`treadle explain`: the plan of a command in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call


def test_a_command_of_the_settings_contract(project: Call) -> None:
    done = project("explain", "Finish")
    assert done.code == 0
    assert done.out.startswith("command Finish, once per key\n  input key: string<128>\n")
    lines = done.out.splitlines()
    assert [line for line in lines if not line.startswith(" ")][1:] == [
        "reads", "locks", "checks", "writes", "answers", "tables",
    ]  # fmt: skip
    stale = lines.index("  job's revision is not expected_revision: Stale")
    assert stale < lines.index("  job is not held by printer_id with token: NotHolder"), (
        "the revision is first"
    )


def test_a_file_and_a_command(project: Call) -> None:
    assert project("explain", "shop.riff", "Claim").out == project("explain", "Claim").out
    assert project("explain", "-", "Claim", stdin=Path("shop.riff").read_bytes()).code == 0


def test_json(project: Call) -> None:
    shown = project("explain", "Claim", "--json").json
    assert shown["command"] == "Claim"
    absent = {"section": "checks", "depth": 0, "text": "Job(shop_id, job_id) is absent: JobMissing"}
    assert absent | {"outcome": "JobMissing"} in shown["lines"]


@pytest.mark.parametrize(
    "words, code, message",
    [
        (("Clam",), 4, "no command Clam in contract Shop; the nearest is Claim"),
        (("a", "b", "c"), 2, "name a command, or a contract's file and a command"),
        (("nowhere.riff", "Claim"), 2, "nowhere.riff: No such file or directory"),
        ((), 2, "Missing argument"),
    ],
)
def test_what_cannot_be_explained(words: tuple[str, ...], code: int, message: str, project: Call) -> None:
    done = project("explain", *words)
    assert done.code == code and message in done.err


def test_a_contract_with_errors_shows_them(project: Call) -> None:
    done = project("explain", "-", "Claim", stdin=b"contract X version 0 {}")
    assert done.code == 1 and done.out == "" and "error C001" in done.err


def test_the_code_of_a_finding(call: Call) -> None:
    done = call("explain", "C035")
    assert done.code == 0 and done.out.startswith("# C035\n") and "## Right\n" in done.out
    assert call("explain", "C035", "--json").json["page"] == done.out
    assert call("explain", "C999").code == 2, "no code, and no contract to look for such a command"
