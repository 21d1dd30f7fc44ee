"""Generated Python modules are clean under mypy's and pyright's strictest, and so is a match over outcomes.

Each checker runs once, over the modules of several contracts and a program; it has to report exactly the
lines that are marked as wrong.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.clients import WORK, interface, python_text
from tests.support.shared import ROOT
from tests.typing.programs import PYTHON
from treadle.scaffold import create

EXAMPLE = ("printer.py", "queue_client.py")
MODULES = ("names_client.py", "work_client.py", "shop_client.py", "printing_client.py", "pages_client.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The modules of several contracts, and a program that uses one of them."""
    from tests.unit.queries.conftest import CONTRACT, QUERIES

    made = tmp_path_factory.mktemp("typing")
    shop = next(path for path in create(made / "shop") if path.suffix == ".riff").read_text(encoding="utf-8")
    queue = (ROOT / "examples/work_queue/queue.riff").read_text(encoding="utf-8")
    texts = [
        python_text(),
        *(python_text(interface(source, "")) for source in (WORK, shop, queue)),
        python_text(interface(CONTRACT, QUERIES)),
    ]
    for name, text in zip(MODULES, texts, strict=True):
        (made / name).write_text(text, encoding="utf-8")
    (made / "program.py").write_text(PYTHON, encoding="utf-8")
    for name in EXAMPLE:
        shutil.copy(ROOT / "examples/generated_client" / name, made / name)
    return made


def wrong() -> set[int]:
    return {number for number, line in enumerate(PYTHON.splitlines(), 1) if line.endswith("# wrong")}


def reported(found: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    """Lines by file."""
    lines: dict[str, set[int]] = {}
    for path, line in found:
        lines.setdefault(Path(path).name, set()).add(line)
    return lines


def test_mypy_strict(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--cache-dir",
        str(folder / ".mypy"),
    ]
    command += ["--config-file", os.devnull, "--follow-imports=silent", *MODULES, *EXAMPLE, "program.py"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=110,
    )
    found = re.findall(r"^(\S+?):(\d+): error:", done.stdout, re.MULTILINE)
    assert reported((path, int(line)) for path, line in found) == {"program.py": wrong()}, (
        done.stdout + done.stderr
    )


def test_pyright_strict(folder: Path) -> None:
    pyright = ROOT / "node_modules/.bin/pyright"
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, so there is no pyright")
    assert pyright.exists(), "pyright is not installed; run `make node`"
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "venvPath": str(Path(sys.prefix).parent),
        "venv": Path(sys.prefix).name,
        "extraPaths": [str(ROOT / "src")],
        "include": [*MODULES, *EXAMPLE, "program.py"],
        "reportUnusedExpression": False,
        "reportUnusedImport": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run(
        [pyright, "--outputjson", "-p", str(folder)], capture_output=True, text=True, timeout=110
    )
    said = json.loads(done.stdout)["generalDiagnostics"]
    found = [(one["file"], one["range"]["start"]["line"] + 1) for one in said if one["severity"] == "error"]
    assert reported(found) == {"program.py": wrong()}, json.dumps(said, indent=1)
