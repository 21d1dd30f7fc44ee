"""The W3C's SPARQL 1.1 update tests, on the direct and on the sequence path wherever both apply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from tests.support.shared import SHARED
from tests.support.sparql import NOW, canonical_state
from treadle.errors import SparqlSyntax
from treadle.graph.dataset import Index
from treadle.graph.sparql.update import compute_delta

SUITE = SHARED / "w3c-sparql11-update"
MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
LABEL = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
EVALUATION, NEGATIVE = 94, 8

pytestmark = pytest.mark.skipif(not SUITE.exists(), reason=f"../shared/{SUITE.name} is not beside this clone")


@dataclass(frozen=True)
class Case:
    name: str
    manifest: Path
    kind: str


def manifests() -> list[Path]:
    return sorted(SUITE.glob("*/manifest.ttl"))


def graph_of(manifest: Path) -> ox.Store:
    store = ox.Store()
    store.load(path=str(manifest), format=ox.RdfFormat.TURTLE, base_iri=manifest.as_uri())
    return store


def cases(kind: str) -> Iterator[Case]:
    quad: Any
    for manifest in manifests():
        for quad in graph_of(manifest).quads_for_pattern(None, TYPE, ox.NamedNode(MF + kind)):
            yield Case(str(quad.subject.value), manifest, kind)


def named(found: list[Case]) -> list[object]:
    return [
        pytest.param(case, id=f"{case.manifest.parent.name}-{case.name.split('#')[-1]}") for case in found
    ]


evaluation = list(cases("UpdateEvaluationTest"))
negative = list(cases("NegativeSyntaxTest11"))


def value(store: ox.Store, subject: Any, predicate: str) -> Any:
    found = store.quads_for_pattern(subject, ox.NamedNode(predicate), None)
    return next((quad.object for quad in found), None)


def state(store: ox.Store, node: Any, case: Case) -> ox.Store:
    """The dataset that `ut:data` and `ut:graphData` of a node describe."""
    result = ox.Store()
    quad: Any
    for quad in store.quads_for_pattern(node, ox.NamedNode(UT + "data"), None):
        load(result, quad.object.value, None)
    for quad in store.quads_for_pattern(node, ox.NamedNode(UT + "graphData"), None):
        label = value(store, quad.object, LABEL.value)
        load(result, value(store, quad.object, UT + "graph").value, label.value)
    return result


def load(store: ox.Store, document: str, graph: str | None) -> None:
    name = ox.NamedNode(graph) if graph else ox.DefaultGraph()
    store.add_graph(name)
    path = document.removeprefix("file://")
    store.load(path=path, format=ox.RdfFormat.TURTLE, base_iri=document, to_graph=name)


def request_of(case: Case) -> tuple[ox.Store, Any, str, str]:
    store = graph_of(case.manifest)
    test = ox.NamedNode(case.name)
    action = value(store, test, MF + "action")
    document = action if case.kind == "NegativeSyntaxTest11" else value(store, action, UT + "request")
    text = Path(document.value.removeprefix("file://")).read_text()
    return store, action, text, document.value


def test_every_case_is_here() -> None:
    assert (len(evaluation), len(negative)) == (EVALUATION, NEGATIVE)


@pytest.mark.parametrize("path", ["direct", "sequence"])
@pytest.mark.parametrize("case", named(evaluation))
def test_evaluation(case: Case, path: Any) -> None:
    store, action, text, base = request_of(case)
    before = state(store, action, case)
    after = state(store, value(store, ox.NamedNode(case.name), MF + "result"), case)
    index = Index()
    index.store.extend(list(before))
    for graph in before.named_graphs():
        index.store.add_graph(graph)
    index.recount()
    if path == "direct" and compute_delta(index, text, now=NOW, labels="w3c", base=base).path != path:
        return  # a pattern follows another operation: only the sequence path applies
    result = compute_delta(index, text, now=NOW, labels="w3c", base=base, path=path)
    assert canonical_state(index.store) == canonical_state(before), "computing changes nothing"
    index.apply(result.delta)
    # The suite does not say which emptied graphs exist, so the statements alone are compared.
    assert canonical_state(index.store)[0] == canonical_state(after)[0]
    assert len(index) == len(index.store)


@pytest.mark.parametrize("case", named(negative))
def test_negative_syntax(case: Case) -> None:
    _, _, text, base = request_of(case)
    with pytest.raises(SparqlSyntax) as refused:
        compute_delta(Index(), text, now=NOW, labels="w3c", base=base)
    assert refused.value.line is not None
