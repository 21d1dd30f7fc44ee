"""Two workers written with the generated client alone run a queue over HTTP, with tokens for just that."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from tests.support.shared import ROOT

EXAMPLE = ROOT / "examples/generated_client"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the example prints: without arguments, from its own folder, with exit code 0."""
    folder = tmp_path_factory.mktemp("examples") / "generated_client"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("*.db*", "__pycache__"))
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=folder, capture_output=True, text=True, timeout=110
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return [line.strip() for line in done.stdout.splitlines()]


def numbers(printed: list[str], pattern: str) -> list[tuple[str, ...]]:
    return [match.groups() for line in printed if (match := re.fullmatch(pattern, line))]


def test_every_job_is_printed_once_although_a_worker_is_killed(printed: list[str]) -> None:
    claims = numbers(printed, r"printer-(\d) claims job (\d+) with token (\d)")
    finished = numbers(printed, r"printer-(\d) finishes job (\d+)")
    assert sorted(int(job) for _, job in finished) == list(range(1, 13))
    held = numbers(printed, r"printer-1 goes silent while it holds job (\d+)")[0][0]
    assert [(who, token) for who, job, token in claims if job == held] == [("1", "1"), ("2", "2")]
    assert ("2", held) in finished and len({who for who, _ in finished}) == 2, "both did some"
    assert not [line for line in printed if "too late" in line]
    assert "printer-1 is killed (exit code -9); its lease runs out after 5 seconds" in printed
    assert "printed: 12 of 12; claimed twice: 1" in printed
    assert any(
        re.fullmatch(r"history: \d+ commands evaluated again, nothing disagrees", line) for line in printed
    )


def test_the_workers_tokens_allow_nothing_else(printed: list[str]) -> None:
    assert any(
        line.startswith("a printer's token adds no job: role printer does not allow") for line in printed
    )
    roles = tomllib.loads((EXAMPLE / "treadle.toml").read_text(encoding="utf-8"))["roles"]
    assert roles[1] == {"name": "printer", "commands": ["Claim", "Finish"], "queries": ["Waiting"]}


def test_the_workers_are_written_with_the_generated_client_alone() -> None:
    """A worker calls methods of the client; no command's name and no HTTP stands in its program."""
    tree = ast.parse((EXAMPLE / "printer.py").read_text(encoding="utf-8"))
    printer = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Printer")
    called = {
        node.func.attr
        for node in ast.walk(printer)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value) == "self.client"
    }
    assert called == {"waiting", "claim", "finish"}
    imported = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert "queue_client" in imported and not {one for one in imported if one and one.startswith("treadle")}
