"""What `treadle.graph` offers, and that the client is loaded only when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import treadle.graph
from treadle.graph.client import WorkflowClient


def test_every_name_is_there() -> None:
    assert [name for name in treadle.graph.__all__ if getattr(treadle.graph, name, None) is None] == []
    assert dir(treadle.graph) == sorted(treadle.graph.__all__)
    assert treadle.graph.WorkflowClient is WorkflowClient


def test_an_unknown_name_is_said() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = treadle.graph.nonsense


def test_terms_do_not_load_the_client() -> None:
    code = "import sys, treadle.graph; print([m for m in sys.modules if 'httpx' in m or 'nacl' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
