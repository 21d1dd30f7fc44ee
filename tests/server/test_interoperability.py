"""rdflib's SPARQLUpdateStore, SPARQLWrapper and curl, as they come, against a real server with tokens."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
import rdflib
from rdflib.plugins.stores.sparqlstore import SPARQLUpdateStore
from SPARQLWrapper import JSON, POST, TURTLE, XML, SPARQLWrapper
from SPARQLWrapper.SPARQLExceptions import QueryBadFormed, Unauthorized

from tests.support.graphs import advance_text, loop
from tests.support.pages import run_page
from tests.support.shared import ROOT
from tests.support.sparql_server import GraphServer, graph_server
from tests.support.workflows import NAMES, Release

EX = rdflib.Namespace("http://example.org/")
R = Release()
CURL = shutil.which("curl")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[GraphServer]:
    with graph_server(Path(mkdtemp(dir=folder)), R.setup(), enrolled=True) as found:
        yield found


# rdflib.


def store(server: GraphServer, role: str = "all", **options: Any) -> Any:
    return SPARQLUpdateStore(
        f"{server.address}/query",
        f"{server.address}/update",
        auth=("anybody", server.tokens[role]),
        **options,
    )


def test_rdflib_reads_and_writes_a_graph(server: GraphServer) -> None:
    graph: Any = rdflib.Graph(store(server), identifier=EX.rdflib)
    graph.add((EX.a, EX.knows, EX.b))
    graph.add((EX.a, EX.name, rdflib.Literal('Ä "quoted" \\ \n', lang="de")))
    graph.addN((EX.b, EX.age, rdflib.Literal(n), graph) for n in range(3))
    assert len(graph) == 5
    assert set(graph.objects(EX.a, EX.knows)) == {EX.b}
    assert str(graph.value(EX.a, EX.name)) == 'Ä "quoted" \\ \n'
    graph.remove((EX.b, EX.age, None))
    assert len(graph) == 2
    rows = list(graph.query("SELECT ?o { ?s <http://example.org/knows> ?o }"))
    assert [row.o for row in rows] == [EX.b]
    assert graph.query("ASK { ?s ?p ?o }").askAnswer is True
    made = graph.query(
        "CONSTRUCT { ?s <http://example.org/met> ?o } WHERE { ?s <http://example.org/knows> ?o }"
    )
    assert set(made) == {(EX.a, EX.met, EX.b)}
    graph.update("DELETE WHERE { ?s <http://example.org/knows> ?o }")
    assert len(graph) == 1


def test_rdflib_datasets_and_transactions(server: GraphServer) -> None:
    dataset: Any = rdflib.Dataset(store(server, autocommit=False), default_union=False)
    graph = dataset.graph(EX.second)
    graph.add((EX.a, EX.knows, EX.c))
    graph.remove((EX.a, EX.knows, EX.b))
    assert server.select(f"SELECT * {{ GRAPH <{EX.second}> {{ ?s ?p ?o }} }}") == []
    graph.store.commit()
    assert len(server.select(f"SELECT * {{ GRAPH <{EX.second}> {{ ?s ?p ?o }} }}")) == 1


def test_rdflib_advances_a_signed_run_and_hears_a_refusal(server: GraphServer) -> None:
    agent = store(server, "agent")
    with pytest.raises(Exception, match="403"):
        agent.update(advance_text(R.submit(signature_text="00" * 64)))
    agent.rollback()  # rdflib keeps what failed, and would send it along with the next
    agent.update(advance_text(loop(R, 0)))
    (state,) = agent.query(f"SELECT ?o {{ <{R.run}> <{NAMES.current_state}> ?o }}")
    assert str(state["o"]) == "Review"
    with pytest.raises(Exception, match="403"):
        store(server, "reader").update("CLEAR DEFAULT")


# SPARQLWrapper.


def wrapper(server: GraphServer, route: str = "/sparql", role: str = "all") -> Any:
    found = SPARQLWrapper(f"{server.address}{route}")
    found.setCredentials("anybody", server.tokens[role])
    return found


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_sparqlwrapper_asks(server: GraphServer, method: str) -> None:
    asking = wrapper(server, "/query", "reader")
    asking.setMethod(method)
    asking.setQuery("SELECT ?s { ?s a <http://www.w3.org/2000/01/rdf-schema#Class> } LIMIT 1")
    asking.setReturnFormat(JSON)
    assert asking.queryAndConvert()["results"]["bindings"] == []
    asking.setQuery("ASK {}")
    assert asking.queryAndConvert()["boolean"] is True
    asking.setReturnFormat(XML)
    assert "true" in asking.queryAndConvert().toxml()
    asking.setQuery(f"CONSTRUCT WHERE {{ <{R.run}> ?p ?o }}")
    asking.setReturnFormat(TURTLE)
    assert b"WorkflowRun" in asking.queryAndConvert()
    asking.setReturnFormat(JSON)
    asking.setQuery("SELECT nonsense")
    with pytest.raises(QueryBadFormed):
        asking.query()


def test_sparqlwrapper_updates(server: GraphServer) -> None:
    writing = wrapper(server)
    writing.setMethod(POST)
    writing.setReturnFormat(JSON)
    writing.setQuery("INSERT DATA { <urn:wrapper> <urn:p> 'Ä' }")
    assert writing.queryAndConvert()["asserted"] == 1
    writing.setRequestMethod("postdirectly")
    writing.setQuery("DELETE WHERE { <urn:wrapper> ?p ?o }")
    assert writing.queryAndConvert()["retracted"] == 1
    stranger: Any = SPARQLWrapper(f"{server.address}/sparql")
    stranger.setQuery("ASK {}")
    with pytest.raises(Unauthorized):
        stranger.query()


# curl.


def curl(server: GraphServer, *words: str, role: str = "all") -> tuple[int, str]:
    if CURL is None:
        pytest.skip("curl is not installed")
    done = subprocess.run(
        [CURL, "-sS", "-u", f"anybody:{server.tokens[role]}", "-w", "\n%{http_code}", *words],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def test_curl(server: GraphServer, tmp_path: Path) -> None:
    at = server.address
    status, body = curl(
        server, f"{at}/update", "--data-urlencode", "update=INSERT DATA { <urn:c> <urn:p> 'ü' }"
    )
    assert (status, json.loads(body)["asserted"]) == (200, 1)
    status, body = curl(
        server, f"{at}/update", "-H", "Content-Type: application/sparql-update", "--data-binary",
        "DELETE WHERE { <urn:c> ?p ?o }",
    )  # fmt: skip
    assert (status, json.loads(body)["retracted"]) == (200, 1)
    status, body = curl(
        server, "-G", f"{at}/query", "-H", "Accept: text/csv", "--data-urlencode", "query=SELECT (1 AS ?x) {}"
    )
    assert (status, body.split()) == (200, ["x", "1"])
    document = tmp_path / "graph.ttl"
    document.write_text("<urn:c> <urn:p> <urn:o> .", encoding="utf-8")
    store = f"{at}/rdf-graph-store?graph=urn:curl"
    status, _ = curl(server, "-T", str(document), "-H", "Content-Type: text/turtle", store)
    assert status == 201
    assert "<urn:o>" in curl(server, store)[1]
    assert curl(server, "-X", "DELETE", store, role="reader")[0] == 403
    assert curl(server, "-X", "DELETE", store)[0] == 204
    assert curl(server, f"{at}/workflow/capabilities", role="nothing") == (
        200,
        '{"processing":"enabled","signatureVersions":[2]}',
    )


def test_the_page_on_sparql_runs_as_it_stands(tmp_path: Path) -> None:
    assert run_page((ROOT / "docs/howto/sparql.md").read_text(encoding="utf-8"), tmp_path) > 15
