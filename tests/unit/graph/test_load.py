"""Documents into statements and deltas."""

from __future__ import annotations

import pytest

from tests.support.sparql import canonical_state, index_of, state_of
from treadle.errors import SparqlError, SparqlLimit, SparqlSyntax
from treadle.graph.delta import Respelled
from treadle.graph.load import FORMATS, load_delta, read_document
from treadle.graph.terms import IRI, XSD_INTEGER, BlankNode, Literal, Quad

E = "http://example.org/"
A, B, P, Q, G, H = (IRI(E + name) for name in "abpqgh")
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/"'
SAME = {
    "turtle": f"PREFIX e: <{E}> e:a e:p e:b ; e:q [ e:p 'x'@EN ] .",
    "ntriples": f"<{E}a> <{E}p> <{E}b> .\n<{E}a> <{E}q> _:x .\n_:x <{E}p> \"x\"@en .\n",
    "trig": f"PREFIX e: <{E}> {{ e:a e:p e:b ; e:q _:y . _:y e:p 'x'@en }}",
    "nquads": f"<{E}a> <{E}p> <{E}b> .\n<{E}a> <{E}q> _:x .\n_:x <{E}p> \"x\"@en .\n",
    "rdfxml": f"""<rdf:RDF {RDF}><rdf:Description rdf:about="{E}a"><e:p rdf:resource="{E}b"/><e:q>
        <rdf:Description><e:p xml:lang="en">x</e:p></rdf:Description></e:q></rdf:Description></rdf:RDF>""",
    "jsonld": f"""{{"@context": {{"e": "{E}"}}, "@id": "e:a", "e:p": {{"@id": "e:b"}},
        "e:q": {{"e:p": {{"@value": "x", "@language": "en"}}}}}}""",
}  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("graph", [None, G])
def test_one_graph_in_every_format(format: str, graph: IRI | None) -> None:
    node = BlankNode("n")
    expected = [
        Quad(A, P, B, graph),
        Quad(A, Q, node, graph),
        Quad(node, P, Literal("x", language="en"), graph),
    ]
    for document in (SAME[format], SAME[format].encode(), b"\xef\xbb\xbf" + SAME[format].encode()):
        index = index_of([Quad(A, P, B, graph)])
        before = canonical_state(index.store)
        delta = load_delta(index, document, format, labels="l", graph=graph)
        assert canonical_state(index.store) == before
        assert len(delta.added) == 2 and not delta.removed
        index.apply(delta)
        assert canonical_state(index.store)[0] == state_of(expected)


def test_blank_nodes_are_renamed_per_load() -> None:
    document = f"_:b0 <{E}p> _:b0 , [] ."
    first = [each.stored for each in read_document(document, "turtle", labels="one")]
    second = [each.stored for each in read_document(document, "turtle", labels="two")]
    for name, quads in (("one", first), ("two", second)):
        nodes = {quad.s for quad in quads} | {quad.o for quad in quads}
        assert nodes == {BlankNode(f"{name}-1"), BlankNode(f"{name}-2")}


def test_literals_are_kept_canonically_and_odd_spellings_reported() -> None:
    index = index_of([Quad(A, P, Literal("1", XSD_INTEGER))])
    delta = load_delta(index, f"<{E}a> <{E}p> 01 , 002 , 3 .", "turtle", labels="l")
    assert [quad.o.n3()[:3] for quad in delta.added] == ['"2"', '"3"']
    assert delta.respelled == tuple(
        Respelled("insert", Quad(A, P, Literal(text, XSD_INTEGER)), Quad(A, P, Literal(kept, XSD_INTEGER)))
        for text, kept in (("01", "1"), ("002", "2"))
    )


def test_named_graphs() -> None:
    document = f"<{E}a> <{E}p> 1 . <{E}h> {{ <{E}a> <{E}p> 2 }}"
    delta = load_delta(index_of(graphs=[G]), document, "trig", labels="l", graph=G)
    assert {quad.g for quad in delta.added} == {G, H} and delta.graphs_created == (H,)
    for format, text in (("trig", f"_:g {{ <{E}a> <{E}p> 1 }}"), ("nquads", f"<{E}a> <{E}p> <{E}b> _:g .")):
        with pytest.raises(SparqlError, match="a blank node cannot name a graph"):
            load_delta(index_of(), text, format, labels="l")
    with pytest.raises(SparqlError, match="a blank node cannot name a graph"):
        load_delta(
            index_of(), f'{{"@graph": [{{"@id": "{E}a", "{E}p": 1}}], "{E}q": 2}}', "jsonld", labels="l"
        )


