"""The how-to pages of clients and tools run as they are read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.server.test_pages import end, is_free
from tests.support.pages import run_page
from tests.support.shared import ROOT

PORT = 17_481
"""The port that the page of clients uses."""


def test_the_page_of_clients(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    if not is_free(PORT):
        pytest.skip(f"port {PORT}, which the page uses, is taken")
    page = (ROOT / "docs/howto/clients.md").read_text(encoding="utf-8")
    start = "treadle serve 2> serve.log &"
    assert page.count(start) == 1
    try:
        assert run_page(page.replace(start, start + " echo $! > server.pid"), tmp_path) > 10
    finally:
        end(tmp_path / "shop/server.pid")


def test_the_page_of_tools(tmp_path: Path) -> None:
    assert run_page((ROOT / "docs/howto/mcp.md").read_text(encoding="utf-8"), tmp_path) > 3
