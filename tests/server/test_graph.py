"""The SPARQL 1.1 Protocol and the Graph Store Protocol, on a real socket."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.support.server import Raw, serving
from tests.support.sparql_server import GraphServer, graph_database, graph_server
from treadle.server.graph.negotiation import GRAPHS, RESULTS, best

UPDATE = {"content-type": "application/sparql-update"}
QUERY = {"content-type": "application/sparql-query"}
TURTLE = {"content-type": "text/turtle"}
STORE = "/rdf-graph-store"
G = "http://example.org/g"
DATA = (
    """INSERT DATA { <urn:s> <urn:p> 1 , "zwei"@de . GRAPH <http://example.org/g> { <urn:g> <urn:p> 3 } }"""
)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[GraphServer]:
    with graph_server(Path(mkdtemp(dir=folder)), enrolled=False) as found:
        yield found


@pytest.fixture
def filled(server: GraphServer) -> GraphServer:
    assert server.update(f"DROP ALL ; {DATA}").status_code == 200
    return server


def problem(answer: httpx2.Response) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    found: dict[str, Any] = answer.json()
    assert found["status"] == answer.status_code and "Traceback" not in answer.text
    return found


# Updates.


def test_an_update_answers_counts(filled: GraphServer) -> None:
    answer = filled.update("INSERT DATA { <urn:s> <urn:p> 2 . GRAPH <g> { <a> <b> <c> } }")
    done = answer.json()
    tx = done["tx"]
    name = f"{filled.address}/g"
    assert done == {
        "tx": tx,
        "asserted": 2,
        "retracted": 0,
        "graphs": [
            {"graph": None, "tx": tx, "asserted": 1, "retracted": 0},
            {"graph": name, "tx": tx, "asserted": 1, "retracted": 0},
        ],
    }
    assert filled.select(f"SELECT * {{ GRAPH <{name}> {{ ?s ?p ?o }} }}")[0]["s"] == f"{filled.address}/a"
    nothing = filled.update("DELETE WHERE { <urn:never> ?p ?o }").json()
    assert nothing == {"tx": None, "asserted": 0, "retracted": 0, "graphs": []}


def test_an_update_in_a_form(filled: GraphServer) -> None:
    answer = filled.all.post("/update", data={"update": "INSERT { ?s <urn:q> 1 } WHERE { ?s <urn:p> 3 }"})
    assert answer.json()["asserted"] == 0
    text = "INSERT { ?s <urn:q> 1 } WHERE { ?s <urn:p> 3 }"
    answer = filled.all.post("/update", data={"update": text, "using-graph-uri": G})
    assert answer.json()["asserted"] == 1
    assert filled.update(text.replace("q> 1", "q> 2"), **{"using-graph-uri": G}).json()["asserted"] == 1
    named = "INSERT { ?s <urn:q> 3 } WHERE { GRAPH ?g { ?s <urn:p> 3 } }"
    assert filled.update(named, **{"using-named-graph-uri": "urn:other"}).json()["asserted"] == 0
    assert filled.update(named, **{"using-named-graph-uri": G}).json()["asserted"] == 1


