"""`treadle run --lines`: JSON Lines in, JSON Lines out, in order, each for itself."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.unit.cli.conftest import SHOP, Call
from treadle.cli import lines


def jobs(count: int) -> bytes:
    inputs = (
        {"shop_id": SHOP, "job_id": str(UUID(int=number)), "title": f"job {number}"}
        for number in range(count)
    )
    return b"".join(json.dumps(one).encode() + b"\n" for one in inputs)


ADD = ("run", "AddJob", "--lines", "--as", "desk", "--key", "auto")


def test_every_line_is_answered_in_order(project: Call) -> None:
    done = project(*ADD, stdin=jobs(1_100))
    assert done.code == 0 and done.err == ""
    titles = [line["fields"]["job"]["title"] for line in done.lines]
    assert titles == [f"job {number}" for number in range(1_100)]
    assert len({line["key"] for line in done.lines}) == 1_100
    assert project("verify").code == 0


def test_lines_are_committed_in_groups(project: Call) -> None:
    times = {line["time"] for line in project(*ADD, stdin=jobs(1_100)).lines}
    assert len(times) == 3, "512, 512 and 76 lines, one transaction time each"


def test_from_a_file(project: Call) -> None:
    Path("jobs.jsonl").write_bytes(jobs(3))
    assert len(project(*ADD, "--input", "@jobs.jsonl").lines) == 3
    assert project(*ADD, "--input", "jobs.jsonl").code == 2


def test_each_line_names_its_command_where_none_is_given(project: Call) -> None:
    given = [
        {"command": "AddJob", "input": json.loads(jobs(1))},
        {"command": "Clam", "input": {}},
        {"command": "AddJob", "input": json.loads(jobs(1))},
        {"input": {}},
        {"command": "AddJob", "input": {}, "more": 1},
        {"command": "AddJob", "input": []},
        {"command": 1, "input": {}},
    ]
    text = "\n".join(json.dumps(one) for one in given) + "\n\n  \nnonsense"
    done = project("run", "--lines", "--as", "desk", "--key", "auto", stdin=text.encode())
    assert done.code == 4
    found = [line.get("outcome") or line["error"]["code"] for line in done.lines]
    assert found == ["Added", "unknown_name", "JobExists", *["invalid_input"] * 4, "malformed"]
    assert done.lines[-1]["error"]["message"].startswith("line 10: not JSON: expecting value at line 1")


def test_keys_in_the_lines_replay(project: Call) -> None:
    text = json.dumps(json.loads(jobs(1)) | {"key": "import-1"}).encode()
    words = ("run", "AddJob", "--lines", "--as", "desk")
    first, again = project(*words, stdin=text), project(*words, stdin=text + b"\n" + text)
    assert [line["replayed"] for line in first.lines + again.lines] == [False, True, True]
    missing = project(*words, stdin=jobs(1))
    assert missing.code == 4 and "needs an idempotency key" in missing.lines[0]["error"]["message"]


def test_one_key_for_many_lines_is_a_wrong_call(project: Call) -> None:
    done = project("run", "AddJob", "--lines", "--as", "desk", "--key", "one", stdin=jobs(2))
    assert done.code == 2 and "each line needs a key of its own" in done.err and done.out == ""


def test_the_exit_code_is_that_of_the_worst_line(project: Call) -> None:
    assert project(*ADD, stdin=jobs(1) + jobs(1)).code == 3
    assert project(*ADD, stdin=b"{}\n" + jobs(1)).code == 4
    assert project(*ADD, stdin=b"").code == 0


def test_a_line_that_is_too_long_is_refused_and_the_next_one_runs(
    project: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "COMMAND_BYTES", 300)
    long = json.dumps({"title": "x" * 2_000}).encode()
    done = project(*ADD, stdin=long + b"\n" + jobs(1))
    assert [line.get("outcome") or line["error"]["code"] for line in done.lines] == ["too_large", "Added"]


def test_words_go_over_every_line(project: Call) -> None:
    done = project(
        "run", "AddJob", "title=all the same", "--lines", "--as", "desk", "--key", "auto", stdin=jobs(2)
    )
    assert {line["fields"]["job"]["title"] for line in done.lines} == {"all the same"}


class Process:
    """`treadle run --lines` as a process, its input and output held open."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "treadle.cli", *ADD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A shell that starts the tests in the background has them, and what they start, ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def ask(self, text: bytes) -> Any:
        """Send one line and wait for its answer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def test_a_line_is_answered_before_the_next_one_comes(project: Call) -> None:
    process = Process()
    outcomes = [process.ask(line + b"\n")["outcome"] for line in jobs(3).splitlines()]
    process.process.communicate(timeout=30)
    assert outcomes == ["Added"] * 3 and process.process.returncode == 0


def test_ctrl_c_between_lines_leaves_nothing_half_done(project: Call) -> None:
    process = Process()
    answer = process.ask(jobs(1))
    process.process.send_signal(signal.SIGINT)
    out, err = process.process.communicate(timeout=30)
    assert (process.process.returncode, out, err) == (130, b"", b"")
    assert project("verify").code == 0
    last = project("log", "--json").lines[-1]
    assert (last["name"], last["number"]) == ("AddJob", answer["commit"])


def test_a_reader_that_goes_away_ends_it_quietly(project: Call) -> None:
    process = Process()
    process.ask(jobs(1))
    assert process.process.stdout is not None and process.process.stdin is not None
    process.process.stdout.close()
    process.process.stdin.write(jobs(2))
    process.process.stdin.close()
    assert process.process.wait(timeout=30) == 1
    assert process.process.stderr is not None and process.process.stderr.read() == b""
    process.process.stderr.close()
    assert project("verify").code == 0
