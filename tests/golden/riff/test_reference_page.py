"""The page on Riff: its contract compiles, and no word of the language is missing."""

from __future__ import annotations

import re

import pytest

from tests.support.pages import blocks
from tests.support.shared import ROOT
from treadle.riff import compile_contract, tokens

PAGE = (ROOT / "docs/reference/riff.md").read_text("utf-8")
GRAMMAR = (ROOT / "src/treadle/riff/riff.lark").read_text("utf-8")
WORDS = sorted(word for word in tokens.kinds() if word[0].isalpha())


def test_the_contract_compiles() -> None:
    (text,) = blocks(PAGE, "riff")
    compiled = compile_contract(text, "riff.md")
    assert compiled.contract is not None and not compiled.diagnostics, compiled.render()


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_the_language_is_on_the_page(word: str) -> None:
    assert re.search(rf"\b{word}\b", PAGE)


def test_the_words_that_are_never_names() -> None:
    rule = re.search(r"^name: IDENT(.*?)\n\n", GRAMMAR, re.MULTILINE | re.DOTALL)
    assert rule is not None
    names = {found.lower() for found in re.findall(r"\b[A-Z][A-Z0-9_]+\b", rule[1])}
    listed = PAGE.partition("never names:")[2].partition("Words of other")[0]
    assert re.findall(r"`(\w+)`", listed) == [word for word in WORDS if word not in names]
