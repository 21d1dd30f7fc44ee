"""Ruff, mypy and import-linter over the whole repository: the same commands as in `make check`."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.shared import ROOT
from tools.check import CHECKS

pytestmark = pytest.mark.check


@pytest.mark.parametrize("name", CHECKS)
def test_check(name: str) -> None:
    done = subprocess.run(CHECKS[name], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
