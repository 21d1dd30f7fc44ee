"""Shapes of updates: which texts are filled in without being parsed, and what is remembered of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.graphs import advance_text, loop
from tests.support.sparql import NOW, index_of
from tests.support.workflows import Release
from treadle.errors import SparqlLimit
from treadle.graph.sparql import shapes as module
from treadle.graph.sparql.shapes import Ground, Shapes
from treadle.graph.sparql.update import compute_delta
from treadle.graph.terms import IRI, Literal, Quad

RELEASE = Release()


def met(*texts: str, base: str | None = None) -> Ground | None:
    """What the last text is, after its shape was met twice in others."""
    shapes = Shapes()
    return [shapes.read(text, base) for text in texts][-1]


def test_an_advance_is_filled_in_from_the_second_on() -> None:
    shapes = Shapes()
    first, second = (advance_text(loop(RELEASE, revision)) for revision in (0, 2))
    assert shapes.read(first, None) is None
    found = shapes.read(second, None)
    assert found is not None
    index = index_of(found.where)
    assert found.evaluate(index, 100) == compute_delta(index, second, now=NOW, labels="r").delta
    assert (len(found.where), len(found.delete), len(found.insert)) == (3, 2, 12)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { <a:s> <a:p> {} }",
        "PREFIX ex: <a:> INSERT DATA { <a:s> ex:p {} ; a ex:T . GRAPH <a:g> { ex:s ex:p 1 , true } }",
        "PREFIX ex:<a:> DELETE DATA { <a:s> ex:p {} , 'z' }",
        "DELETE { <a:s> <a:p> 'x' } INSERT { <a:s> <a:p> {} . } WHERE { GRAPH <a:g> { <a:s> <a:p> 'x'@en } }",
        "insert data{<a:s><a:p>{}}",
    ],
)
@pytest.mark.parametrize("value", ["<a:o>", '"x y"', '"it\'s # <a:b> ; }"', "'say \"no\"'"])
def test_forms_that_are_filled_in(text: str, value: str) -> None:
    other = '"-"' if value[0] == '"' else "'-'" if value[0] == "'" else "<a:->"
    filled = text.replace("{}", value)
    found = met(text.replace("{}", other), text.replace("{}", other), filled)
    assert found is not None
    index = index_of([*found.where, *found.delete])
    assert found.evaluate(index, 100) == compute_delta(index, filled, now=NOW, labels="r").delta


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { _:b <a:p> <a:o> }",
        "INSERT DATA { <a:s> <a:p> [] }",
        "INSERT DATA { <a:s> <a:p> ( <a:o> ) }",
        "INSERT DATA { <a:s> <a:p> <a:o> } ; INSERT DATA { <a:t> <a:p> <a:o> }",
        "INSERT { <a:s> <a:p> ?o } WHERE { <a:s> <a:q> ?o }",
        "INSERT { <a:s> <a:p> <a:o> } WHERE { <a:s> <a:q> <a:o> FILTER(1 = 1) }",
        "INSERT { <a:s> <a:p> <a:o> } WHERE { <a:s> <a:q>/<a:r> <a:o> }",
        "INSERT { <a:s> <a:p> <a:o> } WHERE { GRAPH <a:g> {} }",
        "INSERT { <a:s> <a:p> <a:o> } WHERE { { <a:s> <a:q> <a:o> } }",
        "DELETE WHERE { <a:s> <a:p> <a:o> }",
        "WITH <a:g> INSERT { <a:s> <a:p> <a:o> } WHERE { <a:s> <a:q> <a:o> }",
        "INSERT { <a:s> <a:p> <a:o> } USING <a:g> WHERE { <a:s> <a:q> <a:o> }",
        "INSERT DATA { <a:s> <a:p> 01 }",
        "INSERT DATA { <a:s> <a:p> '''x''' }",
        "INSERT DATA { <a:s> <a:p> <a:o> } # <a:c>",
        "BASE <a:b> INSERT DATA { <a:s> <a:p> <a:o> }",
        "PREFIX ex:   <a:b> INSERT DATA { <a:s> <a:p> ex:o }",
        "CLEAR GRAPH <a:g>",
        "INSERT DATA { <a:s> <a:p> <a:o> ",
        "INSERT DATA { <a:s> '<a:p>' <a:o> }",
        "INSERT DATA { <a:s> <a:p> <a:o> \ud800 }",
        "",
        "INSERT DATA {}",
    ],
)
def test_forms_that_are_parsed(text: str) -> None:
    assert met(text, text, text) is None


@pytest.mark.parametrize("term", ["<o>", "<#o>", "<a:\\u0062>", "<http://[no>", "<a b>", "<a:\ud800>"])
def test_a_term_that_needs_a_closer_look_is_parsed(term: str) -> None:
    text = "INSERT DATA { <a:s> <a:p> <a:o> }"
    assert met(text, text) is not None
    assert met(text, text, text.replace("<a:o>", term), base="http://example.org/") is None


@pytest.mark.parametrize("value", ["01", "+1", "-0"])
def test_a_number_that_is_not_canonical_is_parsed(value: str) -> None:
    text = 'INSERT DATA { <a:s> <a:p> "%s"^^<http://www.w3.org/2001/XMLSchema#integer> }'
    assert met(text % "1", text % "2") is not None
    assert met(text % "1", text % "2", text % value) is None


def test_what_a_prefix_and_a_datatype_are_belongs_to_the_shape() -> None:
    text = "PREFIX ex: <%s> INSERT DATA { <a:s> ex:p 'x'^^<%s> }"
    shapes = Shapes()
    for prefix, datatype in (("a:", "d:"), ("b:", "d:"), ("a:", "e:")):
        assert shapes.read(text % (prefix, datatype), None) is None
        found = shapes.read(text % (prefix, datatype), None)
        assert found is not None
        assert found.insert == [Quad(IRI("a:s"), IRI(f"{prefix}p"), Literal("x", datatype))]


def test_the_bound_of_an_update_holds() -> None:
    found = met(*["INSERT DATA { <a:s> <a:p> 'x' , 'y' , 'z' }"] * 2)
    assert found is not None
    assert len(found.evaluate(index_of(), 3).added) == 3
    with pytest.raises(SparqlLimit, match="at most 2 statements"):
        found.evaluate(index_of(), 2)


def test_long_texts_and_many_terms_are_not_looked_at() -> None:
    long = f"INSERT DATA {{ <a:s> <a:p> '{'x' * module.CHARACTERS}' }}"
    many = f"INSERT DATA {{ {'<a:s> <a:p> <a:o> .' * (module.TERMS // 3 + 1)} }}"
    for text in (long, many):
        shapes = Shapes()
        assert [shapes.read(text, None) for _ in range(3)] == [None] * 3
        assert not shapes._known


def test_the_latest_shapes_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHAPES", 2)
    shapes = Shapes()
    texts = [f"INSERT DATA {{ <a:s> <a:p> <a:o> , {number} }}" for number in range(3)]
    for text in [texts[0], texts[0], texts[1], texts[0], texts[2]]:
        shapes.read(text, None)
    assert len(shapes._known) == 2
    assert shapes.read(texts[0], None) is not None, "it was used after the one that is forgotten"
    assert shapes.read(texts[1], None) is None


def test_many_threads() -> None:
    shapes = Shapes()
    texts = [f"INSERT DATA {{ <a:s{number}> <a:p> {number % 7} }}" for number in range(400)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda text: shapes.read(text, None), texts))
    for number, ground in enumerate(found):
        assert ground is None or ground.insert[0].s == IRI(f"a:s{number}")
    assert sum(ground is not None for ground in found) > 300
