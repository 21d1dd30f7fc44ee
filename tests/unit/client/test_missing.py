"""Without the packages of the extra, the client says what to install."""

from __future__ import annotations

from typing import Any

import pytest

import treadle
from treadle.errors import ConfigError


def test_a_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def imported(name: str) -> Any:
        raise ModuleNotFoundError(f"no module for {name}", name="httpx2")

    monkeypatch.setattr(treadle, "import_module", imported)
    with pytest.raises(ConfigError, match=r"httpx2 is missing.*treadle\[client\]"):
        treadle.connect("http://127.0.0.1:1")
    with pytest.raises(ModuleNotFoundError):
        treadle.open("never.db")
