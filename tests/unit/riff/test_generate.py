"""The shipped parse table is the grammar's, and the driver reads what Lark's own parser reads."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import lark
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.shared import ROOT
from tests.unit.riff.refusals import declare
from treadle.riff import generate
from treadle.riff.diagnostics import Report, Source
from treadle.riff.lalr import END, Driver, Token
from treadle.riff.parse import parse
from treadle.riff.tokens import FOREIGN, kinds, lex, table, words
from treadle.riff.tree import Tree

GOLDEN = ROOT / "tests" / "golden" / "riff"
RESERVED = words(
    """exists bool i64 u64 timestamp date uuid true false null contract enum entity aggregate command
    reimport input read mutate create init_or_mutate observe_or_initialize decide require set emit return for
    else as"""
)


@pytest.fixture(scope="module")
def reference() -> lark.Lark:
    """Lark's own parser, built strictly: a conflict in the grammar is an error here."""
    return generate.reference(generate.GRAMMAR, "contract")


def test_the_table_is_the_grammars() -> None:
    made = generate.make(generate.GRAMMAR, "contract")
    assert made == generate.TABLE.read_bytes(), "run `python -m treadle.riff.generate` and commit the result"


def test_the_table_does_not_depend_on_the_order_of_sets() -> None:
    program = (
        "import hashlib; from treadle.riff import generate as g;"
        "print(hashlib.sha256(g.make(g.GRAMMAR, 'contract')).hexdigest())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_reserved_words_are_no_names_and_all_others_are() -> None:
    known = {text for text in kinds() if text[0].isalpha()}
    assert known >= RESERVED
    for word in known:
        tree = parse(f"contract {word} version 1 {{}}").tree
        assert (tree is None) == (word in RESERVED), word
    assert not FOREIGN & known


def test_every_action_has_a_builder() -> None:
    actions = {rule.action for rule in table().rules} - {"", "+"}
    assert actions == set(Tree(Report()).builders)


def test_loading_needs_neither_lark_nor_the_grammar() -> None:
    program = (
        "import sys; from treadle.riff import compile_contract;"
        "assert compile_contract('contract A version 1 {}').contract;"
        "print(sorted(name for name in sys.modules if name.split('.')[0] == 'lark'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[]"


def accepted_by_lark(parser: lark.Lark, tokens: list[Token]) -> bool:
    text: Any = tokens[:-1]
    try:
        parser.parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    return True


def accepted_by_us(tokens: list[Token]) -> int | None:
    """The place of the first token that cannot stand, or None."""
    driver = Driver(table(), Tree(Report()).builders)
    for place, token in enumerate(tokens):
        if token.kind == END:
            return None if driver.accepts(END) else place
        if not driver.feed(token):
            return place
    return None


def tokens_of(text: str) -> list[Token]:
    return lex(Source(text), Report()).tokens


def test_both_read_whole_contracts(reference: lark.Lark) -> None:
    for path in sorted(GOLDEN.glob("*.riff")):
        tokens = tokens_of(path.read_text(encoding="utf-8"))
        assert accepted_by_us(tokens) is None and accepted_by_lark(reference, tokens), path.name


WHOLE = tokens_of((GOLDEN / "everything.riff").read_text(encoding="utf-8"))
SORTS = sorted({token.kind: token for token in WHOLE}.items())


@given(st.data())
def test_both_refuse_the_same(reference: lark.Lark, data: st.DataObject) -> None:
    """A contract with some tokens dropped, doubled or replaced: both parsers agree whether it is one."""
    tokens = list(tokens_of(declare("event E { a: list<u64, 1..4> b: optional<string<5>> }")))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(tokens) - 2))
        kind, other = data.draw(st.sampled_from(SORTS))
        edit = data.draw(st.sampled_from(("drop", "double", "replace", "insert")))
        assert kind == other.kind
        fresh = {
            "drop": [],
            "double": [tokens[place]] * 2,
            "replace": [other],
            "insert": [other, tokens[place]],
        }
        tokens[place : place + 1] = fresh[edit]
    assert (accepted_by_us(tokens) is None) == accepted_by_lark(reference, tokens)


def test_a_refused_token_leaves_the_stacks_alone() -> None:
    driver = Driver(table(), Tree(Report()).builders)
    for token in tokens_of("contract A version 1 { entity E { key (a: uuid) invariant I: a + b")[:-1]:
        assert driver.feed(token)
    before = list(driver.states), list(driver.values), list(driver.starts)
    for kind in ("ELSE", "VERSION", "QUOTED", "LESS_OF_ALL"):
        assert not driver.feed(Token(kind, "x", 0, 1))
        assert (driver.states, driver.values, driver.starts) == before
    assert {"RBRACE", "PLUS", "KEY", "RPAR"} - set(driver.expected()) == {"RPAR"}
