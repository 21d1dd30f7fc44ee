"""The W3C's SPARQL 1.1 update tests through `POST /update` and through Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote

import pyoxigraph as ox
import pytest

import treadle
from tests.conformance.test_w3c_update import (
    SUITE,
    Case,
    evaluation,
    named,
    negative,
    request_of,
    state,
    value,
)
from tests.support.sparql import canonical_state
from tests.support.sparql_server import GraphServer, graph_server
from treadle.errors import SparqlSyntax

pytestmark = pytest.mark.skipif(not SUITE.exists(), reason=f"../shared/{SUITE.name} is not beside this clone")

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[GraphServer]:
    with graph_server(Path(mkdtemp(dir=folder)), enrolled=False) as found:
        yield found


def statements(store: ox.Store) -> str:
    return "\n".join(f"{quad} ." for quad in store)


def read_back(lines: Iterable[str]) -> list[str]:
    """Statements as the suite's results are compared: blank nodes by the shape of the data."""
    store = ox.Store()
    store.extend(list(ox.parse("\n".join(lines), ox.RdfFormat.N_QUADS)))
    return canonical_state(store)[0]


def over_http(server: GraphServer, before: ox.Store, text: str, base: str) -> list[str]:
    """Load a dataset, run an update, read what is there, all over HTTP."""
    assert server.update("DROP ALL").status_code == 200
    places = ["default", *(f"graph={quote(name.value, safe='')}" for name in before.named_graphs())]
    for place, name in zip(places, [ox.DefaultGraph(), *before.named_graphs()], strict=True):
        lines = [f"{quad.triple} ." for quad in before.quads_for_pattern(None, None, None, name)]
        answer = server.all.put(
            f"/rdf-graph-store?{place}",
            content="\n".join(lines).encode(),
            headers={"content-type": "application/n-triples"},
        )
        assert answer.status_code in (201, 204)
    answer = server.update(f"BASE <{base}> {text}")
    if answer.status_code == 400:
        raise SparqlSyntax(answer.json()["detail"])
    assert answer.status_code == 200, answer.text
    rows = server.all.get(
        "/query",
        params={"query": "SELECT ?s ?p ?o ?g { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"},
        headers={"accept": "text/tab-separated-values"},
    ).text.splitlines()[1:]
    return read_back(_line(row) for row in rows)


def _line(row: str) -> str:
    """A row of TSV as an N-Quads line; numbers are written without their datatype there."""
    subject, predicate, value_, graph = row.split("\t")
    if value_[:1] not in '<"_':
        kind = "integer" if value_.lstrip("+-").isdigit() else "decimal"
        value_ = f'"{value_}"^^<http://www.w3.org/2001/XMLSchema#{kind}>'
    return f"{subject} {predicate} {value_} {graph} ."


def in_python(_server: GraphServer, before: ox.Store, text: str, base: str) -> list[str]:
    """The same through the handle."""
    with treadle.open(":memory:") as db:
        db.graph.load(statements(before), "nquads", principal="w3c")
        for name in before.named_graphs():
            db.graph.update(f"CREATE SILENT GRAPH {name}", principal="w3c")
        db.graph.update(text, base=base, principal="w3c")
        assert db.verify().ok
        return read_back(db.graph.export().splitlines())


@pytest.mark.parametrize("through", [over_http, in_python])
@pytest.mark.parametrize("case", named(evaluation))
def test_evaluation(server: GraphServer, case: Case, through: Callable[..., list[str]]) -> None:
    store, action, text, base = request_of(case)
    before = state(store, action, case)
    after = state(store, value(store, ox.NamedNode(case.name), MF + "result"), case)
    assert through(server, before, text, base) == canonical_state(after)[0]


@pytest.mark.parametrize("through", [over_http, in_python])
@pytest.mark.parametrize("case", named(negative))
def test_negative_syntax(server: GraphServer, case: Case, through: Callable[..., list[str]]) -> None:
    _, _, text, base = request_of(case)
    with pytest.raises(SparqlSyntax):
        through(server, ox.Store(), text, base)