FORM = {"content-type": "application/x-www-form-urlencoded"}
LATIN = {"content-type": "application/sparql-update; charset=latin-1"}
DEEP = b"INSERT { ?s ?p 1 } WHERE { " + b"{" * 200 + b"}" * 200 + b"}"
USING = {"update": "DELETE { ?s ?p ?o } USING <urn:g> WHERE { ?s ?p ?o }", "using-graph-uri": G}
WITH = {"update": "WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "using-named-graph-uri": G}


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        ({"content": b"INSERT { ?x }", "headers": UPDATE}, 400, "sparql_syntax"),
        ({"content": b"LOAD <http://127.0.0.1:1/x>", "headers": UPDATE}, 400, "sparql_syntax"),
        ({"content": b"INSERT DATA { <urn:s> <urn:p> '\xff' }", "headers": UPDATE}, 400, "malformed"),
        ({"content": b"", "headers": LATIN}, 400, "malformed"),
        ({"content": b"x", "headers": {"content-type": "text/plain"}}, 415, "unsupported_media_type"),
        ({"content": b"INSERT DATA {}"}, 415, "unsupported_media_type"),
        ({"content": b"x", "headers": UPDATE | {"content-encoding": "gzip"}}, 415, "unsupported_media_type"),
        ({"data": {"query": "ASK {}"}}, 400, "malformed"),
        ({"data": {"update": ["CLEAR ALL", "CLEAR ALL"]}}, 400, "malformed"),
        ({"content": b"update=%FF", "headers": FORM}, 400, "malformed"),
        ({"data": USING}, 400, "sparql_syntax"),
        ({"data": WITH}, 400, "sparql_syntax"),
        ({"data": {"update": "CLEAR ALL", "using-graph-uri": "relative"}}, 400, "malformed"),
        ({"content": b"CLEAR ALL " + b"#" * 17_000_000, "headers": UPDATE}, 413, "too_large"),
        ({"content": DEEP, "headers": UPDATE}, 400, "sparql_limit"),
    ],
)
def test_updates_that_are_refused(
    filled: GraphServer, request_: dict[str, Any], status: int, code: str
) -> None:
    before = filled.select("SELECT * { ?s ?p ?o }")
    answer = filled.all.post("/update", **request_)
    assert (answer.status_code, problem(answer)["code"]) == (status, code)
    assert filled.select("SELECT * { ?s ?p ?o }") == before


def test_a_syntax_error_names_the_place(filled: GraphServer) -> None:
    found = problem(filled.update("INSERT DATA {\n <urn:s> <urn:p> }"))
    assert (found["line"], found["column"]) == (2, 18)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/update", "POST"),
        ("PUT", "/query", "GET, HEAD, POST"),
        ("DELETE", "/sparql", "GET, HEAD, POST"),
        ("PATCH", STORE, "DELETE, GET, HEAD, POST, PUT"),
        ("POST", "/graphs", "GET, HEAD"),
        ("POST", "/workflow/capabilities", "GET, HEAD"),
    ],
)
def test_other_methods(server: GraphServer, method: str, path: str, allow: str) -> None:
    answer = server.all.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allow)


def test_a_deadline(folder: Path) -> None:
    product = " . ".join(f"?s{n} ?p{n} ?o{n}" for n in range(6))
    slow = f"SELECT (COUNT(*) AS ?n) {{ {product} }}"
    facts = " ".join(f"<urn:s:{n}> <urn:p> {n} ." for n in range(45))
    path = Path(mkdtemp(dir=folder)) / "graph.db"
    tokens = graph_database(path, enrolled=False)
    with serving(path, "--set", "server.request_seconds=1") as running:
        server = GraphServer(running, path, tokens)
        assert server.update(f"INSERT DATA {{ {facts} }}").status_code == 200
        for answer in (
            server.all.get("/query", params={"query": slow}),
            server.update(f"INSERT {{ ?s0 <urn:q> ?n }} WHERE {{ {{ {slow} }} }}"),
        ):
            assert (answer.status_code, problem(answer)["code"]) == (408, "deadline")
        assert server.all.get("/health").status_code == 200
        assert server.update("INSERT DATA { <urn:x> <urn:p> 1 }").status_code == 200
        server.close()


# Queries.


def test_a_query_three_ways(filled: GraphServer) -> None:
    text = "SELECT ?o WHERE { <urn:s> <urn:p> ?o FILTER(isNumeric(?o)) }"
    answers = [
        filled.all.get("/query", params={"query": text}),
        filled.all.post("/query", data={"query": text}),
        filled.all.post("/query", content=text.encode(), headers=QUERY),
        filled.all.post("/sparql", data={"query": text, "format": "json", "output": "json"}),
        filled.all.post("/sparql", content=text.encode(), headers=QUERY),
        filled.all.get("/sparql", params={"query": text}),
    ]
    for answer in answers:
        assert answer.headers["content-type"] == "application/sparql-results+json"
        assert "accept" in answer.headers["vary"].lower()
        (row,) = answer.json()["results"]["bindings"]
        assert row["o"]["value"] == "1"


