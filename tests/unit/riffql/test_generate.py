"""The shipped parse table is the grammar's, and needs neither Lark nor the grammar."""

from __future__ import annotations

import subprocess
import sys

from tests.support.shared import ROOT
from treadle.riff import generate as riff
from treadle.riff.diagnostics import Report
from treadle.riffql import generate
from treadle.riffql.language import FOREIGN, GRAMMAR, INSTEAD, TABLE, language, table
from treadle.riffql.parse import parse
from treadle.riffql.tree import QueryTree

RESERVED = {
    "bool",
    "i64",
    "u64",
    "timestamp",
    "date",
    "uuid",
    "true",
    "false",
    "null",
    "return",
    "else",
    "reveals",
}


def test_the_table_is_the_grammars() -> None:
    assert generate.make() == TABLE.read_bytes(), (
        "run `python -m treadle.riffql.generate` and commit the result"
    )


def test_the_grammar_has_no_conflict() -> None:
    riff.reference(GRAMMAR, generate.START)  # strict: a conflict raises


def test_every_action_has_a_builder() -> None:
    actions = {rule.action for rule in table().rules} - {"", "+"}
    assert actions <= set(QueryTree(Report()).builders)


def test_reserved_words_are_no_names_and_all_others_are() -> None:
    known = {text for text in language().kinds if text[0].isalpha()}
    assert known >= RESERVED
    for word in known:
        text = f"query {word} {{ many {word} from {word} return {word} {{ {word}: {word} {{ {word} }} }} }}"
        assert (parse(text).queries is None) == (word in RESERVED), word


def test_words_of_other_languages() -> None:
    assert set(INSTEAD) <= FOREIGN and not FOREIGN & set(language().kinds)
    riff_kinds = {
        text for text in (ROOT / "src/treadle/riff/riff.lark").read_text().split('"') if text.isalpha()
    }
    assert "union" in FOREIGN and "contract" in riff_kinds


def test_compiling_needs_no_lark() -> None:
    program = (
        "import sys; from treadle.riffql.parse import parse;"
        "assert parse('query A { many a from A take 1 return F { a: a { b } } }').queries;"
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
