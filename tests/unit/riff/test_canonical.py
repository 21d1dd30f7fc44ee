"""The identity of a contract: what it says, not how it is laid out."""

from __future__ import annotations

import hashlib

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
    source = canonical_source(parse("contract A version 1 { enum E { X, } }").lexed.tokens)
    assert source == b"contract\nA\nversion\n1\n{\nenum\nE\n{\nX\n}\n}\n"
    identity = compile_contract("contract A version 1 { enum E { X } }").identity
    assert identity == hashlib.sha256(b"treadle riff source 1\n" + source).hexdigest()
    assert identity == "eaf599fef225c5f2b25ec2ef5a70300abf3692f1f09a233e477358d216266217"


def test_what_is_not_of_the_grammar_has_none() -> None:
    assert compile_contract("contract A version 1 {").identity is None
    refused = compile_contract("contract A version 0 {}")
    assert refused.identity is not None and refused.contract is None