def test_the_dataset_of_a_query(filled: GraphServer) -> None:
    every = "SELECT ?s { ?s ?p ?o }"
    assert {row["s"] for row in filled.select(every)} == {"urn:s"}
    assert [row["s"] for row in filled.select(every, **{"default-graph-uri": G})] == ["urn:g"]
    union = filled.select(every, **{"default-graph-uri": "urn:x-treadle:union"})
    assert {row["s"] for row in union} == {"urn:s", "urn:g"}
    over = "SELECT ?s FROM <urn:other> { ?s ?p ?o }"
    assert filled.select(over) == []
    assert [row["s"] for row in filled.select(over, **{"default-graph-uri": G})] == ["urn:g"]
    named = "SELECT ?s { GRAPH ?g { ?s ?p ?o } }"
    assert [row["s"] for row in filled.select(named)] == ["urn:g"]
    assert filled.select(named, **{"named-graph-uri": "urn:other"}) == []


FORMS = [
    ("SELECT * { ?s ?p ?o }", "application/sparql-results+json", "application/sparql-results+json"),
    ("SELECT * { ?s ?p ?o }", "application/json", "application/json"),
    ("SELECT * { ?s ?p ?o }", "application/sparql-results+xml, */*;q=0.1", "application/sparql-results+xml"),
    ("SELECT * { ?s ?p ?o }", "text/csv;q=0.4, text/tab-separated-values;q=0.5", "text/tab-separated-values"),
    ("SELECT * { ?s ?p ?o }", "text/csv; charset=utf-8", "text/csv"),
    ("SELECT * { ?s ?p ?o }", "text/*", "text/csv"),
    ("SELECT * { ?s ?p ?o }", "*/*", "application/sparql-results+json"),
    ("ASK {}", "text/turtle, application/sparql-results+xml", "application/sparql-results+xml"),
    ("CONSTRUCT WHERE { ?s ?p ?o }", "*/*", "text/turtle"),
    ("CONSTRUCT WHERE { ?s ?p ?o }", "application/n-triples", "application/n-triples"),
    ("DESCRIBE <urn:s>", "application/ld+json", "application/ld+json"),
    ("DESCRIBE <urn:s>", "application/rdf+xml;q=0.9, text/turtle;q=0.1", "application/rdf+xml"),
    ("DESCRIBE <urn:s>", "text/xml", "text/xml"),
]


@pytest.mark.parametrize(("query", "accept", "media"), FORMS)
def test_forms_of_answers(filled: GraphServer, query: str, accept: str, media: str) -> None:
    answer = filled.all.get("/query", params={"query": query}, headers={"accept": accept})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].partition(";")[0] == media
    assert answer.content
    head = filled.all.head("/query", params={"query": query}, headers={"accept": accept})
    assert (head.status_code, head.content) == (200, b"")


@pytest.mark.parametrize(
    ("query", "accept"),
    [
        ("SELECT * { ?s ?p ?o }", "text/turtle"),
        ("SELECT * { ?s ?p ?o }", "application/sparql-results+json;q=0"),
        ("SELECT * { ?s ?p ?o }", "text/csv;charset=utf-16"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "text/csv"),
        ("CONSTRUCT { ?s <urn:x:1> 1 } WHERE { ?s ?p ?o }", "application/rdf+xml"),
        ("CONSTRUCT { ?s ?p 'a\\u0001' } WHERE { ?s ?p ?o }", "application/rdf+xml"),
    ],
)
def test_forms_that_there_are_not(filled: GraphServer, query: str, accept: str) -> None:
    answer = filled.all.get("/query", params={"query": query}, headers={"accept": accept})
    found = problem(answer)
    assert (answer.status_code, found["code"]) == (406, "not_acceptable")
    assert "application/" in found["detail"] or "text/turtle" in found["detail"]


