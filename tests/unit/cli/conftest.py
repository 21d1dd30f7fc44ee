"""The command line, called in this process: its exit code and what it printed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple

import pytest

from treadle.cli import main


class Done(NamedTuple):
    """A finished call."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Call = Callable[..., Done]


MEMORY = Path("/dev/shm")
"""A folder in memory, where there is one: these tests are not about what a disk keeps, and flush often."""


@pytest.fixture(scope="session")
def fast_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for all tests of the command line."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path_factory.mktemp("cli")
        return
    with TemporaryDirectory(prefix="treadle-cli-", dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def tmp_path(fast_folder: Path) -> Path:
    """A new folder for one test."""
    return Path(mkdtemp(dir=fast_folder))


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """`call("run", "Claim", …, stdin=b"…")` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(stdin)))
        code = main.run(list(words))
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return run


@pytest.fixture(scope="session")
def template(fast_folder: Path) -> Path:
    """Two new projects that are deployed: `opened` has a shop, `queued` also a job at revision 1."""
    folder = Path(mkdtemp(dir=fast_folder))
    monkeypatch = pytest.MonkeyPatch()
    add = ("AddJob", f"shop_id={SHOP}", f"job_id={JOB}", "title=Menu")
    for name, commands in (
        ("opened", [("OpenShop", f"shop_id={SHOP}", "name=Corner")]),
        ("queued", [("OpenShop", f"shop_id={SHOP}", "name=Corner"), add]),
    ):
        (folder / name).mkdir()
        monkeypatch.chdir(folder / name)
        assert main.run(["new", "shop"]) == 0
        monkeypatch.chdir(folder / name / "shop")
        assert main.run(["deploy"]) == 0
        for words in commands:
            assert main.run(["run", *words, "--as", "desk", "--key", words[0]]) == 0
    monkeypatch.undo()
    return folder


@pytest.fixture
def project(call: Call, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`call` in a new project that is deployed, with a shop in it."""
    shutil.copytree(template / "opened" / "shop", tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")
    return call


@pytest.fixture
def job(call: Call, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`call` in a project with a job at revision 1."""
    shutil.copytree(template / "queued" / "shop", tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")
    return call


def claim(revision: int = 1, printer: str = "", key: str = "auto") -> tuple[str, ...]:
    """The words of a claim of the job."""
    inputs = {
        "shop_id": SHOP,
        "job_id": JOB,
        "printer_id": printer or ANN,
        "seconds": 60,
        "expected_revision": revision,
    }
    words = [f"{name}={value}" for name, value in inputs.items()]
    return ("run", "Claim", *words, "--as", "printer-service", "--key", key)


SHOP = "00000000-0000-4000-8000-000000000001"
JOB = "00000000-0000-4000-8000-000000000002"
ANN = "00000000-0000-4000-8000-00000000000a"
