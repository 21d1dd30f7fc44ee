"""The helper that scales the suite."""

from __future__ import annotations

import pytest

from tests.support.effort import effort


@pytest.mark.parametrize(
    ("setting", "expected"), [(None, 20), ("1", 20), ("10", 200), ("0.5", 10), ("0.001", 1)]
)
def test_counts_scale(monkeypatch: pytest.MonkeyPatch, setting: str | None, expected: int) -> None:
    monkeypatch.delenv("TREADLE_TEST_EFFORT", raising=False)
    if setting:
        monkeypatch.setenv("TREADLE_TEST_EFFORT", setting)
    assert effort(20) == expected


@pytest.mark.parametrize("setting", ["0", "-1", "many", "nan", "1e9"])
def test_a_typing_error_is_no_small_suite(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv("TREADLE_TEST_EFFORT", setting)
    with pytest.raises(ValueError):
        effort(20)
