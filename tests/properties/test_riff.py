"""The compiler is total: any text gives a contract that has a plan, or diagnostics in source order."""

from __future__ import annotations

import json
from functools import partial

from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.calls import calls
from tests.support.shared import ROOT
from treadle.limits import DIAGNOSTICS
from treadle.model.contract import decode, encode
from treadle.plan import build
from treadle.riff import Compiled, compile_contract, to_json
from treadle.riff.lalr import END
from treadle.riff.parse import parse
from treadle.riff.tokens import FOREIGN, kinds

EVERYTHING = (ROOT / "tests" / "golden" / "riff" / "everything.riff").read_text(encoding="utf-8")
TOKENS = [token for token in parse(EVERYTHING).lexed.tokens if token.kind != END]
NAMES = sorted({token.text for token in TOKENS if token.kind == "IDENT"})
VOCABULARY = sorted(
    {*kinds(), *FOREIGN, *NAMES, "0", "1", "9" * 50, "1.50", '"x"', "1x", "é", ";", '"', "/*", "//\n"}
)


def total(source: str | bytes) -> Compiled:
    """Compile, and check what holds for every text."""
    compiled = compile_contract(source)
    found = compiled.diagnostics
    assert len(found) <= DIAGNOSTICS
    assert (compiled.contract is None) == any(each.is_error for each in found)
    size = len(compiled.source.text)
    for each in found:
        assert 0 <= each.span.start.offset <= each.span.end.offset <= size
    assert [each.span.start.offset for each in found] == sorted(each.span.start.offset for each in found)
    json.dumps(to_json(found))
    compiled.render()
    if compiled.contract is not None:
        assert decode(encode(compiled.contract)) == compiled.contract
        build(compiled.contract)
    return compiled


@given(st.binary(max_size=200))
@example(b"")
@example(b"\xef\xbb\xbf")
@example(b"\xff")
@example(b"contract A version 1 {\0}")
def test_bytes(source: bytes) -> None:
    total(source)


@given(st.text(max_size=200))
def test_text(source: str) -> None:
    total(source)


@given(st.lists(st.sampled_from(VOCABULARY), max_size=60), st.booleans())
def test_words(words: list[str], inside: bool) -> None:
    text = " ".join(words)
    total(f"contract A version 1 {{ {text} }}" if inside else text)


@given(st.data())
def test_tokens_dropped_doubled_and_exchanged(data: st.DataObject) -> None:
    """A contract with some tokens changed: most stay readable, so that the checks see the damage."""
    texts = [token.text for token in TOKENS]
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(texts) - 1))
        edit = data.draw(st.sampled_from(("drop", "double", "word", "name", "cut", "move")))
        if edit == "drop":
            del texts[place]
        elif edit == "double":
            texts.insert(place, texts[place])
        elif edit == "word":
            texts[place] = data.draw(st.sampled_from(VOCABULARY))
        elif edit == "name":
            texts[place] = data.draw(st.sampled_from(NAMES))
        elif edit == "cut":
            del texts[place : place + data.draw(st.integers(1, 40))]
        else:
            piece = texts[place : place + data.draw(st.integers(1, 40))]
            goal = data.draw(st.integers(0, len(texts)))
            texts[goal:goal] = piece
        if not texts:
            return
    total(" ".join(texts))


@given(st.data())
def test_names_exchanged(data: st.DataObject) -> None:
    """Readable contracts in which names mean something else: the checks never trip over each other."""
    places = [place for place, token in enumerate(TOKENS) if token.kind == "IDENT"]
    texts = [token.text for token in TOKENS]
    for place in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=12)):
        texts[place] = data.draw(st.sampled_from(NAMES))
    assert total(" ".join(texts)).identity is not None


@given(st.data())
def test_pieces_of_text(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(EVERYTHING)))
    end = data.draw(st.integers(start, len(EVERYTHING)))
    cut = data.draw(st.booleans())
    total(EVERYTHING[:start] + EVERYTHING[end:] if cut else EVERYTHING[start:end])


def test_time_is_linear() -> None:
    """Counted in calls, so that a busy machine does not matter: twice the text, about twice the calls."""
    for one in (
        (
            "enum S{n} {{ A, B }} entity E{n} {{ key (a: uuid) field s: S{n} }}"
            " aggregate A{n} {{ root E{n} partition_by a conflict_key (a) }}"
            " command C{n} {{ input k: uuid input a: uuid idempotency_key k mutate E{n}(a) as e else No {{}}"
            " return Ok {{ e: e }} }}\n"
        ),
        "entity E{n} {{ field a: Nothing{n} }}\n",
        "entity {{ ( ; {n}x \n",
        "(((((((((( {n}",
        "}} }} }} ;",
    ):
        small, large = (
            "contract A version 1 {" + "".join(one.format(n=n) for n in range(size)) + "}"
            for size in (100, 400)
        )
        few, many = (calls(partial(compile_contract, source)) for source in (small, large))
        assert many <= 4.4 * few + 2000, one
