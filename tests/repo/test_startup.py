"""What starting costs: how much is imported before anything is asked for, and how long that takes."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

from tests.support.shared import ROOT

HELP_SECONDS = 0.4
"""The most processor time of a cold `treadle --help`."""

MODULES = 15
"""The most modules that a `--help` may load of ours, of no package but the command line's."""

PARTS = {
    "format": ("treadle.cli.format", {"treadle.lsp", "treadle.plan", "treadle.engine", "treadle.server"}),
    "check": ("treadle.cli.check", {"treadle.lsp", "treadle.engine", "treadle.server", "treadle.store"}),
    "diagram": ("treadle.cli.diagram", {"treadle.lsp", "treadle.engine", "treadle.server", "treadle.store"}),
    "lsp": ("treadle.lsp", {"treadle.engine", "treadle.server", "treadle.store", "treadle.graph"}),
}
"""What a part is, and what must not be loaded by importing it alone."""


def loaded(program: str) -> list[str]:
    """The modules that are loaded after a program."""
    code = f"{program}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    found: list[str] = json.loads(done.stderr)
    return found


def within(module: str, parts: tuple[str, ...] | set[str]) -> bool:
    return any(module == part or module.startswith(f"{part}.") for part in parts)


def test_help_loads_the_command_line_alone() -> None:
    modules = loaded("import treadle.cli.main as m; m.run(['--help'])")
    own = [name for name in modules if within(name, {"treadle"})]
    packages = {name.split(".")[1] for name in own if "." in name} - {"cli"}
    assert not [name for name in packages if (ROOT / "src/treadle" / name).is_dir()]
    assert len(own) <= MODULES
    heavy = {"pygls", "lsprotocol", "cattrs", "lark", "msgspec", "apsw", "asyncio", "rich", "starlette"}
    assert not [name for name in modules if within(name, heavy)]


def test_help_is_quick() -> None:
    """In processor time, so that a busy machine does not matter; the best of three."""
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "treadle.cli", "--help"], capture_output=True, check=True, timeout=60
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    print(f"cold `treadle --help`: {min(took):.3f} s of the processor")
    assert min(took) < HELP_SECONDS


@pytest.mark.parametrize("part", PARTS)
def test_a_part_loads_what_it_needs(part: str) -> None:
    module, others = PARTS[part]
    modules = loaded(f"import {module}")
    assert not [name for name in modules if within(name, others)]
    if part != "lsp":
        assert not [name for name in modules if within(name, {"pygls", "lsprotocol"})]
