"""Statements from templates and solutions, and their net effect on a state.

An operation first takes away what its DELETE template gives for every solution, then adds what its INSERT
template gives (SPARQL 1.1 Update, section 3.1.3).  A statement that a solution leaves unbound or ill-formed
is left out, as the recommendation says; so is one whose graph would be named by a blank node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias
from typing import Literal as OneOf

from treadle.errors import SparqlLimit, check
from treadle.graph.delta import Delta, Respelled
from treadle.graph.literals import canonical
from treadle.graph.sparql.templates import Fresh, Pattern, Slot, Template, Var
from treadle.graph.terms import IRI, BlankNode, Literal, Quad, Term, trusted_blank
from treadle.graph.view import Graph

Row: TypeAlias = Sequence[Term | None]
_ONE_EMPTY_ROW: Final[tuple[Row, ...]] = ((),)


class Statements(Protocol):
    """What an overlay asks of the index below it."""

    def exists(self, quad: Quad) -> bool:
        """Whether the statement is there."""

    def existing(self, quads: Collection[Quad]) -> set[Quad]:
        """Those of some statements that are there."""

    def has_graph(self, graph: IRI) -> bool:
        """Whether the named graph is there."""

    def named_graphs(self) -> list[IRI]:
        """The named graphs that are there."""

    def size(self, graph: Graph) -> int:
        """How many statements the graph holds."""

    def quads(
        self, subject: None = None, predicate: None = None, value: None = None, graph: Graph = None
    ) -> Iterator[Quad]:
        """The statements of one graph."""


class Labels:
    """Blank node labels that no other request makes.

    Args:
        prefix: unique to the request, of ASCII letters and digits.
    """

    __slots__ = ("_count", "_prefix")

    def __init__(self, prefix: str) -> None:
        check(prefix.isascii() and prefix.isalnum(), "a prefix of labels has ASCII letters and digits only")
        self._prefix = prefix
        self._count = 0

    def fresh(self) -> BlankNode:
        """A blank node that was never used."""
        self._count += 1
        return trusted_blank(f"{self._prefix}-{self._count}")


class Filler:
    """Fills one template from solutions.

    Args:
        template: the template.
        variables: the names of the columns of the rows that come.
        operation: `insert` or `delete`, for what is reported of odd spellings.
        respelled: where to report them.
    """

    def __init__(
        self,
        template: Template,
        variables: Sequence[str],
        operation: OneOf["insert", "delete"],
        respelled: dict[Respelled, None],
    ) -> None:
        self._columns = {name: at for at, name in enumerate(variables)}
        self._respelled = respelled
        self._operation = operation
        self._patterns = [self._prepare(pattern) for pattern in template]

    def _prepare(self, pattern: Pattern) -> tuple[Pattern, Literal | None]:
        """The pattern with its constant object in canonical spelling; the object as written if it differs."""
        written = pattern.o
        if type(written) is Literal:
            kept = canonical(written)
            if kept is not written:
                return Pattern(pattern.s, pattern.p, kept, pattern.g), written
        return pattern, None

    def fill(self, row: Row, fresh: Callable[[str], BlankNode]) -> Iterator[Quad]:
        """The statements that one solution gives."""
        for pattern, written in self._patterns:
            subject = self._value(pattern.s, row, fresh)
            predicate = self._value(pattern.p, row, fresh)
            value = self._value(pattern.o, row, fresh)
            graph = None if pattern.g is None else self._value(pattern.g, row, fresh)
            if subject is None or value is None or isinstance(subject, Literal):
                continue
            if not isinstance(predicate, IRI):
                continue
            if not isinstance(graph, IRI) and (graph is not None or pattern.g is not None):
                continue
            quad = Quad(subject, predicate, value, graph)
            if written is not None:
                odd = Respelled(self._operation, quad._replace(o=written), quad)
                self._respelled[odd] = None
            yield quad

    def _value(self, slot: Slot, row: Row, fresh: Callable[[str], BlankNode]) -> Term | None:
        if isinstance(slot, Var):
            at = self._columns.get(slot.name)
            return None if at is None else row[at]
        return fresh(slot.label) if isinstance(slot, Fresh) else slot


@dataclass(slots=True)
class Overlay:
    """A state: an index, and what a request has changed of it so far.

    Attributes:
        below: the index, which stays as it is.
        most: how many statements the request may touch.
    """

    below: Statements
    most: int
    respelled: dict[Respelled, None] = field(default_factory=dict)
    touched: int = 0
    _changed: dict[Graph, dict[Quad, bool]] = field(default_factory=dict)
    _graphs: dict[IRI, bool] = field(default_factory=dict)

    def exists(self, quad: Quad) -> bool:
        """Whether the statement is in this state."""
        known = self._changed.get(quad.g, {}).get(quad)
        return self.below.exists(quad) if known is None else known

    def has_graph(self, graph: IRI) -> bool:
        """Whether the named graph exists in this state."""
        known = self._graphs.get(graph)
        return self.below.has_graph(graph) if known is None else known

    def named_graphs(self) -> list[IRI]:
        """The named graphs that exist in this state, sorted."""
        names = set(self.below.named_graphs()) | set(self._graphs)
        return sorted(name for name in names if self.has_graph(name))

    def graph(self, graph: Graph) -> list[Quad]:
        """The statements of one graph in this state."""
        changed = self._changed.get(graph, {})
        self._touch(self.below.size(graph))
        kept = [quad for quad in self.below.quads(graph=graph) if quad not in changed]
        return kept + [quad for quad, present in changed.items() if present]

    def change(self, deletes: Iterable[Quad], inserts: Iterable[Quad]) -> None:
        """Takes statements away, then adds others."""
        gone, come = dict.fromkeys(deletes), dict.fromkeys(inserts)
        self._touch(len(gone) + len(come))
        for quad in gone:
            if quad not in come:
                self._set(quad, present=False)
        for quad in come:
            self._set(quad, present=True)
            if quad.g is not None:
                self._graphs[quad.g] = True

    def _set(self, quad: Quad, *, present: bool) -> None:
        self._changed.setdefault(quad.g, {})[quad] = present

    def create(self, graph: IRI) -> None:
        """Makes a named graph."""
        self._graphs[graph] = True

    def clear(self, graph: Graph) -> None:
        """Takes every statement out of a graph."""
        for quad in self.graph(graph):
            self._set(quad, present=False)

    def drop(self, graph: Graph) -> None:
        """Clears a graph and removes its name."""
        self.clear(graph)
        if graph is not None:
            self._graphs[graph] = False

    def _touch(self, statements: int) -> None:
        self.touched += statements
        if self.touched > self.most:
            raise too_many(self.most)

    def delta(self) -> Delta:
        """What the request changes: from the index's state to this one."""
        removed: list[Quad] = []
        added: list[Quad] = []
        for changed in self._changed.values():
            below = self.below.existing(changed)
            for quad, present in changed.items():
                if present != (quad in below):
                    (added if present else removed).append(quad)
        created: list[IRI] = []
        dropped: list[IRI] = []
        for name, there in self._graphs.items():
            if there != self.below.has_graph(name):
                (created if there else dropped).append(name)
        return Delta.of(removed, added, created, dropped, self.respelled)