def test_a_document_in_the_place_of_a_graph() -> None:
    index = index_of([Quad(A, P, A, G), Quad(A, P, B, G), Quad(A, P, A)])
    delta = load_delta(index, f"<{E}a> <{E}p> <{E}b> , <{E}h> .", "turtle", labels="l", graph=G, replace=True)
    assert delta.removed == (Quad(A, P, A, G),) and delta.added == (Quad(A, P, H, G),)
    delta = load_delta(index, "", "turtle", labels="l", graph=H, replace=True)
    assert delta.graphs_created == (H,) and not delta.added
    delta = load_delta(index, "", "turtle", labels="l", replace=True)
    assert delta.removed == (Quad(A, P, A),)
    with pytest.raises(SparqlError, match="cannot name another one"):
        load_delta(index, f"<{E}h> {{ <{E}a> <{E}p> 2 }}", "trig", labels="l", graph=G, replace=True)


def test_base_progress_and_bounds() -> None:
    [found] = read_document("<> <p> <../o> .", "turtle", labels="l", base=f"{E}d/e")
    assert found.stored == Quad(IRI(f"{E}d/e"), IRI(f"{E}d/p"), IRI(f"{E}o"))
    lines = "".join(f"<{E}a> <{E}p> <{E}{at}> .\n" for at in range(100_001))
    seen: list[int] = []
    assert len(load_delta(index_of(), lines, "ntriples", labels="l", progress=seen.append).added) == 100_001
    assert seen == [100_000]
    with pytest.raises(SparqlLimit, match="more than 100 statements"):
        load_delta(index_of(), lines, "ntriples", labels="l", most=100)


@pytest.mark.parametrize(
    "document, format, line, message",
    [
        (f"<{E}a> <{E}p> 1 .\n<{E}a> <p> 1 .", "turtle", 2, "No scheme found"),
        (f"<{E}a> <{E}p> 1 .\n\n<{E}a> <{E}p>", "turtle", 3, "Unexpected end"),
        ("<a:a> <a:a> x:y .", "turtle", 1, "prefix"),
        ("<a:a> <a:a> 1 .", "ntriples", 1, "object"),
        ("{]", "jsonld", 1, "Object keys must be strings"),
        ('{"@context": "http://example.org/c", "p": 1}', "jsonld", None, "remote"),
        (f"<rdf:RDF {RDF}>\n<e:x>\n</rdf:RDF>", "rdfxml", 3, "mismatched tag"),
        (f"\n<!DOCTYPE x>\n<rdf:RDF {RDF}/>", "rdfxml", 2, "DOCTYPE"),
        ("\n" + "<<( <a:a> <a:a> " * 600 + "1" + " )>>" * 600, "turtle", 2, "RDF 1.2"),
        ("<a:a> <a:a> '\ud800' .", "turtle", 1, "lone surrogate"),
        (b"<a:a> <a:a> '\xff' .", "turtle", None, "not UTF-8: byte 13"),
        ("\ufeff<a:a> <a:a> 1", "turtle", 1, "Unexpected end"),
    ],
)
def test_documents_that_are_refused(
    document: str | bytes, format: str, line: int | None, message: str
) -> None:
    with pytest.raises(SparqlSyntax, match=message) as refused:
        load_delta(index_of(), document, format, labels="l")
    assert refused.value.line == line


@pytest.mark.parametrize(
    "document, message",
    [
        ("<a:a> <a:a> '\\u0000' .", "NUL"),
        ("<a:a> <a:a> <<( <a:a> <a:a> 1 )>> .", "RDF 1.2"),
        ("<a:a> <a:a> 'x'@en--ltr .", "RDF 1.2"),
        ("<a:a> <a:a> 1 {| <a:a> 2 |} .", "RDF 1.2"),
    ],
)
def test_what_rdf_1_1_does_not_have(document: str, message: str) -> None:
    with pytest.raises(SparqlError, match=message):
        load_delta(index_of(), document, "turtle", labels="l")


def test_brackets_in_strings_are_no_triple_terms() -> None:
    text = "<a:a> <a:a> '" + "<<" * 600 + "' , \"\"\"<<\n\"<< \"\"\" , '''<<''' . # <<\n"
    assert len(load_delta(index_of(), text, "turtle", labels="l").added) == 3


def test_an_unknown_format() -> None:
    with pytest.raises(ValueError, match="there are turtle, ntriples"):
        load_delta(index_of(), "", "n3", labels="l")
