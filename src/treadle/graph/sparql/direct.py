"""One operation at a time on a state that no pattern needs to see changed.

The solutions of an operation's pattern are asked of the live index with SELECT, its templates are filled in
here, and the index stays as it is.  This serves a request of one operation, and one whose only pattern comes
first; `sequence` serves the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyoxigraph as ox

from treadle.graph.convert import kept_term_of, to_ox
from treadle.graph.dataset import Index
from treadle.graph.evaluation import given_up
from treadle.graph.sparql.emit import Emitter
from treadle.graph.sparql.request import Request
from treadle.graph.sparql.solve import Overlay, Row, fill_all, one_row, per_solution
from treadle.graph.sparql.split import Operation
from treadle.graph.sparql.templates import Template, has_fresh, variables_of
from treadle.graph.terms import BlankNode, trusted_iri
from treadle.graph.view import Graph

_PATTERNED: Final = ("modify", "delete_where")


def run_direct(request: Request, index: Index, overlay: Overlay) -> None:
    """Changes the overlay as the request's operations do, in order.

    Args:
        request: whose pattern, if it has one, belongs to its first operation.
        index: the index under the overlay.
        overlay: a state with no changes yet.
    """
    for operation in request.update.operations:
        if operation.kind in _PATTERNED or operation.kind in ("insert_data", "delete_data"):
            modify(request, index, overlay, operation)
        else:
            manage(request, overlay, operation)


def modify(request: Request, index: Index, overlay: Overlay, operation: Operation) -> None:
    """INSERT DATA, DELETE DATA, DELETE WHERE and DELETE/INSERT."""
    delete, insert = request.templates(operation)
    variables = variables_of(delete, insert)
    rows: Iterable[Row] = one_row()
    if operation.where is not None:
        rows = _solutions(request, index, operation, variables, insert)
    fill_all(overlay, delete, insert, variables, rows, per_solution(request.labels))


def _solutions(
    request: Request, index: Index, operation: Operation, variables: tuple[str, ...], insert: Template
) -> Iterator[Row]:
    """The solutions of an operation's pattern, in canonical terms; columns as in `variables`."""
    emitter = request.emitter()
    nodes = {name: term for name, term in request.bindings.items() if type(term) is BlankNode}
    head = " ".join(f"?{name}" for name in (*variables, *nodes))
    fresh = has_fresh(insert)
    counted = request.unused_stem() if fresh and not head else None
    if counted:
        emitter.raw(f"SELECT (COUNT(*) AS ?{counted}) WHERE")
    elif head:
        emitter.raw(f"SELECT {'' if fresh else 'DISTINCT '}{head} WHERE")
    else:
        emitter.raw("ASK")
    start, end = operation.where or (0, -1)
    emitter.span(start, end + 1, operation.scope)
    answer = _ask(request, index, operation, emitter, nodes)
    if isinstance(answer, ox.QueryBoolean):
        return iter(one_row() if answer else ())
    if counted:
        return iter(one_row() * int(next(answer)[0].value))
    return _rows(request, answer, len(variables), emitter)


def _ask(
    request: Request, index: Index, operation: Operation, emitter: Emitter, nodes: dict[str, BlankNode]
) -> Any:
    default, named = request.dataset(operation)
    substitutions: Any = {ox.Variable(name): to_ox(node) for name, node in nodes.items()}
    try:
        return index.store.query(
            emitter.text,
            default_graph=None if default is None else [ox.NamedNode(name) for name in default],
            named_graphs=None if named is None else [ox.NamedNode(name) for name in named],
            substitutions=substitutions or None,
        )
    except SyntaxError as problem:
        raise emitter.complaint(problem) from None
    except RuntimeError as problem:
        raise emitter.unsupported(problem) from None


def _rows(request: Request, solutions: Any, width: int, emitter: Emitter) -> Iterator[Row]:
    columns = range(width)
    try:
        for solution in solutions:
            if request.stopped():
                raise given_up()
            yield [None if (term := solution[at]) is None else kept_term_of(term) for at in columns]
    except RuntimeError as problem:
        raise emitter.unsupported(problem) from None


def manage(request: Request, overlay: Overlay, operation: Operation) -> None:
    """CLEAR, DROP, CREATE, ADD, MOVE, COPY, and LOAD SILENT, which does nothing.

    Raises:
        SparqlSyntax: a graph that must exist does not, or the other way round, and SILENT is not written.
    """
    if operation.kind == "create":
        _create(request, overlay, operation)
    elif operation.kind in ("clear", "drop"):
        for graph in _chosen(request, overlay, operation):
            if operation.kind == "drop":
                overlay.drop(graph)
            else:
                overlay.clear(graph)
    elif operation.kind in ("add", "move", "copy"):
        _transfer(request, overlay, operation)


def _create(request: Request, overlay: Overlay, operation: Operation) -> None:
    name = trusted_iri(operation.graphs[0] or "")
    if overlay.has_graph(name):
        if not operation.silent:
            raise request.error(
                f"graph <{name.value}> exists already; write CREATE SILENT to allow that", operation
            )
        return
    overlay.create(name)


def _chosen(request: Request, overlay: Overlay, operation: Operation) -> list[Graph]:
    """The graphs that CLEAR or DROP is about."""
    target = operation.graphs[0]
    if target == "DEFAULT":
        return [None]
    if target == "NAMED":
        return [*overlay.named_graphs()]
    if target == "ALL":
        return [None, *overlay.named_graphs()]
    name = trusted_iri(target or "")
    if not overlay.has_graph(name):
        _missing(request, operation, name.value)
        return []
    return [name]


def _missing(request: Request, operation: Operation, name: str) -> None:
    if not operation.silent:
        word = operation.kind.upper()
        raise request.error(f"graph <{name}> does not exist; write {word} SILENT to allow that", operation)


def _transfer(request: Request, overlay: Overlay, operation: Operation) -> None:
    """ADD, MOVE and COPY; a source that is not there is an empty one for ADD and COPY."""
    source, target = (None if name is None else trusted_iri(name) for name in operation.graphs)
    if source == target:
        return
    missing = source is not None and not overlay.has_graph(source)
    if missing and operation.kind == "move":
        _missing(request, operation, source.value if source else "")
    statements = overlay.graph(source)
    if operation.kind != "add":
        overlay.drop(target)
    overlay.change((), [quad._replace(g=target) for quad in statements])
    if operation.kind == "move" and not missing:
        overlay.drop(source)