def too_many(most: int) -> SparqlLimit:
    """The refusal of a request that touches more statements than one may."""
    return SparqlLimit(
        f"one request may touch at most {most} statements (update_full_copy_max_facts); split it, or load "
        "large data as a document"
    )


def fill_all(
    overlay: Overlay,
    delete: Template,
    insert: Template,
    variables: Sequence[str],
    rows: Iterable[Row],
    fresh: Callable[[int], Callable[[str], BlankNode]],
) -> None:
    """Changes a state as one operation does.

    Args:
        overlay: the state.
        delete, insert: the templates.
        variables: the names of the rows' columns.
        rows: the solutions.
        fresh: for the number of a solution, its blank node for each label.
    """
    remover = Filler(delete, variables, "delete", overlay.respelled)
    adder = Filler(insert, variables, "insert", overlay.respelled)
    deletes: dict[Quad, None] = {}
    inserts: dict[Quad, None] = {}
    for number, row in enumerate(rows):
        nodes = fresh(number)
        deletes |= dict.fromkeys(remover.fill(row, nodes))
        inserts |= dict.fromkeys(adder.fill(row, nodes))
        if len(deletes) + len(inserts) > overlay.most:
            raise too_many(overlay.most)
    overlay.change(deletes, inserts)


def per_solution(labels: Labels) -> Callable[[int], Callable[[str], BlankNode]]:
    """Blank nodes of a template: each label a new node for each solution."""

    def of_solution(_number: int) -> Callable[[str], BlankNode]:
        made: dict[str, BlankNode] = {}

        def node(label: str) -> BlankNode:
            if label not in made:
                made[label] = labels.fresh()
            return made[label]

        return node

    return of_solution


def one_row() -> tuple[Row, ...]:
    """The one solution, without columns, of an operation that has no pattern."""
    return _ONE_EMPTY_ROW
