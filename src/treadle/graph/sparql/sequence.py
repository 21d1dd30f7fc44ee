"""Several operations whose patterns see what earlier ones changed.

The operations run in a replica of the index's store as one update that ends with a statement that always
fails, so the store takes everything back and the replica serves again.  On the way each pattern reports its
solutions through a function, and the delta is worked out from those reports by the same code as on the direct
path.  What runs in the store is written here from the operations as they were read: its templates hold
variables and ground terms only, and a function makes their blank nodes, so the store and the report agree on
every label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyoxigraph as ox

from treadle.errors import SparqlError, SparqlLimit, check
from treadle.graph.convert import kept_term_of, to_ox
from treadle.graph.dataset import Index
from treadle.graph.evaluation import given_up
from treadle.graph.sparql.direct import manage
from treadle.graph.sparql.request import Request
from treadle.graph.sparql.solve import Overlay, Row, fill_all, one_row, too_many
from treadle.graph.sparql.split import Operation
from treadle.graph.sparql.templates import Fresh, Pattern, Template, Var, variables_of
from treadle.graph.terms import IRI, BlankNode, trusted_blank

TEMPLATE_NODES: Final = 500

_REPORT: Final = "report"  # (operation, value…) -> the solution's node; reports the solution
_NODE: Final = "node"  # (solution, number) -> a blank node of a template
_TERM: Final = "term"  # (placeholder) -> the blank node that it stands for, anything else as it is
_GRAPH: Final = "graph"  # (value) -> the value if it can name a graph
_BLANK: Final = "b:"
_UNBOUND: Final = "unbound"
_END: Final = "end"


def run_sequence(request: Request, index: Index, overlay: Overlay) -> None:
    """Changes the overlay as the request's operations do, in order, each seeing those before it.

    Args:
        request: any update.
        index: the index under the overlay.
        overlay: a state with no changes yet.
    """
    _check_sizes(request, index, overlay.most)
    rehearsal = _Rehearsal(request, overlay.most)
    with index.replica(request.stopped) as replica:
        rehearsal.run(replica.store)
        replica.spent += rehearsal.written
    for number, operation in enumerate(request.update.operations):
        solved = rehearsal.solved.get(number)
        if solved is None:
            manage(request, overlay, operation)
        else:
            fill_all(overlay, solved.delete, solved.insert, solved.variables, solved.rows, solved.nodes)


def _check_sizes(request: Request, index: Index, most: int) -> None:
    """Counts what CLEAR, DROP, ADD, MOVE and COPY would touch, before anything is copied."""
    total = 0
    for operation in request.update.operations:
        for name in operation.graphs:
            if operation.kind == "create":
                continue
            if name == "ALL":
                total += len(index)
            elif name == "NAMED":
                total += len(index) - index.size(None)
            else:
                total += index.size(None if name in (None, "DEFAULT") else IRI(name or ""))
    if total > most:
        raise too_many(most)


class _Solved:
    """An operation with templates: what it deletes and inserts, and its solutions once reported."""

    def __init__(self, delete: Template, insert: Template) -> None:
        self.delete = delete
        self.insert = insert
        self.variables = variables_of(delete, insert)
        slots = [slot for pattern in insert for slot in (pattern.s, pattern.o) if type(slot) is Fresh]
        self.numbers = {label: at for at, label in enumerate(dict.fromkeys(slot.label for slot in slots))}
        self.rows: list[Row] = []
        self.labels: list[str] = []

    def nodes(self, number: int) -> Callable[[str], BlankNode]:
        """The blank nodes of the solution with this number, by their labels in the template."""
        return lambda label: node_of(self.labels[number], self.numbers[label])


def node_of(solution: str, number: int) -> BlankNode:
    """The blank node of a solution's label and a node's number within the template."""
    return trusted_blank(f"{solution}-{number}")


class _Rehearsal:
    """The operations as one update of the store, the functions that it calls, and what they were told."""

    def __init__(self, request: Request, most: int) -> None:
        self.solved: dict[int, _Solved] = {}
        self._request = request
        self._most = most
        self._rows = 0
        self._failure: SparqlError | None = None
        self._emitter = request.emitter()
        self._stem = request.unused_stem()

    @property
    def written(self) -> int:
        """How many statements the store has written and taken back, at most."""
        return sum(
            max(len(solved.rows), 1) * (len(solved.delete) + len(solved.insert))
            for solved in self.solved.values()
        )

    def run(self, store: ox.Store) -> None:
        """Runs the operations in a store and takes them back.

        Raises:
            SparqlSyntax: the store's parser or evaluator refuses them.
            SparqlLimit: there are more solutions than one request may have.
        """
        for number, operation in enumerate(self._request.update.operations):
            if operation.kind != "load":
                self._operation(number, operation)
                self._emitter.raw(" ;")
        end = f"CREATE GRAPH <{self._request.prefix}{_END}>"
        self._emitter.raw(f" {end} ; {end}")
        try:
            store.update(self._emitter.text, custom_functions=self._functions())
        except SyntaxError as problem:
            raise self._emitter.complaint(problem) from None
        except RuntimeError as problem:
            if self._request.prefix + _END not in str(problem):
                raise self._emitter.unsupported(problem) from None
        else:
            check(False, "the last statement of a rehearsal fails")
        if self._failure is not None:
            raise self._failure

    def _operation(self, number: int, operation: Operation) -> None:
        if operation.kind in ("insert_data", "delete_data", "delete_where", "modify"):
            delete, insert = self._request.templates(operation)
            solved = self.solved[number] = _Solved(delete, insert)
            if operation.where is None:
                self._data(operation, solved)
            else:
                self._modify(number, operation, solved)
            return
        self._emitter.raw(_management(operation))

    def _data(self, operation: Operation, solved: _Solved) -> None:
        """INSERT DATA or DELETE DATA; statements with blank nodes come from a table of placeholders."""
        label = self._request.labels.fresh().value
        solved.rows, solved.labels = list(one_row()), [label]
        verb = "INSERT" if operation.kind == "insert_data" else "DELETE"
        patterns = solved.insert or solved.delete
        ground = [pattern for pattern in patterns if not _has_node(pattern)]
        self._emitter.raw(f" {verb} DATA {{ {' '.join(self._plain(pattern) for pattern in ground)} }}")
        for named in (False, True):
            rows = [
                "(" + " ".join(self._placed(slot, solved) for slot in pattern.slots if slot is not None) + ")"
                for pattern in patterns
                if _has_node(pattern) and (pattern.g is not None) == named
            ]
            if rows:
                self._emitter.raw(f" ; {verb} {self._table(rows, named=named)}")

    def _table(self, rows: list[str], *, named: bool) -> str:
        s, p, o, g = (f"?{self._stem}{at}" for at in "spog")
        template = f"GRAPH {g} {{ {s}1 {p} {o}1 }}" if named else f"{s}1 {p} {o}1"
        columns = f"{s} {p} {o} {g}" if named else f"{s} {p} {o}"
        binds = " ".join(f"BIND({self._function(_TERM)}({name}) AS {name}1)" for name in (s, o))
        return f"{{ {template} }} WHERE {{ VALUES ({columns}) {{ {' '.join(rows)} }} {binds} }}"

    def _placed(self, slot: Any, solved: _Solved) -> str:
        """A constant, or the placeholder of a blank node."""
        if type(slot) is Fresh:
            slot = node_of(solved.labels[0], solved.numbers[slot.label])
        if type(slot) is BlankNode:
            return f"<{self._request.prefix}{_BLANK}{slot.value}>"
        return n3(slot)

    def _plain(self, pattern: Pattern) -> str:
        subject, predicate, value, graph = (None if slot is None else n3(slot) for slot in pattern.slots)
        triple = f"{subject} {predicate} {value} ."
        return triple if graph is None else f"GRAPH {graph} {{ {triple} }}"

    def _modify(self, number: int, operation: Operation, solved: _Solved) -> None:
        if len(solved.numbers) > TEMPLATE_NODES:
            raise SparqlLimit(f"more than {TEMPLATE_NODES} blank nodes in a template")
        if any(type(term) is BlankNode for term in self._request.bindings.values()):
            message = "a variable of a pattern cannot be bound to a blank node here; send the operation alone"
            raise self._request.error(message, operation)
        emitter = self._emitter
        default, named = self._request.dataset(operation)
        if operation.with_graph is not None and not operation.has_using:
            emitter.raw(f" WITH <{operation.with_graph}>")
        emitter.raw(f" DELETE {{ {self._template(solved.delete, solved)} }}")
        emitter.raw(f" INSERT {{ {self._template(solved.insert, solved)} }}")
        if named is not None:
            emitter.raw("".join(f" USING <{name}>" for name in default or ()))
            emitter.raw("".join(f" USING NAMED <{name}>" for name in named))
        emitter.raw(" WHERE {")
        start, end = operation.where or (0, -1)
        emitter.span(start, end + 1, operation.scope)
        emitter.raw(f" {self._binds(number, solved)} }}")

    def _binds(self, number: int, solved: _Solved) -> str:
        """The report of a solution, and after it what the templates need besides the solution's values."""
        row = f"?{self._stem}row"
        values = "".join(
            f", COALESCE(?{name}, <{self._request.prefix}{_UNBOUND}>)" for name in solved.variables
        )
        parts = [f"BIND({self._function(_REPORT)}({number}{values}) AS {row}) FILTER(BOUND({row}))"]
        for at in solved.numbers.values():
            parts.append(f"BIND({self._function(_NODE)}({row}, {at}) AS ?{self._stem}n{at})")
        graphs = dict.fromkeys(
            pattern.g.name for pattern in (*solved.delete, *solved.insert) if type(pattern.g) is Var
        )
        for name in graphs:
            parts.append(f"BIND({self._function(_GRAPH)}(?{name}) AS ?{self._stem}g{name})")
        return " ".join(parts)

    def _template(self, template: Template, solved: _Solved) -> str:
        return " ".join(self._filled(pattern, solved) for pattern in template)

    def _filled(self, pattern: Pattern, solved: _Solved) -> str:
        triple = " ".join(self._slot(slot, solved) for slot in (pattern.s, pattern.p, pattern.o)) + " ."
        if pattern.g is None:
            return triple
        name = f"?{self._stem}g{pattern.g.name}" if isinstance(pattern.g, Var) else n3(pattern.g)
        return f"GRAPH {name} {{ {triple} }}"

    def _slot(self, slot: Any, solved: _Solved) -> str:
        if type(slot) is Var:
            return f"?{slot.name}"
        if type(slot) is Fresh:
            return f"?{self._stem}n{solved.numbers[slot.label]}"
        return n3(slot)

    def _function(self, name: str) -> str:
        return f"<{self._request.prefix}{name}>"

    def _functions(self) -> dict[Any, Any]:
        prefix = self._request.prefix
        return {
            ox.NamedNode(prefix + _REPORT): self._report,
            ox.NamedNode(prefix + _NODE): lambda row, at: to_ox(node_of(row.value, int(at.value))),
            ox.NamedNode(prefix + _TERM): self._term,
            ox.NamedNode(prefix + _GRAPH): lambda term: term if type(term) is ox.NamedNode else None,
        }

    def _report(self, number: ox.Literal, *values: Any) -> ox.BlankNode | None:
        """Takes one solution; without an answer the store leaves it out, which ends a run that must end."""
        if self._failure is not None:
            return None
        self._rows += 1
        if self._rows > self._most or self._request.stopped():
            self._failure = too_many(self._most) if self._rows > self._most else given_up()
            return None
        solved = self.solved[int(number.value)]
        try:
            row = [None if self._is_unbound(value) else kept_term_of(value) for value in values]
        except SparqlError as problem:
            self._failure = problem
            return None
        label = self._request.labels.fresh().value
        solved.rows.append(row)
        solved.labels.append(label)
        return ox.BlankNode(label)

    def _is_unbound(self, value: Any) -> bool:
        return type(value) is ox.NamedNode and value.value == self._request.prefix + _UNBOUND

    def _term(self, value: Any) -> Any:
        start = self._request.prefix + _BLANK
        if type(value) is ox.NamedNode and value.value.startswith(start):
            return ox.BlankNode(value.value[len(start) :])
        return value


def n3(slot: Any) -> str:
    """A constant of a template, for the store's text."""
    return str(slot.n3())


def _has_node(pattern: Pattern) -> bool:
    return any(type(slot) in (Fresh, BlankNode) for slot in (pattern.s, pattern.o))


def _management(operation: Operation) -> str:
    """CLEAR, DROP, CREATE, ADD, MOVE or COPY, never failing: whether it may is decided elsewhere."""
    verb = operation.kind.upper()
    if operation.kind in ("add", "move", "copy"):
        source, target = (_graph_or_default(name) for name in operation.graphs)
        return f" {verb} SILENT {source} TO {target}"
    name = operation.graphs[0]
    return f" {verb} SILENT {name if name in ('DEFAULT', 'NAMED', 'ALL') else f'GRAPH <{name}>'}"


def _graph_or_default(name: str | None) -> str:
    return "DEFAULT" if name is None else f"GRAPH <{name}>"
