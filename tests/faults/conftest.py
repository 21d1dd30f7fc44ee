"""Where databases of fault tests lie."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = "/dev/shm"


@pytest.fixture
def quick_path(tmp_path) -> Iterator[Path]:
    """A folder in memory, where there is one: the faults are pretended, so real flushes only take time."""
    if not os.path.isdir(_MEMORY) or not os.access(_MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="treadle-", dir=_MEMORY) as folder:
        yield Path(folder)
