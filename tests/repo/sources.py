"""The repository's own files, as the tests in this folder read them."""

from __future__ import annotations

import ast
import subprocess
from dataclasses import dataclass
from functools import cache, cached_property

import pytest

from tests.support.shared import ROOT
from tools import generated


@cache
def tracked() -> tuple[str, ...]:
    """Every file that git tracks or would track, relative to the root; skips outside a git clone."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git clone")
    return tuple(sorted({name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}))


@cache
def text(path: str) -> str | None:
    """The file's text, or None when it is not UTF-8 text."""
    content = (ROOT / path).read_bytes()
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True)
class Source:
    """One Python file."""

    path: str
    code: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.code, self.path)


@cache
def python(*folders: str) -> tuple[Source, ...]:
    """The Python files below these folders (all of them without any), without the generated ones."""
    made = generated.outputs()
    return tuple(
        Source(path, text(path) or "")
        for path in tracked()
        if path.endswith(".py") and path not in made and (not folders or path.startswith(folders))
    )
