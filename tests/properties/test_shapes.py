"""Texts of known shapes: filled in, they come to what they come to when they are parsed, errors included."""

from __future__ import annotations

import re

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.support.sparql import NOW, index_of
from tests.support.updates import EX, operations, quads
from treadle.errors import TreadleError
from treadle.graph.delta import Delta
from treadle.graph.sparql.shapes import Ground, Shapes
from treadle.graph.sparql.update import compute_delta
from treadle.graph.terms import XSD, Quad

BASE = "http://example.org/base"
IRIS = [
    f"<{EX}a>",
    f"<{EX}b>",
    f"<{EX}p>",
    f"<{EX}g>",
    "<relative>",
    "<#part>",
    "<http://[bad>",
    "<a:%zz>",
    "<x:é>",
    "<a:\\u0062>",
    "<urn:x-treadle:0:1>",
    "<:>",
    "<>",
    "<a:\ue000>",
    "<a:\ud800>",
    "<a b>",
]
STRINGS = [
    '"x"',
    '""',
    '"1"',
    '"01"',
    '"it\'s # <no> comment ; {"',
    '"\\n"',
    '"\\u0041"',
    '"\t"',
    '"true"',
    '"2020-01-01T00:00:00+00:00"',
    '"2020-01-01T00:00:00Z"',
    '"\0"',
    '"\ud800"',
    '"two\nlines"',
    '"',
    '"""long"""',
]
AFTER = ["", "@en", "@EN", f"^^<{XSD}integer>", f"^^ <{XSD}integer>", f"^^<{XSD}string>", "^^ex:t"]
BETWEEN = [" ", "\n", "  ", " # <comment>\n", ""]
HEADS = ["", f"PREFIX ex: <{EX}> ", f"PREFIX ex:<{EX}>\n", f"PREFIX ex:   <{EX}> ", "BASE <http://b/> "]
TERM = re.compile(r'<[^<>]*>|"[^"]*"')

iri = st.sampled_from([*IRIS[:4] * 5, *IRIS])
named = st.one_of(iri, iri, st.sampled_from(["ex:a", "ex:", "a", "_:n", "?v", "[]"]))
value = st.one_of(
    iri,
    st.tuples(st.sampled_from([*STRINGS[:4] * 5, *STRINGS]), st.sampled_from([*AFTER, ""])).map("".join),
    st.sampled_from(["1", "01", "true", "-2.5", "'s'", "ex:b"]),
)
triple = st.tuples(iri, named, value).map(list)
sound = st.sampled_from(IRIS[:4])
sound_triple = st.tuples(
    sound,
    st.one_of(sound, sound, sound, st.just("a")),
    st.one_of(
        sound, st.tuples(st.sampled_from(STRINGS[:3]), st.sampled_from(["", "@en", AFTER[3]])).map("".join)
    ),
).map(list)


@st.composite
def sound_blocks(draw: st.DrawFn) -> str:
    """Ground statements within braces, in the default graph, another one or both."""
    first, second = (
        "".join(
            " ".join(words) + draw(st.sampled_from([" . ", " .\n", f" ; <{EX}q> 1 . "])) for words in found
        )
        for found in (draw(st.lists(sound_triple, max_size=2)), draw(st.lists(sound_triple, max_size=2)))
    )
    return f"{{ {first}{draw(st.sampled_from(['', '', f'GRAPH <{EX}g> {{ {second} }}']))} }}"


@st.composite
def odd_blocks(draw: st.DrawFn) -> str:
    """Statements within braces, oddly spaced."""
    found: list[str] = []
    for words in draw(st.lists(triple, max_size=3)):
        for word in words:
            found += [word, draw(st.sampled_from([*BETWEEN[:1] * 6, *BETWEEN]))]
        found.append(draw(st.sampled_from([" . ", " . ", ".", f" ; <{EX}p> 1 . ", f" , <{EX}b> . ", " "])))
    inner = "".join(found)
    graph = draw(st.sampled_from(["", "", "", f"GRAPH <{EX}g> ", "GRAPH ex:g "]))
    return f"{{ {graph}{{ {inner} }} }}" if graph else f"{{ {inner} }}"