def test_quality_values_choose_the_most_specific() -> None:
    for header, format in {
        "text/*;q=0.5, text/csv;q=0.1, text/tab-separated-values": "tsv",
        "*/*;q=0.2, text/csv;q=0.1": "json",
        "application/*;q=0.3, application/sparql-results+xml;q=0.4": "xml",
        "application/xml": "xml",
        ", ,text/csv": "csv",
        "text/csv;q=nonsense, application/json;q=0.001": "json",
        "text/csv;q=1.0;level=1": "csv",
    }.items():
        found = best(header.encode(), RESULTS)
        assert found is not None and found.format == format, header
    assert best(b"text/csv;q=2", RESULTS) is None
    assert best(b"", GRAPHS) is None


def test_no_query_asks_for_the_service_description(server: GraphServer) -> None:
    answer = server.all.get("/query")
    assert answer.headers["content-type"].startswith("text/turtle")
    assert "sd:Service" in answer.text and f"<{server.address}/query>" in answer.text
    assert server.all.get("/sparql", headers={"accept": "application/n-triples"}).status_code == 200
    assert server.all.get("/query", headers={"accept": "text/csv"}).status_code == 406


@pytest.mark.parametrize(
    "path", ["/query?query=a&query=b", "/query?query=%FF", "/query?query=SELECT", "/query?query="]
)
def test_queries_that_are_refused(server: GraphServer, path: str) -> None:
    assert server.all.get(path).status_code == 400


# Graphs.


def put(server: GraphServer, graph: str, turtle: str, **headers: str) -> httpx2.Response:
    return server.all.put(STORE, params={"graph": graph}, content=turtle.encode(), headers=TURTLE | headers)


def test_a_graph_from_its_making_to_its_end(filled: GraphServer) -> None:
    at = {"graph": "urn:new"}
    assert filled.all.get(STORE, params=at).status_code == 404
    assert put(filled, "urn:new", "<urn:a> <urn:b> <rel> .").status_code == 201
    assert put(filled, "urn:new", "<urn:a> <urn:b> 1 , 2 .").status_code == 204
    answer = filled.all.get(STORE, params=at, headers={"accept": "application/n-triples"})
    assert len(answer.text.splitlines()) == 2
    head = filled.all.head(STORE, params=at)
    assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", answer.headers["etag"])
    more = filled.all.post(STORE, params=at, content=b"<urn:a> <urn:b> 3 .", headers=TURTLE)
    assert (more.status_code, more.content) == (204, b"")
    assert filled.all.get(STORE, params=at).headers["etag"] == more.headers["etag"]
    made = filled.all.post(
        STORE, params={"graph": "urn:made"}, content=b"<urn:a> <urn:b> 3 .", headers=TURTLE
    )
    assert made.status_code == 201
    assert filled.all.delete(STORE, params=at).status_code == 204
    assert filled.all.delete(STORE, params=at).status_code == 404
    assert filled.all.get(STORE, params=at).status_code == 404


def test_the_default_graph(filled: GraphServer) -> None:
    answer = filled.all.get(f"{STORE}?default", headers={"accept": "application/n-triples"})
    assert len(answer.text.splitlines()) == 2
    documents = filled.all.put(f"{STORE}?default", content=b"<urn:a> <urn:b> 1 .", headers=TURTLE)
    assert documents.status_code == 204
    assert [row["s"] for row in filled.select("SELECT * { ?s ?p ?o }")] == ["urn:a"]
    assert filled.all.delete(f"{STORE}?default").status_code == 204
    assert filled.select("SELECT * { ?s ?p ?o }") == []
    assert len(filled.all.get(STORE, params={"graph": G}).text.splitlines()) == 1


def test_an_empty_document_makes_an_empty_graph(filled: GraphServer) -> None:
    assert put(filled, "urn:empty", "").status_code == 201
    assert filled.all.get(STORE, params={"graph": "urn:empty"}).status_code == 200
    graphs = filled.all.get("/graphs").json()["graphs"]
    assert graphs == [
        {"graph": None, "statements": 2},
        {"graph": G, "statements": 1},
        {"graph": "urn:empty", "statements": 0},
    ]


