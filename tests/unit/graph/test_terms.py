"""Terms and statements as values."""

from __future__ import annotations

import copy
import pickle

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.terms import (
    IRI,
    RDF_LANG_STRING,
    XSD_INTEGER,
    XSD_STRING,
    BlankNode,
    Literal,
    Quad,
    quad_order,
    sorted_quads,
)

A, B = IRI("http://example.org/a"), IRI("http://example.org/b")


@pytest.mark.parametrize(
    "term",
    [
        A,
        IRI("urn:x:é"),
        BlankNode("b.1-x"),
        Literal("x"),
        Literal("5", XSD_INTEGER),
        Literal("x", language="EN-gb"),
        Literal('quote " back \\ line\n tab\t bell\x07 del\x7f é 😀'),
    ],
)
def test_n3_reads_back(term: IRI | BlankNode | Literal) -> None:
    text = f"{A.n3()} {A.n3()} {term.n3()} ."
    [quad] = ox.parse(text, ox.RdfFormat.N_TRIPLES)
    assert str(quad.object) == term.n3()
    for other in (copy.copy(term), copy.deepcopy(term), pickle.loads(pickle.dumps(term))):
        assert other == term and type(other) is type(term) and hash(other) == hash(term)


@given(st.text(st.characters(blacklist_categories=["Cs"]), max_size=20))
def test_a_literal_is_written_as_n_triples_write_it(text: str) -> None:
    assert Literal(text).n3() == str(ox.Literal(text))


def test_terms_of_different_kinds_are_different() -> None:
    terms = [IRI("a:x"), BlankNode("x"), Literal("x"), Literal("x", language="x"), Literal("x", XSD_INTEGER)]
    assert len(set(terms)) == len(terms)
    assert sorted([Literal("b"), BlankNode("z"), IRI("z:z"), IRI("a:a")]) == [
        IRI("a:a"),
        IRI("z:z"),
        BlankNode("z"),
        Literal("b"),
    ]


@pytest.mark.parametrize(
    "text", ["", "no-scheme", "http://a b", "http://a<b", "a:\n", "a:\x00", "a:\ud800", "1a:b", "a:{"]
)
def test_what_is_no_iri(text: str) -> None:
    with pytest.raises(ValueError, match="not an absolute IRI"):
        IRI(text)


@pytest.mark.parametrize("label", ["", "-a", ".a", "a.", "a b", "a:b", "a\n"])
def test_what_is_no_blank_node_label(label: str) -> None:
    with pytest.raises(ValueError, match="not a blank node label"):
        BlankNode(label)


def test_parts_of_a_literal() -> None:
    assert (Literal("x").datatype, Literal("x").language) == (XSD_STRING, None)
    assert Literal("x") == Literal("x", XSD_STRING) == Literal("x", IRI(XSD_STRING))
    tagged = Literal("x", language="EN")
    assert (tagged.datatype, tagged.language) == (RDF_LANG_STRING, "en")
    assert repr(tagged) == "Literal('x', language='en')" and str(tagged) == "x"


@pytest.mark.parametrize(
    "arguments",
    [
        {"value": "\ud800"},
        {"value": "x", "datatype": "integer"},
        {"value": "x", "language": "e n"},
        {"value": "x", "language": ""},
        {"value": "x", "datatype": XSD_STRING, "language": "en"},
        {"value": "x", "datatype": RDF_LANG_STRING},
    ],
)
def test_what_is_no_literal(arguments: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        Literal(**arguments)


def test_the_same_terms_in_rdflib() -> None:
    assert A.to_rdflib() == rdflib.URIRef(A.value)
    assert BlankNode("x").to_rdflib() == rdflib.BNode("x")
    assert Literal("x", language="en").to_rdflib() == rdflib.Literal("x", lang="en")
    odd = Literal("01", XSD_INTEGER).to_rdflib()
    assert (str(odd), odd.datatype) == ("01", rdflib.XSD.integer), "the spelling is kept"
    assert Literal("x").to_rdflib() == rdflib.Literal("x")


def test_the_order_of_statements() -> None:
    default, named = Quad(B, A, B), Quad(A, A, A, A)
    assert sorted_quads([named, default]) == (default, named), "the default graph comes first"
    assert quad_order(default) < quad_order(named)
    assert named.n3() == f"{A.n3()} {A.n3()} {A.n3()} {A.n3()} ."
