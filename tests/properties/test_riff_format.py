"""Formatting keeps what a contract says and every comment, and has one result for one contract."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.properties.test_riff import EVERYTHING, NAMES, TOKENS
from tests.support.effort import effort
from treadle.riff import format_contract, parse
from treadle.riff.canonical import canonical_source
from treadle.riff.lalr import Token

BARE = [token.text for token in TOKENS]
LAID_OUT = format_contract(" ".join(BARE)).text


def comments(text: str) -> list[str]:
    return sorted(comment.text.rstrip() for comment in parse(text).lexed.comments)


def check_format(text: str) -> str:
    """What holds for every readable text; gives the formatted one."""
    formatted = format_contract(text).text
    assert formatted is not None
    before, after = parse(text), parse(formatted)
    assert after.tree == before.tree
    assert canonical_source(after.lexed.tokens) == canonical_source(before.lexed.tokens)
    assert comments(formatted) == comments(text)
    assert format_contract(formatted).text == formatted
    assert not re.search(r"[ \t]+$|\n\n\n|\r", formatted, re.MULTILINE) and formatted.endswith("\n")
    return formatted


def spelled(tokens: list[Token], gaps: list[str]) -> str:
    return "".join(token.text + gap for token, gap in zip(tokens, gaps, strict=True))


GAPS = st.sampled_from(
    (" ", "\n", "\r\n", "\n\n\n", "\t", "  ", " //a\n", '\n// b, "c }\n', "\n\n//d\n\n\n", "//\n")
)


@given(st.data())
def test_one_layout_for_all(data: st.DataObject) -> None:
    """Blank space of any kind between any two tokens: the result is the same."""
    gap = data.draw(st.sampled_from((" ", "\n", "\r\n", "\t \n")))
    places = data.draw(st.sets(st.integers(0, len(TOKENS) - 1), max_size=400))
    other = data.draw(st.sampled_from(("\n\n\n", "  ", "\n")))
    gaps = [other if place in places else gap for place in range(len(TOKENS))]
    assert format_contract(spelled(TOKENS, gaps)).text == LAID_OUT


@settings(max_examples=effort(12))
@given(st.dictionaries(st.integers(0, len(TOKENS) - 1), GAPS, max_size=60))
@example(dict.fromkeys(range(len(TOKENS)), " // beside\n"))
@example(dict.fromkeys(range(len(TOKENS)), "\n// above\n"))
@example(dict.fromkeys(range(len(TOKENS)), "\n\n// apart\n\n"))
def test_comments_anywhere(gaps: dict[int, str]) -> None:
    check_format(spelled(TOKENS, [gaps.get(place, " ") for place in range(len(TOKENS))]))


@settings(max_examples=effort(12))
@given(st.data())
def test_contracts_that_the_checks_refuse(data: st.DataObject) -> None:
    """Names of any length: what is readable is formatted, whatever it means."""
    texts = list(BARE)
    places = [place for place, token in enumerate(TOKENS) if token.kind == "IDENT"]
    for place in data.draw(st.lists(st.sampled_from(places), max_size=30)):
        texts[place] = data.draw(st.sampled_from((*NAMES, "a", "a_long_name_" * 8, "x" * 120)))
    check_format(" ".join(texts))


OPERATORS = st.sampled_from(("||", "&&", "==", "<", "+", "-", "*", "/", "in"))
EXPRESSIONS = st.recursive(
    st.sampled_from(("a", "b.c", "1", "-1", "!d", "null", '"x"')),
    lambda inner: st.one_of(
        st.builds("({})".format, inner),
        st.builds("{} {} {}".format, inner, OPERATORS, inner),
        st.builds("-({})".format, inner),
        st.builds("{} is not null".format, inner),
        st.builds("exists E.i({}, {})".format, inner, inner),
    ),
    max_leaves=40,
)


@given(EXPRESSIONS)
def test_expressions(expression: str) -> None:
    text = f"contract A version 1 {{ row policy P on E {{ allow read when {expression} }} }}"
    if parse(text).tree is not None:
        check_format(text)


def test_a_contract_that_cannot_be_read_is_left_alone() -> None:
    formatted = format_contract("contract A version 1 {")
    assert formatted.text is None and formatted.diagnostics[0].code == "S005"


def test_the_golden_contract_is_laid_out() -> None:
    assert check_format(EVERYTHING) == EVERYTHING