def test_versions(filled: GraphServer) -> None:
    first = put(filled, "urn:v", "<urn:a> <urn:b> 1 .", **{"if-none-match": "*"})
    assert first.status_code == 201
    tag = first.headers["etag"]
    again = put(filled, "urn:v", "<urn:a> <urn:b> 2 .", **{"if-none-match": "*"})
    assert (again.status_code, problem(again)["code"]) == (412, "precondition_failed")
    assert put(filled, "urn:v", "<urn:a> <urn:b> 3 .", **{"if-match": '"0.0"'}).status_code == 412
    second = put(filled, "urn:v", "<urn:a> <urn:b> 4 .", **{"if-match": f'"0.0", {tag}'})
    assert second.status_code == 204 and second.headers["etag"] != tag
    at = {"graph": "urn:v"}
    current = second.headers["etag"]
    assert filled.all.get(STORE, params=at, headers={"if-none-match": current}).status_code == 304
    assert filled.all.get(STORE, params=at, headers={"if-none-match": tag}).status_code == 200
    assert put(filled, "urn:v", "<urn:a> <urn:b> 4 .").headers["etag"] == current
    filled.update("INSERT DATA { <urn:elsewhere> <urn:b> 1 }")
    assert filled.all.get(STORE, params=at).headers["etag"] == current
    assert filled.all.delete(STORE, params=at, headers={"if-match": tag}).status_code == 412
    assert put(filled, "urn:none", "", **{"if-match": "*"}).status_code == 412
    assert filled.all.delete(STORE, params=at, headers={"if-match": current}).status_code == 204


@pytest.mark.parametrize(
    ("path", "media", "body", "status"),
    [
        (STORE, "text/turtle", b"", 400),
        (f"{STORE}?default&graph=urn:g", "text/turtle", b"", 400),
        (f"{STORE}?graph=urn:g&graph=urn:h", "text/turtle", b"", 400),
        (f"{STORE}?graph=relative", "text/turtle", b"", 400),
        (f"{STORE}?graph=", "text/turtle", b"", 400),
        (f"{STORE}?graph=urn:g", "text/turtle", b"<urn:a> <urn:b>", 400),
        (f"{STORE}?graph=urn:g", "text/turtle", b"<urn:a> <urn:b> '\xff' .", 400),
        (f"{STORE}?graph=urn:g", "text/turtle; charset=iso-8859-1", b"", 400),
        (f"{STORE}?graph=urn:g", "application/trig", b"<urn:h> { <urn:a> <urn:b> 1 }", 415),
        (f"{STORE}?graph=urn:g", "application/n-quads", b"<urn:a> <urn:b> <urn:c> <urn:h> .", 415),
        (f"{STORE}?graph=urn:g", "application/rdf+xml", b"<x/>", 415),
    ],
)
def test_documents_that_are_refused(
    filled: GraphServer, path: str, media: str, body: bytes, status: int
) -> None:
    for method in ("PUT", "POST"):
        answer = filled.all.request(method, path, content=body, headers={"content-type": media})
        assert answer.status_code == status, answer.text
    assert [one["graph"] for one in filled.all.get("/graphs").json()["graphs"]] == [None, G]


def test_knots(filled: GraphServer) -> None:
    body = {"turtle": "<urn:k> <urn:p> 1 , 2 .", "graph": "urn:knots", "actor": "host-7"}
    answer = filled.all.post("/knot", json=body)
    done = answer.json()
    assert done == {"conforms": True, "tx_id": done["tx_id"], "count": 2}
    assert filled.all.post("/knot", json=body).json() == {"conforms": True, "tx_id": None, "count": 0}
    record = filled.all.get(f"/v1/log/{done['tx_id']}").json()
    assert (record["kind"], record["name"], record["instance"]) == ("update", "knot", "host-7")
    for bad, status in (
        ({}, 422),
        ({"turtle": 1}, 422),
        ({"turtle": "<urn:a> <urn:b>"}, 400),
        ({"turtle": "", "graph": "no IRI"}, 422),
        ({"turtle": "", "graf": "urn:g"}, 422),
        ({"turtle": "", "actor": "a\nb"}, 422),
    ):
        assert filled.all.post("/knot", json=bad).status_code == status, bad


