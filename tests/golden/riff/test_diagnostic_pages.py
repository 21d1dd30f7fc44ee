"""The page of each code: its wrong example is refused with that code alone, the right one is fine."""

from __future__ import annotations

import re

import pytest

from tests.support.shared import ROOT
from tools.diagnostics import EXAMPLES, FOLDER, LARGE
from treadle.riff import compile_contract, format_contract
from treadle.riff.codes import CODES

SOURCES = sorted((ROOT / "src" / "treadle" / "riff").rglob("*.py"))


@pytest.mark.parametrize("code", EXAMPLES)
def test_both_examples_are_what_the_page_says(code: str) -> None:
    wrong, right = compile_contract(EXAMPLES[code].wrong), compile_contract(EXAMPLES[code].right)
    assert [each.code for each in wrong.diagnostics] == [code], wrong.render()
    assert right.contract is not None and not right.diagnostics, right.render()


@pytest.mark.parametrize("code", CODES)
def test_the_page_shows_what_was_compiled(code: str) -> None:
    blocks = re.findall(r"```riff\n(.*?)```", (ROOT / FOLDER / f"{code}.md").read_text("utf-8"), re.DOTALL)
    if code in LARGE:
        assert not blocks
        return
    wrong, right = (compile_contract(block) for block in blocks)
    assert code in [each.code for each in wrong.diagnostics] and not right.diagnostics
    assert format_contract(blocks[1]).text == blocks[1]


def test_every_code_that_is_reported_has_a_page_and_no_other() -> None:
    text = "".join(path.read_text("utf-8") for path in SOURCES if path.name != "codes.py")
    assert set(re.findall(r'"([SCW]\d{3})"', text)) == set(CODES) == set(EXAMPLES) | set(LARGE)
