"""`treadle new`: all of it or nothing, and nothing is overwritten."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call
from treadle import scaffold
from treadle.registry import load

WRITTEN = [".gitignore", "README.md", "queries", "shop.riff", "test_shop.py", "treadle.toml", "worker.py"]


def test_new_writes_a_project_and_says_what_comes_next(call: Call) -> None:
    done = call("new", "shop")
    assert done.code == 0
    assert sorted(os.listdir("shop")) == WRITTEN
    assert "wrote shop/shop.riff" in done.out
    assert done.out.endswith("next: cd shop && treadle check && treadle deploy\n")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(os.stat("shop").st_mode) == 0o777 & ~mask


def test_new_as_json_lists_the_files(call: Call) -> None:
    assert call("new", "shop", "--json").json["files"][0] == "shop/shop.riff"


@pytest.mark.parametrize("name", ["shop", "print-shop", "Print_Shop2"])
def test_the_contract_compiles_whatever_the_project_is_called(name: str, call: Call) -> None:
    assert call("new", name).code == 0
    text = Path(name, f"{name}.riff").read_bytes()
    compiled = load("riff").compile_contract(text, name)
    assert compiled.diagnostics == ()
    assert compiled.contract.name == scaffold.contract_name(name)


def test_the_scaffold_is_laid_out(call: Call) -> None:
    call("new", "print-shop")
    os.chdir("print-shop")
    assert call("format", "--check").err == "2 files in the layout already\n"


def test_a_project_elsewhere(call: Call) -> None:
    Path("a").mkdir()
    assert call("new", "a/shop").code == 0
    assert sorted(os.listdir("a/shop")) == WRITTEN


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_what_exists_is_left_alone(kind: str, call: Call) -> None:
    if kind == "folder":
        Path("shop").mkdir()
    elif kind == "file":
        Path("shop").write_text("mine")
    else:
        Path("shop").symlink_to("nowhere")
    before = os.listdir()
    done = call("new", "shop")
    assert done.code == 2 and "shop exists already and is left alone" in done.err
    assert os.listdir() == before


@pytest.mark.parametrize(
    "name", ["", ".", "..", "2shop", "a b", "-x", "shop-", "é", "a" * 65, "sh\nop", "shop.riff"]
)
def test_a_name_that_cannot_be_one(name: str, call: Call) -> None:
    done = call("new", "--", name)
    assert done.code == 2 and "cannot name a project" in done.err and done.err.count("\n") == 1
    assert os.listdir() == []


def test_a_missing_parent_is_named(call: Call) -> None:
    done = call("new", "nowhere/shop")
    assert done.code == 2 and "there is no folder nowhere; create it first" in done.err


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_whatever_goes_wrong_nothing_is_left(
    error: BaseException, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    real = Path.write_text

    def write(path: Path, text: str, **options: str) -> int:
        written.append(path)
        if len(written) == 3:
            raise error
        return real(path, text, **options)

    monkeypatch.setattr(Path, "write_text", write)
    done = call("new", "shop")
    assert done.code in (1, 130) and "Traceback" not in done.err
    assert os.listdir() == []