# Who may, and how they say so.


def basic(token: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"anybody:{token}".encode()).decode()}


def test_roles(filled: GraphServer) -> None:
    for role, reads, writes in (("reader", 200, 403), ("agent", 200, 200), ("nothing", 403, 403)):
        http = filled.clients[role]
        assert http.get("/query", params={"query": "ASK {}"}).status_code == reads
        assert http.post("/sparql", data={"query": "ASK {}"}).status_code == reads
        assert http.get("/graphs").status_code == reads
        assert http.get(f"{STORE}?default").status_code == reads
        assert http.post("/sparql", data={"update": "CLEAR GRAPH <urn:x>"}).status_code in (writes, 400)
        assert filled.update("CLEAR SILENT GRAPH <urn:x>", role).status_code == writes
        assert http.post("/knot", json={"turtle": ""}).status_code == writes
        for method in ("PUT", "POST", "DELETE"):
            answer = http.request(method, f"{STORE}?default", content=b"", headers=TURTLE)
            assert answer.status_code == (204 if writes == 200 else 403)
    assert filled.clients["nothing"].get("/workflow/capabilities").json() == {
        "processing": "disabled",
        "signatureVersions": [1],
    }


def test_a_token_as_password(server: GraphServer) -> None:
    with httpx2.Client(base_url=server.address, trust_env=False) as bare:
        for headers in ({}, {"authorization": "Basic !"}, basic("x" * 43), {"authorization": "Digest x"}):
            for path in ("/query", "/workflow/capabilities", f"{STORE}?default"):
                answer = bare.get(path, headers=headers)
                assert answer.status_code == 401
                challenges = answer.headers.get_list("www-authenticate")
                assert any(one.startswith("Basic ") for one in challenges)
                assert any(one.startswith("Bearer ") for one in challenges)
        assert bare.get("/query", headers=basic(server.tokens["reader"])).status_code == 200
        assert not any("Basic" in one for one in bare.get("/v1/log").headers.get_list("www-authenticate"))


def test_non_ascii_and_hostile_heads(server: GraphServer) -> None:
    token = server.tokens["reader"].encode()
    for target in (b"/query?query=\xff", b"/query?query=ASK%7B%7D&\xc3\xa4=1", b"/query?" + b"a=1&" * 2_000):
        with Raw(server.running.port) as raw:
            raw.send(
                b"GET %b HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer %b\r\n\r\n" % (target, token)
            )
            assert raw.status() in (200, 400)
    name = quote("http://example.org/ä ö", safe="")
    assert server.all.get(f"{STORE}?graph={name}").status_code == 400
    ok = quote("http://example.org/äö", safe="")
    assert server.all.put(f"{STORE}?graph={ok}", content=b"", headers=TURTLE).status_code == 201
    assert json.dumps(server.all.get("/graphs").json(), ensure_ascii=False).count("äö") == 1


def test_the_log_serves_history_and_changes(filled: GraphServer) -> None:
    done = filled.update("INSERT DATA { <urn:told> <urn:p> 'x' ; <urn:q> 1 }").json()
    filled.update("DELETE WHERE { <urn:told> <urn:q> ?o }")
    found = filled.all.get("/v1/log", params={"about": "urn:told", "kind": "update"}).json()["records"]
    assert [record["number"] for record in found] == [done["tx"], done["tx"] + 1]
    assert found[0]["graph"] == {
        "removed": [],
        "added": [
            '<urn:told> <urn:p> "x" .',
            '<urn:told> <urn:q> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .',
        ],
        "created": [],
        "dropped": [],
    }
    assert (found[0]["principal"], found[0]["name"]) == ("all-service", "update")
    kinds = filled.all.get("/v1/log", params={"kind": ["deploy", "grant"]}).json()["records"]
    assert {record["kind"] for record in kinds} == {"deploy", "grant"}
    assert filled.all.get("/v1/log", params={"about": "urn:never"}).json()["records"] == []