@st.composite
def ground(draw: st.DrawFn) -> str:
    """An update that may be a compare-and-set, or no update at all."""
    blocks = draw(st.sampled_from([sound_blocks(), sound_blocks(), sound_blocks(), odd_blocks()]))
    one, two, three = draw(blocks), draw(blocks), draw(blocks)
    form = draw(
        st.sampled_from(
            [
                f"DELETE {one} INSERT {two} WHERE {three}",
                f"DELETE {one} INSERT {two} WHERE {three}",
                f"INSERT {one} WHERE {one}",
                f"DELETE {one} WHERE {one}",
                f"INSERT DATA {one}",
                f"DELETE DATA {one}",
                f"WITH <{EX}g> DELETE {one} INSERT {two} WHERE {three}",
                f"DELETE {one} USING <{EX}g> WHERE {three}",
                f"INSERT DATA {one} ; INSERT DATA {two}",
            ]
        )
    )
    return draw(st.sampled_from([*HEADS[:2] * 4, *HEADS])) + form


def others(text: str, words: list[str]) -> str:
    """The text with other terms in the places of its terms."""
    left = iter(words)
    return TERM.sub(lambda found: next(left, found[0]), text)


def parsed(statements: list[Quad], text: str, most: int) -> Delta | None:
    """The change that the text makes when it is taken apart; None for an error."""
    try:
        return compute_delta(
            index_of(statements), text, now=NOW, labels="r", base=BASE, most=most, path="direct"
        ).delta
    except (TreadleError, ValueError):
        return None


def filled(statements: list[Quad], found: Ground, most: int) -> Delta | None:
    try:
        return found.evaluate(index_of(statements), most)
    except TreadleError:
        return None


def agree(shapes: Shapes, statements: list[Quad], text: str, most: int = 100) -> None:
    found = shapes.read(text, BASE)
    event("filled in" if found else "parsed")
    if found is not None:
        expected = parsed(statements, text, most)
        assert filled(statements, found, most) == expected
        assert expected is None or not expected.respelled


@settings(max_examples=effort(300))
@given(
    quads(),
    ground(),
    st.lists(st.one_of(st.sampled_from(IRIS), st.sampled_from(STRINGS)), max_size=12),
    st.sampled_from([2, 100, 100, 100]),
)
@example([], f'INSERT DATA {{ <{EX}a> <{EX}p> "1"^^<{XSD}integer> }}', [f"<{EX}a>", f"<{EX}p>", '"01"'], 100)
def test_other_terms_in_a_shape(statements: list[Quad], text: str, words: list[str], most: int) -> None:
    shapes = Shapes()
    for _ in range(2):
        agree(shapes, statements, text, most)
    agree(shapes, statements, others(text, words), most)
    agree(shapes, statements, others(text, list(reversed(words))), most)
    agree(shapes, statements, text, most)


@settings(max_examples=effort(150))
@given(quads(), operations)
def test_any_operation(statements: list[Quad], text: str) -> None:
    shapes = Shapes()
    for _ in range(3):
        agree(shapes, statements, text)


WORDS = [
    "<a:b>",
    "<a:c>",
    '"x"',
    '"y"',
    "<b",
    "c>",
    '"',
    "#",
    ".",
    "{",
    "}",
    "^^",
    "ex:",
    " ",
    "\n",
    "'",
    "<",
    "\\",
]


@settings(max_examples=effort(300))
@given(st.lists(st.sampled_from(WORDS), max_size=14), st.lists(st.sampled_from(WORDS), max_size=14))
def test_hostile_spacing(one: list[str], two: list[str]) -> None:
    shapes = Shapes()
    texts = [f"INSERT DATA {{ <a:s> <a:p> {''.join(words)} }}" for words in (one, one, two, one)]
    for text in texts:
        agree(shapes, [], text)
