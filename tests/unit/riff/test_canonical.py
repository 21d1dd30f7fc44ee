"""The identity of a contract: what it says, not how it is laid out."""

from __future__ import annotations

import hashlib
import json
import re

from tests.support.shared import ROOT
from treadle.riff import compile_contract, parse
from treadle.riff.canonical import canonical_source

TEXT = "contract A version 1 { enum E { X, Y } entity T { key (t: uuid) field e: E field s: string<9> } }"


def test_layout_comments_and_trailing_commas_do_not_count() -> None:
    other = (
        "\ufeff// note\ncontract A version 1 {\r\n enum E { X, Y, }\n entity T { key (t: uuid,) // more\n"
        "\tfield e:E field s:string<9>}}"
    )
    assert compile_contract(TEXT).identity == compile_contract(other).identity


def test_every_token_counts() -> None:
    others = [
        TEXT.replace("version 1", "version 2"),
        TEXT.replace("X, Y", "Y, X"),
        TEXT.replace("string<9>", "string<10>"),
        TEXT.replace("contract A", "contract B"),
    ]
    assert len({compile_contract(text).identity for text in [TEXT, *others]}) == 5


def test_the_vector() -> None:
    """The page of the format shows a contract, its form and its identity."""
    page = (ROOT / "docs" / "formats" / "contract.md").read_text(encoding="utf-8")
    text, vector = (re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)[0] for kind in ("riff", "json"))
    form, identity = json.loads(vector).values()
    assert canonical_source(parse(text).lexed.tokens) == form.encode()
    assert hashlib.sha256(b"treadle riff source 1\n" + form.encode()).hexdigest() == identity
    assert compile_contract(text).identity == identity


def test_what_is_not_of_the_grammar_has_none() -> None:
    assert compile_contract("contract A version 1 {").identity is None
    refused = compile_contract("contract A version 0 {}")
    assert refused.identity is not None and refused.contract is None
