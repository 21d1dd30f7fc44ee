"""The SPARQL texts of the workflow client.  Terms go in as N-Triples, which leaves nothing to inject."""

from __future__ import annotations

from collections.abc import Iterable

from treadle.graph.terms import IRI, Quad
from treadle.graph.view import Graph
from treadle.graph.vocabulary import RDF_TYPE, Vocabulary

TYPE = RDF_TYPE.n3()


def within(graph: Graph, pattern: str) -> str:
    """A pattern that is matched in one graph."""
    return pattern if graph is None else f"GRAPH {graph.n3()} {{ {pattern} }}"


def statements(quads: Iterable[Quad]) -> str:
    """Statements of one graph as a ground template, in order."""
    return " ".join(f"{q.s.n3()} {q.p.n3()} {q.o.n3()} ." for q in sorted(quads, key=lambda q: q[:3]))


def facts(graph: Graph, pattern: str) -> str:
    """One arm of a union: a pattern in one graph, with the graph's name in ?g where it has one."""
    named = "" if graph is None else f" BIND({graph.n3()} AS ?g)"
    return f"{{ {within(graph, pattern)}{named} }}"


def about(*subjects: IRI, graph: Graph) -> str:
    """Every statement about the subjects: one query, so one state of the dataset."""
    return select(*(_about(subject, graph) for subject in subjects))


def run_and_plan(run: IRI, graph: Graph, names: Vocabulary) -> str:
    """A run with its definition and all declared steps: one query, so one state of the dataset."""
    return select(*_run_and_plan(run, graph, names))


def run_and_history(run: IRI, graph: Graph, names: Vocabulary) -> str:
    """A run with its plan, its events, and the registrations of every graph."""
    events = f"?s {names.in_run.n3()} {run.n3()} . ?s {TYPE} {names.event.n3()} . ?s ?p ?o ."
    registered = f"?s {TYPE} {names.registration.n3()} . ?s ?p ?o ."
    parts = (
        *_run_and_plan(run, graph, names),
        facts(graph, events),
        f"{{ {registered} }}",
        f"{{ GRAPH ?g {{ {registered} }} }}",
    )
    return select(*parts)


def select(*parts: str) -> str:
    """The union of the parts, as statements; the graph is bound where it has a name."""
    return f"SELECT ?s ?p ?o ?g WHERE {{ {' UNION '.join(parts)} }}"


def _about(subject: IRI, graph: Graph) -> str:
    return facts(graph, f"{subject.n3()} ?p ?o . BIND({subject.n3()} AS ?s)")


def _run_and_plan(run: IRI, graph: Graph, names: Vocabulary) -> tuple[str, ...]:
    subject, run_of, has_step = run.n3(), names.run_of.n3(), names.has_step.n3()
    return (
        _about(run, graph),
        facts(graph, f"{subject} {run_of} ?s . ?s ?p ?o ."),
        facts(graph, f"{subject} {run_of} ?d . ?d {has_step} ?s . ?s ?p ?o ."),
    )


def insert(quads: Iterable[Quad], graph: Graph) -> str:
    """Insert ground statements of one graph."""
    return f"INSERT DATA {{ {within(graph, statements(quads))} }}"


def start(quads: Iterable[Quad], run: IRI, plan: IRI, initial: Quad, graph: Graph, names: Vocabulary) -> str:
    """Insert a run while its definition is there and no run of that IRI is."""
    where = (
        f"{plan.n3()} {TYPE} {names.definition.n3()} . {statements([initial])} "
        f"FILTER NOT EXISTS {{ {run.n3()} {TYPE} {names.run.n3()} }}"
    )
    return f"INSERT {{ {within(graph, statements(quads))} }} WHERE {{ {within(graph, where)} }}"


def move(removed: Iterable[Quad], added: Iterable[Quad], where: Iterable[Quad], graph: Graph) -> str:
    """Replace statements while others hold: compare and set, with constant subjects throughout."""
    return (
        f"DELETE {{ {within(graph, statements(removed))} }} "
        f"INSERT {{ {within(graph, statements(added))} }} "
        f"WHERE {{ {within(graph, statements(where))} }}"
    )
