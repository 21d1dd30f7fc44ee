"""`treadle format`: in place or to standard output, comments kept; nothing is lost where it cannot."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call
from treadle.riff import compile_contract

MESSY = "// a lamp 💡\r\ncontract Small version 1 { enum Colour { Red , // warm\r\n Green, } }\r\n"
TIDY = "// a lamp 💡\ncontract Small version 1 {\n  enum Colour {\n    Red, // warm\n    Green\n  }\n}\n"
QUERY = "query Waiting { many job from Job where job.n==1 take 5 return Found { jobs: job { n } } }\n"
BROKEN = "contract Small version 1 {\n  enum Colour { Red Green }\n}\n"


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.write_bytes(text.encode())
    return path


def test_a_file_is_written_in_place(call: Call) -> None:
    path = write("small.riff", MESSY)
    path.chmod(0o640)
    done = call("format", "small.riff")
    assert done == (0, "", "formatted small.riff\n")
    assert path.read_bytes().decode() == TIDY
    assert stat.S_IMODE(path.stat().st_mode) == 0o640, "it keeps its mode"
    assert os.listdir() == ["small.riff"], "nothing is left beside it"
    assert compile_contract(MESSY).identity == compile_contract(TIDY).identity


def test_what_is_tidy_is_not_touched(call: Call) -> None:
    path = write("small.riff", TIDY)
    before = path.stat()
    assert call("format", "small.riff") == (0, "", "1 file in the layout already\n")
    assert path.stat().st_mtime_ns == before.st_mtime_ns and path.stat().st_ino == before.st_ino


def test_a_link_keeps_leading_to_its_file(call: Call) -> None:
    write("small.riff", MESSY)
    Path("link.riff").symlink_to("small.riff")
    assert call("format", "link.riff").code == 0
    assert Path("link.riff").is_symlink() and Path("small.riff").read_text() == TIDY


def test_check_writes_nothing(call: Call) -> None:
    path = write("small.riff", MESSY)
    assert call("format", "--check", "small.riff") == (1, "", "would format small.riff\n")
    assert path.read_bytes().decode() == MESSY
    write("small.riff", TIDY)
    assert call("format", "--check", "small.riff").code == 0


def test_diff_shows_what_would_change(call: Call) -> None:
    write("small.riff", "contract Small version 1 { enum Colour { Red } }")
    done = call("format", "--diff", "small.riff")
    assert done.code == 1 and done.err == ""
    assert done.out.splitlines() == [
        "--- small.riff",
        "+++ small.riff (formatted)",
        "@@ -1 +1,3 @@",
        "-contract Small version 1 { enum Colour { Red } }",
        "\\ No newline at end of file",
        "+contract Small version 1 {",
        "+  enum Colour { Red }",
        "+}",
    ]
    write("small.riff", TIDY)
    assert call("format", "--diff", "small.riff") == (0, "", "")


def test_standard_input_goes_to_standard_output(call: Call) -> None:
    assert call("format", "-", stdin=MESSY.encode()) == (0, TIDY, "")
    assert call("format", "-", "--check", stdin=MESSY.encode()).code == 1
    assert call("format", "-", stdin=b"\xef\xbb\xbf" + MESSY.encode()).out == TIDY, "without the mark"
    done = call("format", "-", "--queries", stdin=QUERY.encode())
    assert done.code == 0 and done.out.startswith("query Waiting {\n  many job from Job\n")


def test_queries_have_their_own_layout(call: Call) -> None:
    path = write("due.riffq", QUERY)
    assert call("format", "due.riffq").code == 0
    assert "    where job.n == 1\n" in path.read_text()
    assert call("format", "due.riffq", "--check").code == 0


@pytest.mark.parametrize("text", [BROKEN.encode(), b"\xff\xfe\x00", b"", b"{" * 40_000, b"contract \0"])
def test_what_cannot_be_read_is_left_alone(text: bytes, call: Call) -> None:
    Path("small.riff").write_bytes(text)
    done = call("format", "small.riff")
    assert done.code == 1 and done.out == "" and done.err.startswith("error S0")
    assert Path("small.riff").read_bytes() == text


def test_the_others_are_formatted_all_the_same(call: Call) -> None:
    write("broken.riff", BROKEN)
    path = write("small.riff", MESSY)
    done = call("format", "broken.riff", "small.riff")
    assert done.code == 1 and "broken.riff:2:21" in done.err and "formatted small.riff" in done.err
    assert path.read_text() == TIDY


def test_a_missing_file_stops_before_anything_is_written(call: Call) -> None:
    write("small.riff", MESSY)
    done = call("format", "small.riff", "nowhere.riff")
    assert done.code == 2 and "nowhere.riff: No such file" in done.err
    assert Path("small.riff").read_bytes().decode() == MESSY


def test_a_file_that_cannot_be_written(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    write("small.riff", MESSY)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device", "small.riff")

    monkeypatch.setattr(os, "fsync", full)
    done = call("format", "small.riff")
    assert done.code == 2 and "No space left on device" in done.err
    assert Path("small.riff").read_bytes().decode() == MESSY and os.listdir() == ["small.riff"]


def test_the_files_of_the_settings(call: Call) -> None:
    write("small.riff", MESSY)
    Path("queries").mkdir()
    write("queries/due.riffq", QUERY)
    write("treadle.toml", '[contract]\nsource = "small.riff"\nqueries = ["queries/*.riffq"]\n')
    done = call("format")
    assert done.code == 0 and done.err == "formatted small.riff\nformatted queries/due.riffq\n"
    assert call("format", "--check").err == "2 files in the layout already\n"


def test_json(call: Call) -> None:
    write("small.riff", MESSY)
    write("broken.riff", BROKEN)
    done = call("format", "--check", "--json", "small.riff", "broken.riff")
    assert done.code == 1 and done.err == ""
    first, second = done.json["files"]
    assert first == {"file": "small.riff", "changed": True}
    assert second["changed"] is False and second["diagnostics"][0]["code"] == "S004"
    assert call("format", "--json", "-", stdin=MESSY.encode()).json["files"][0]["text"] == TIDY
