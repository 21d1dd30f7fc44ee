"""`treadle check`: findings as text and in the fixed JSON form; exit 1 when one is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call

GOOD = "contract Small version 1 {\n  enum Colour { Red, Green }\n}\n"
BAD = "contract Small version 0 {\n  enum Colour { Red, Red }\n}\n"
WARNED = """contract Small version 1 {
  enum Colour { Red, Green, Blue }
  entity Lamp { key (lamp_id: uuid) field colour: Colour }
  aggregate Lamps { root Lamp partition_by lamp_id conflict_key (lamp_id) }
  workflow Light { entity Lamp state colour initial Red transition Go from (Red) to Green }
}
"""


def test_a_good_contract(call: Call) -> None:
    Path("small.riff").write_text(GOOD)
    done = call("check", "small.riff")
    assert done == (
        0,
        "small.riff: contract Small version 1 is fine (0 entities, 0 workflows, 0 commands)\n",
        "",
    )
    assert call("check", "--json", "small.riff").json == {"diagnostics": []}


def test_a_bad_contract(call: Call) -> None:
    Path("small.riff").write_text(BAD)
    done = call("check", "small.riff")
    assert done.code == 1
    assert "error C001" in done.out and "--> small.riff:1:24" in done.out and "^" in done.out
    assert "error C002" in done.out


def test_the_json_form(call: Call) -> None:
    Path("small.riff").write_text(BAD)
    done = call("check", "--json", "small.riff")
    assert done.code == 1 and done.err == ""
    first, second = done.json["diagnostics"]
    assert set(first) == {"code", "severity", "message", "help", "span", "related"}
    assert first["span"] == {"start": {"line": 1, "column": 24}, "end": {"line": 1, "column": 25}}
    assert (second["code"], second["severity"]) == ("C002", "error")
    assert second["related"][0]["span"]["start"] == {"line": 2, "column": 17}


def test_warnings_alone_are_success(call: Call) -> None:
    Path("small.riff").write_text(WARNED)
    done = call("check", "small.riff")
    assert done.code == 0 and "warning W034" in done.out
    assert [one["severity"] for one in call("check", "--json", "small.riff").json["diagnostics"]] == [
        "warning"
    ]


def test_standard_input(call: Call) -> None:
    done = call("check", "-", stdin=BAD.encode())
    assert done.code == 1 and "--> <stdin>:1:24" in done.out


def test_the_contract_of_the_settings(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("deep").mkdir()
    Path("small.riff").write_text(GOOD)
    Path("treadle.toml").write_text('[contract]\nsource = "small.riff"\n')
    monkeypatch.chdir("deep")
    assert (
        call("check").out.startswith("../small.riff: ") or "/small.riff: contract Small" in call("check").out
    )
    assert call("check", "--set", "contract.source=nowhere.riff").code == 2


@pytest.mark.parametrize(
    "text", [b"\xff\xfe", b"", b"\0" * 100, b"{" * 5_000, b"contract \xe2\x80\xae version"]
)
def test_any_input_gives_findings(text: bytes, call: Call) -> None:
    done = call("check", "-", stdin=text)
    assert done.code == 1 and done.out.startswith("error S0") and done.err == ""


def test_an_endless_file_is_refused_unread(call: Call) -> None:
    done = call("check", "/dev/zero")
    assert done.code == 1 and done.out.startswith("error S001")


def test_queries_are_checked_against_the_contract_of_the_settings(project: Call) -> None:
    done = project("check", "queries/jobs.riffq")
    assert done == (0, "queries/jobs.riffq: 1 query of contract Shop, fine\n", "")
    Path("queries/jobs.riffq").write_text(
        Path("queries/jobs.riffq").read_text().replace("job.state", "job.stat")
    )
    done = project("check", "queries/jobs.riffq")
    assert done.code == 1 and "error Q002" in done.out and "--> queries/jobs.riffq:4:" in done.out
    found = project("check", "--json", "queries/jobs.riffq").json["diagnostics"]
    assert found[0]["code"] == "Q002" and "file" not in found[0]


def test_without_a_file_the_queries_are_checked_too(project: Call) -> None:
    Path("queries/more.riffq").write_text("query")
    done = project("check")
    assert done.code == 1
    assert done.out.startswith("shop.riff: contract Shop version 1 is fine")
    assert "queries/jobs.riffq: 1 query of contract Shop, fine\n" in done.out
    assert "--> queries/more.riffq:1:" in done.out
    assert {one["file"] for one in project("check", "--json").json["diagnostics"]} == {"queries/more.riffq"}


def test_queries_of_a_contract_that_cannot_be_read(project: Call) -> None:
    Path("shop.riff").write_text("contract")
    done = project("check", "queries/jobs.riffq")
    assert done.code == 1 and "--> shop.riff:1:" in done.out
    assert project("check").code == 1


def test_queries_without_a_contract(call: Call) -> None:
    Path("a.riffq").write_text("query")
    done = call("check", "a.riffq")
    assert done.code == 2 and "no contract: name its file, or set contract.source" in done.err
