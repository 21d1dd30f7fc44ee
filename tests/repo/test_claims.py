"""Each claim on durability names tests that show it, and those tests exist."""

from __future__ import annotations

import re

import pytest

from tests.support.shared import ROOT

PAGE = ROOT / "docs" / "explain" / "durability.md"
LINK = re.compile(r'\[[^\]]+\]\((\.\./\.\./tests/\S+\.py) "(\w+)"\)')
CLAIMS = re.findall(r"^- .*?(?=^- |^#|\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_there_are_claims() -> None:
    assert len(CLAIMS) > 20


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim[2:40].strip())
def test_a_claim_names_tests_that_exist(claim: str) -> None:
    links = LINK.findall(claim)
    assert links, "a claim without a test is a hope"
    for path, name in links:
        text = (PAGE.parent / path).resolve().read_text("utf-8")
        assert re.search(rf"^\s*(async )?def {name}\(", text, re.MULTILINE), f"{path} has no {name}"
