"""SPARQL 1.1 JSON results as statements, and a run as the client sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from treadle.graph.client.transport import NoAnswer
from treadle.graph.entities import Plan, Step, grouped, only_iri, only_text, read_plan
from treadle.graph.memory import Statements
from treadle.graph.terms import IRI, BlankNode, Literal, Quad, Resource, Term
from treadle.graph.view import Graph
from treadle.graph.vocabulary import LABEL, RDF_TYPE, Vocabulary


def quads(answer: Mapping[str, Any]) -> list[Quad]:
    """The statements of an answer with the variables s, p, o, and g where a graph has a name.

    Raises:
        NoAnswer: the answer is not in the SPARQL 1.1 JSON results format.
    """
    try:
        return [_quad(row) for row in answer["results"]["bindings"]]
    except (KeyError, TypeError, ValueError) as error:
        raise NoAnswer("the server's answer to a query cannot be read") from error


def _quad(row: Mapping[str, Any]) -> Quad:
    subject, predicate, value = (_term(row[name]) for name in "spo")
    graph = _term(row["g"]) if "g" in row else None
    if isinstance(subject, Literal) or not isinstance(predicate, IRI):
        raise ValueError("no statement")
    if graph is not None and not isinstance(graph, IRI):
        raise ValueError("a graph's name is an IRI")
    return Quad(subject, predicate, value, graph)


def _term(value: Mapping[str, Any]) -> Term:
    kind, text = value["type"], value["value"]
    if not isinstance(text, str):
        raise ValueError("a term's value is a text")
    if kind == "uri":
        return IRI(text)
    if kind == "bnode":
        return BlankNode(text)
    if kind not in ("literal", "typed-literal"):
        raise ValueError(f"no kind of term: {kind}")
    return Literal(text, value.get("datatype"), value.get("xml:lang"))


class RunView(NamedTuple):
    """A run and its plan, as one query saw them.

    `labels` are the labels of the definition and its steps; `state` and `revision` are None when the run
    has not exactly one of each.
    """

    run: IRI
    graph: Graph
    plan: Plan
    state: str | None
    revision: str | None
    labels: Mapping[Resource, str]

    @property
    def legal(self) -> tuple[Step, ...]:
        """The steps that may be taken now."""
        return self.plan.legal(self.state) if self.state is not None else ()

    @property
    def finished(self) -> bool:
        """Whether the run is at a terminal state."""
        return self.state in self.plan.terminal

    def named(self, step: Step) -> str:
        """A step as messages write it: its name, and its label where it differs."""
        label = self.labels.get(step.iri)
        return step.name if label in (None, step.name) else f"{step.name} ({label})"


def run_view(found: Iterable[Quad], run: IRI, graph: Graph, names: Vocabulary) -> RunView | None:
    """The run that statements describe, or None when there is no run with a definition among them."""
    data = Statements(found, names)
    facts = grouped(data.facts(run, graph))
    definition = only_iri(facts.get(names.run_of, ()))
    plan = read_plan(data, definition, graph, names) if definition is not None else None
    if names.run not in facts.get(RDF_TYPE, ()) or plan is None:
        return None
    labels = {quad.s: str(quad.o) for quad in sorted(data.scan(LABEL), key=lambda quad: quad[:3])}
    state = only_text(facts.get(names.current_state, ()))
    revision = only_text(facts.get(names.current_revision, ()))
    return RunView(run, graph, plan, state, revision, labels)
