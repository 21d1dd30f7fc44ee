"""Refusals of the reader (S001 to S008), with the exact span, and what it does after them."""

from __future__ import annotations

import pytest

from tests.unit.riff.refusals import MARK, command, declare, found, unmark, verify
from treadle.limits import DIAGNOSTICS, SOURCE_BYTES, SOURCE_TOKENS
from treadle.riff import compile_contract, parse

DEEP = "«S006:(»"


def nested(levels: int, mark: bool = False) -> str:
    """A condition in `levels` parentheses; contract and entity are two brackets more."""
    opening = "(" * (levels - 1) + (DEEP if mark else "(")
    return declare(f"entity E {{ key (e: uuid) invariant I: {opening}true{')' * levels} }}")


CASES = {
    # S003
    "digits and letters": declare("event E { a: string<«S003:12abc»> }"),
    "a point without digits after it": declare("event E { a: string<«S003:1.»> }"),
    "a point without digits before it": declare("event E { a: string<«S003:.5»> }"),
    "two points in a number": declare("event E { a: string<«S003:1.2.3»> }"),
    "three points": declare("event E { a: list<u64, 1«S003:...»4> }"),
    "letters that are not ASCII": declare("event «S003:Größe» { a: u64 }"),
    "a name of 257 bytes": declare(f"event «S003:{'a' * 257}» {{ a: u64 }}"),
    "a name of 256 bytes": declare(f"event {'a' * 256} {{ a: u64 }}"),
    "a semicolon": declare("event E { a: u64 «S003:;» }"),
    "several signs at once": declare("event E { a: u64 «S003:;;?» }"),
    "a single ampersand": command("read Shop(shop) as s else No {} require R: flag «S003:&» flag else No {}"),
    "a string without end": command('read Shop(shop) as s else No { a: «S003:"x }»\n }'),
    "a string with a bad escape": command('read Shop(shop) as s else No { a: «S003:"\\x"» }'),
    "a string with a control character": command('read Shop(shop) as s else No { a: «S003:"\t"» }'),
    "a string with NUL": command('read Shop(shop) as s else No { a: "a«S003:\\u0000»b" }'),
    "a string with half a pair": command('read Shop(shop) as s else No { a: "«S003:\\ud83d»b" }'),
    "a string with the other half": command('read Shop(shop) as s else No { a: "«S003:\\udE00»" }'),
    "a string with halves apart": command(
        'read Shop(shop) as s else No { a: "«S003:\\ud83d»-«S003:\\udE00»" }'
    ),
    "a string with a pair": command(
        'read Shop(shop) as s else No { a: "\\ud83d\\uDE00 \\" \\\\ \\/ \\b\\f\\n\\r\\t é" }'
    ),
    "NUL": declare("event E { a: u64 «S003:\0» }"),
    "a space that is none": declare("event E { a:«S003:\N{NO-BREAK SPACE}»u64 }"),
    "a form feed": declare("event E { a:«S003:\f»u64 }"),
    # S004
    "a word instead of a name": declare("entity «S004:read» { key (e: uuid) }"),
    "a name instead of a word": declare("entity E { «S004:keys» (e: uuid) }"),
    "a missing comma": declare("enum E { A «S004:B» }"),
    "a missing colon": declare("entity E { key (e «S004:uuid») }"),
    "an empty list": declare("entity E { key (e: uuid) index i («S004:)» }"),
    "a workflow without transitions": declare("workflow W { entity E state s «S004:}»"),
    "a missing brace": declare("entity E { key (e: uuid) «S004:enum» F { A } entity G { key (e: uuid) }"),
    "something after the end": "contract A version 1 { } «S004:contract» B version 1 { }",
    "something before it": "«S004:version» 1",
    "no version": "contract A «S004:{» }",
    "a missing else": command("read Shop(shop) as s «S004:require» R: flag else No {}"),
    "input after a binding": command("read Shop(shop) as s else No {} «S004:input» x: u64"),
    "input after return": command("read Shop(shop) as s else No {}", "return Ok {} «S004:input» x: u64"),
    "a binding after an effect": command(
        "read Shop(shop) as s else No {} emit Ended { shop: shop, at: tx.time }"
        " «S004:read» Item(shop, item) as i else No {}"
    ),
    "a requirement after an effect": command(
        "read Shop(shop) as s else No {} emit Ended { shop: shop, at: tx.time }"
        " «S004:require» R: flag else No {}"
    ),
    "a service value before an input": declare(
        "command C { service s: uuid_v7 «S004:input» k: uuid «S004:input» shop: uuid idempotency_key k"
        " read Shop(shop) as x else No {} return Ok {} }"
    ),
    "two keys": command("«S004:idempotency_key» request read Shop(shop) as s else No {}"),
    "two answers": command("read Shop(shop) as s else No {}", "return Ok {} «S004:return» Other {}"),
    "no answer": command("read Shop(shop) as s else No {}", "").replace("  }\n}\n", "  «S004:}»\n}\n"),
    "an input in an arm": command(
        "mutate Count(shop, day) as c else No {}"
        " decide c { when flag => apply { «S004:input» x: u64 } else => no_effect }"
    ),
    "a return in a loop": declare(
        "bulk command B { input k: uuid input shop: uuid input l: list<uuid, 1..2> idempotency_key k"
        " for x in l { read Item(shop, x) as i else No {} «S004:return» A {} } return Ok {} }"
    ),
    "a loop in a loop": declare(
        "bulk command B { input k: uuid input shop: uuid input l: list<uuid, 1..2> idempotency_key k"
        " for x in l { read Item(shop, x) as i else No {} «S004:for» y in l { } } return Ok {} }"
    ),
    "a decision in an arm": command(
        "mutate Count(shop, day) as c else No {} decide c { when flag => apply {"
        " «S004:decide» c { when flag => no_effect else => no_effect } } else => no_effect }"
    ),
    # S008
    "a block comment": declare("«S008:/* event\n E */» event F { a: u64 }"),
    "a block comment without end": "contract A version 1 { } «S008:/* x»",
    "a declaration of another language": declare("«S008:query» Q { one x from E } event F { a: u64 }"),
    "an item of another language": declare("entity E { key (e: uuid) «S008:text_index» i (e) field a: u64 }"),
    "a clause of another language": command("«S008:include» Shop(shop) read Shop(shop) as s else No {}"),
    "a type of another language": declare("event E { a: «S008:vector»<3> b: u64 }"),
    "a default": declare("entity E { key (e: uuid) field a: u64 «S008:default» 0 field b: u64 }"),
    "an option of an index": declare("entity E { key (e: uuid) index i (e) «S008:cover» (e) field b: u64 }"),
    "another text key": declare(
        "entity E { key (e: string<9>) index i (e) text_key (e, «S008:unicode_fold_v1») }"
    ),
    "such a word as a name": declare(
        "entity query { key (module: uuid) field default: u64 field vector: u64 index import (module) }"
        " event include { approval: u64 }"
    ),
    # Words that are names elsewhere
    "contextual words as names": declare(
        "entity key { key (key: uuid, field: uuid) field state: State field version: u64 field secret: bool"
        " field secret owner: u64 field presence: optional<u64> index index (key, presence)"
        " presence (presence) }"
        " event event { partition_by (partition_by) partition_by: uuid field: u64 list: u64 }"
        " aggregate root { root key partition_by key conflict_key (key, field) }"
    ),
    # S006
    "30 parentheses": nested(30),
    "31 parentheses": nested(31, mark=True),
    "prefix operators": declare("entity E { key (e: uuid) invariant I: " + "!" * 30 + "«S006:!»true }"),
    "prefix operators and brackets": declare(
        "entity E { key (e: uuid) invariant I: " + "!(" * 15 + "«S006:!»" + "(true" + ")" * 16 + " }"
    ),
    "operators one after another": declare(
        "entity E { key (e: uuid) invariant I: " + "!true && (true) || " * 40 + "true }"
    ),
    "types": declare("event E { a: " + "list<" * 31 + "«S006:<»"[0:0] + "u64" + ", 2>" * 31 + " }").replace(
        "list<" * 31, "list<" * 30 + "list«S006:<»"
    ),
    "deeper than any stack": declare(
        "entity E { key (e: uuid) invariant I: " + "(" * 30 + "«S006:(»" + "(" * 9_000
    ),
    # S007
    "1,024 in a list": declare("enum E { " + ", ".join(f"V{n}" for n in range(1024)) + " }"),
    "1,025 in a list": declare("enum E { " + ", ".join(f"V{n}" for n in range(1024)) + ", «S007:last» }"),
    "4,096 members": declare("event E { " + " ".join(f"f{n}: u64" for n in range(4096)) + " }"),
    "4,097 members": declare(
        "event E { " + " ".join(f"f{n}: u64" for n in range(4096)) + " «S007:last: u64» }"
    ),
    "operands of a chain": declare(
        "entity E { key (e: uuid) invariant I: " + "true && " * 1023 + "true «S007:&&» true }"
    ),
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_refused(text: str) -> None:
    verify(text)


def test_the_text_ends_too_early() -> None:
    for text in ("", "contract", "contract A version 1 {", declare("event E {")[:-3]):
        compiled = compile_contract(text)
        end = len(text.rstrip())
        assert found(compiled) == [("S005", end, end)], compiled.render()
        related = compiled.diagnostics[0].related
        assert bool(related) == ("{" in text) and all("waits for its `}`" in each.message for each in related)


def test_too_long() -> None:
    fits = "contract A version 1 {}" + " " * (SOURCE_BYTES - 23)
    assert compile_contract(fits).contract is not None
    for text in (fits + " ", (fits + " ").encode(), fits[:-1] + "é"):
        assert found(compile_contract(text)) == [("S001", 0, 0)]


def test_too_many_tokens() -> None:
    start = "contract A version 1 {"
    text = start + "}" * (SOURCE_TOKENS - 5) + "!"
    compiled = compile_contract(text)
    assert found(compiled)[-1] == ("S002", len(text) - 1, len(text))
    assert "S002" not in [each.code for each in compile_contract(text[:-1]).diagnostics]


def test_bytes_that_are_not_utf8() -> None:
    compiled = compile_contract(b"contract \xc3\xa4\nA \xff version 1 {}")
    assert [(each.code, each.span.start.line, each.span.start.column) for each in compiled.diagnostics] == [
        ("S003", 2, 3)
    ]
    assert found(compile_contract("contract A version 1 {} // \ud800")) == [("S003", 27, 28)]


def test_a_byte_order_mark_and_line_ends() -> None:
    plain = compile_contract("contract A version 1 {\n  enum E { A }\n}\n")
    marked = compile_contract(b"\xef\xbb\xbfcontract A version 1 {\r\n  enum E { A }\r\n}\r\n")
    assert plain.contract == marked.contract and plain.identity == marked.identity
    assert found(compile_contract("\ufeff\ufeffcontract A version 1 {}"))[0] == ("S003", 0, 1)


def test_columns_count_code_points() -> None:
    compiled = compile_contract(
        'contract A version 1 {\r\n  // \U0001f600\r\n  event E { a: "\U0001f600" }\r\n}'
    )
    only = compiled.diagnostics[0].span
    assert (only.start.line, only.start.column, only.end.line, only.end.column) == (3, 16, 3, 19)
    compiled = compile_contract("contract A version 1 { /* \U0001f600 */ event E { a: v } }")
    assert [each.span.start.column for each in compiled.diagnostics] == [24]


def test_reading_goes_on_after_an_error() -> None:
    marked = unmark(
        "contract A version 1 {\n"
        " entity E { key (e «S004:uuid») field «S004:5»: u64 }\n"
        " enum F { A «S004:B» }\n"
        " event G { a: u64 «S008:default» 0 }\n"
        " workflow W { entity E state s «S004:lease» }\n"
        " command C { input a: «S004:5» read E(a «S004:as» e else X {} return D {} }\n"
        " aggregate H { root E partition_by («S004:)» conflict_key (e) }\n"
        "}"
    )
    assert found(compile_contract(marked.text)) == marked.expected


def test_at_most_32_in_source_order() -> None:
    for text in (
        "contract A version 1 { " + "event E { a: 5 } " * 100 + "}",
        "contract A version 1 { " + "event E { a: Nothing } " * 100 + "}",
        "contract A version 1 { " + "; " * 100 + "}",
    ):
        compiled = compile_contract(text)
        places = [start for _, start, _ in found(compiled)]
        assert len(places) == DIAGNOSTICS and places == sorted(places) and places[0] < 60


def test_a_tree_knows_nothing_of_layout() -> None:
    spread = MARK.sub(r"\2", declare("")).replace(" ", '\n  // a comment, with ; and "\n')
    first, second = parse(declare("")), parse(spread)
    assert first.tree == second.tree and first.tree is not None
    assert len(second.lexed.comments) > 100 and not first.lexed.comments
