"""No spelling of an update or a query reaches the network, whatever a listening socket might answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.sparql import canonical_state, index_of
from treadle.errors import SparqlError, SparqlSyntax
from treadle.graph.load import load_delta
from treadle.graph.query import Query
from treadle.graph.sparql.update import compute_delta
from treadle.graph.terms import IRI, Quad

A = IRI("http://example.org/a")


class Listener:
    """A server on the loopback that counts who comes."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0.05)
        self.visits = 0
        self._ended = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/data.ttl"

    def _serve(self) -> None:
        while not self._ended:
            try:
                visitor, _ = self._socket.accept()
            except TimeoutError:
                continue
            self.visits += 1
            visitor.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: text/turtle\r\n\r\n<urn:x> <urn:x> <urn:x> .")
            visitor.close()

    def close(self) -> None:
        self._ended = True
        self._thread.join()
        self._socket.close()


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


UPDATES = [
    "LOAD <{}>",
    "LOAD SILENT <{}>",
    "load<{}>",
    "LoAd\nSILENT#\n<{}>INTO GRAPH<urn:g>",
    "LOAD SILENT <{}> INTO GRAPH <urn:g>",
    "CLEAR DEFAULT;LOAD<{}>",
    "INSERT DATA {{}};LOAD SILENT<{}>;INSERT DATA {{}}",
    "PREFIX x: <{}> LOAD SILENT x:",
    "BASE <{}> LOAD SILENT <>",
    "INSERT {{ }} WHERE {{ SERVICE <{}> {{ ?s ?p ?o }} }}",
    "INSERT {{ }} WHERE {{ SERVICE SILENT <{}> {{ ?s ?p ?o }} }}",
    "INSERT {{ }} WHERE {{ {{ SELECT * {{ service<{}>{{?s ?p ?o}} }} }} }}",
    "INSERT {{ }} WHERE {{ FILTER EXISTS {{SERVICE<{}>{{}} }} }}",
    "DELETE WHERE {{ SERVICE <{}> {{ ?s ?p ?o }} }}",
    "INSERT {{ SERVICE <{}> {{ ?s ?p ?o }} }} WHERE {{ }}",
    "INSERT {{ }} WHERE {{ ?s ?p 1SERVICE<{}>{{?s ?p ?o}} }}",
    "INSERT {{ }} WHERE {{ ?s ?p 'x'@enSERVICE <{}> {{ ?s ?p ?o }} }}",
    "INSERT {{ }} WHERE {{ ?s ?p ?oSERVICE <{}> {{ ?s ?p ?o }} }}",
    "INSERT {{ }} WHERE {{ S\\u0045RVICE <{}> {{ ?s ?p ?o }} }}",
    "INSERT {{ }} WHERE {{ ?s ?p '''\n'''SERVICE <{}> {{ ?s ?p ?o }} }}",
    "INSERT {{ }} WHERE {{ # \rSERVICE <{}> {{ ?s ?p ?o }}\n }}",
    "COPY <{}> TO DEFAULT",
    "INSERT {{ ?s ?p ?o }} USING <{0}> USING NAMED <{0}> WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }}",
    "INSERT {{ }} WHERE {{ <{}>(1) }}",
    "INSERT {{ <a:a> <a:a> ?x }} WHERE {{ BIND(<{}>(1) AS ?x) }}",
]
QUERIES = [
    "SELECT * FROM <{}> {{ ?s ?p ?o }}",
    "SELECT * FROM NAMED <{}> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
    "SELECT * {{ SERVICE <{}> {{ ?s ?p ?o }} }}",
    "ASK {{ SERVICE SILENT <{}> {{ ?s ?p ?o }} }}",
    "DESCRIBE <{}>",
    "SELECT * {{ LATERAL {{ SERVICE <{}> {{ ?s ?p ?o }} }} }}",
    "LOAD <{}>",
]


@pytest.mark.parametrize("text", UPDATES)
@pytest.mark.parametrize("path", ["direct", "sequence"])
def test_updates(listener: Listener, text: str, path: Any) -> None:
    index = index_of([Quad(A, A, A)])
    before = canonical_state(index.store)
    try:
        result = compute_delta(index, text.format(listener.url), now=0, labels="x", path=path)
    except SparqlError:
        pass
    else:
        assert not result.delta.added, "nothing came from outside"
        assert "LOAD" not in text.upper() or not result.delta
    assert canonical_state(index.store) == before
    assert listener.visits == 0


@pytest.mark.parametrize("text", QUERIES)
def test_queries(listener: Listener, text: str) -> None:
    index = index_of([Quad(A, A, A)])
    try:
        answer = Query.read(text.format(listener.url), now=0).run(index)
    except SparqlSyntax:
        pass
    else:
        assert not answer
    assert listener.visits == 0


def test_load_has_its_own_message(listener: Listener) -> None:
    for text in ("LOAD <{}>", "CLEAR DEFAULT ;\n LOAD <{}> INTO GRAPH <urn:g>"):
        with pytest.raises(SparqlSyntax, match="LOAD is refused: .*read the document yourself") as refused:
            compute_delta(index_of(), text.format(listener.url), now=0, labels="x")
        assert refused.value.line == text.count("\n") + 1
    with pytest.raises(SparqlSyntax, match="SERVICE is not part of this version"):
        Query.read("SELECT * { SERVICE <urn:x> { } }", now=0)


@pytest.mark.parametrize(
    "format, document",
    [
        ("jsonld", '{{"@context": "{}", "p": 1}}'),
        ("jsonld", '{{"@context": {{"@version": 1.1, "@import": "{}"}}, "p": 1}}'),
        ("jsonld", '{{"@context": {{"p": {{"@id": "a:p", "@context": "{}"}}}}, "p": {{"p": 1}}}}'),
        (
            "rdfxml",
            '<!DOCTYPE r SYSTEM "{}"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>',
        ),
        ("rdfxml", '<!DOCTYPE r [<!ENTITY e SYSTEM "{}">]><r>&e;</r>'),
        ("turtle", "BASE <{}> <> <> <> ."),
        ("turtle", "@prefix owl: <http://www.w3.org/2002/07/owl#> . <a:a> owl:imports <{}> ."),
    ],
)
def test_documents(listener: Listener, format: str, document: str) -> None:
    try:
        load_delta(index_of(), document.format(listener.url), format, labels="x")
    except SparqlError:
        pass
    assert listener.visits == 0


def test_no_file_is_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret.ttl"
    secret.write_text("<urn:x> <urn:x> <urn:x> .")
    for text in ("LOAD <{}>", "LOAD SILENT <{}>", "LOAD SILENT <{}> INTO GRAPH <urn:g>"):
        try:
            result = compute_delta(index_of(), text.format(secret.as_uri()), now=0, labels="x")
        except SparqlSyntax:
            continue
        assert not result.delta
