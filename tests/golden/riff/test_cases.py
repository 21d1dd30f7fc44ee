"""Whole contracts: those beside the repository, and their refusals one change at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.shared import SHARED, shared
from treadle.riff import compile_contract

FILE = SHARED / "cases" / "refused.json"
REFUSED: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["cases"] if FILE.exists() else []


def print_shop() -> str:
    return shared("cases/contracts/print_shop.riff").read_text(encoding="utf-8")


def test_the_cases_are_there() -> None:
    assert (
        len(json.loads(shared("cases/refused.json").read_text(encoding="utf-8"))["cases"]) == len(REFUSED) > 0
    )


@pytest.mark.parametrize("case", REFUSED, ids=[case["name"] for case in REFUSED])
def test_refused(case: dict[str, Any]) -> None:
    text = print_shop()
    for old, new in case["replace"]:
        assert old in text
        text = text.replace(old, new, 1)
    compiled = compile_contract(text)
    spans = [each.span for each in compiled.diagnostics if each.code == case["code"]]
    assert compiled.contract is None and spans, compiled.render()
    if "at" in case:
        start = text.index(case["at"], text.index(case["after"]) if "after" in case else 0)
        assert start in [span.start.offset for span in spans], compiled.render()


def test_the_contracts_compile() -> None:
    for path in sorted(shared("cases/contracts").glob("*.riff")):
        compiled = compile_contract(path.read_bytes(), path.name)
        assert compiled.contract is not None and not compiled.diagnostics, compiled.render()
