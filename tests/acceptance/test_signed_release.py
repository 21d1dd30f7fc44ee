"""The example of signed runs does what it says: run twice, and its files verified by the command line."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shared import ROOT

RUN = "http://example.org/runs/42"
TREADLE = str(Path(sys.executable).parent / "treadle")


def said(folder: Path, *words: str) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=110)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("examples") / "signed_release"
    ignored = shutil.ignore_patterns("*.db*", "*.pem", "*.ttl")
    shutil.copytree(ROOT / "examples/signed_release", where, ignore=ignored)
    said(where, sys.executable, "main.py")
    return where


def test_it_runs_again_with_the_keys_that_it_made(folder: Path) -> None:
    first = said(folder, sys.executable, "main.py")
    keys = {path.name: path.read_bytes() for path in folder.glob("*.pem")}
    assert set(keys) == {"alice.pem", "bob.pem", "mallory.pem"}
    assert said(folder, sys.executable, "main.py") == first
    assert {path.name: path.read_bytes() for path in folder.glob("*.pem")} == keys
    refusals = [line.rpartition(" ")[2] for line in first.splitlines() if ": refused, " in line]
    assert refusals == [
        "signature_invalid",
        "advance_revision_mismatch",
        "signature_invalid",
        "advance_without_event",
        "advance_without_event",
    ]
    assert "  4 signed events lead from Draft to Released, revision 4\n" in first


def test_the_exported_file_is_verified_with_public_keys_alone(folder: Path, tmp_path: Path) -> None:
    trusted = []
    for name in ("alice", "bob"):
        key = said(folder, TREADLE, "graph", "keys", "show", f"{name}.pem").strip()
        trusted += ["--trust", f"{name}={key}"]
    shutil.copy(folder / "release.ttl", tmp_path)
    words = [TREADLE, "graph", "verify", RUN, "--file", "release.ttl"]
    assert said(tmp_path, *words, *trusted) == f"{RUN}: holds, 4 signed events to Released at revision 4\n"
    without = subprocess.run([*words, *trusted[:2]], cwd=tmp_path, capture_output=True, timeout=60)
    assert without.returncode == 1, without.stderr


def test_its_database_agrees_and_keeps_the_refusals(folder: Path) -> None:
    assert said(folder, TREADLE, "verify").startswith("history agrees: 14 records")
    assert said(folder, TREADLE, "log", "--kind", "refusal", "--by", "mallory").count("\n") == 5
