"""Updates as data: their SPARQL text, and what they do to a set of statements, worked out the slow way.

A pattern is a statement in which a text that begins with `?` is a variable; in templates and data one that
begins with `_:` is a new blank node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sim.graph.names import Quad, integer, number

Row = dict[str, str]


class Impossible(Exception):
    """The update is an error as it stands, and changes nothing."""


class Change(NamedTuple):
    """DELETE and INSERT where a pattern holds; without a pattern, of data.

    `absent` is what must not be there beside a solution; `plus` are two variables, the second bound to the
    first plus one.
    """

    delete: tuple[Quad, ...] = ()
    insert: tuple[Quad, ...] = ()
    where: tuple[Quad, ...] | None = None
    absent: tuple[Quad, ...] = ()
    plus: tuple[str, str] | None = None


class Manage(NamedTuple):
    """CLEAR, DROP, CREATE, ADD, COPY or MOVE; a graph is '' for the default one, or NAMED or ALL."""

    verb: str
    graphs: tuple[str, ...]
    silent: bool = False


class Load(NamedTuple):
    """A document's statements, added to a graph or in place of what it holds."""

    quads: tuple[Quad, ...]
    graph: str
    replace: bool


Update = Change | Manage | Load


class Data:
    """Statements and names of graphs, to be changed."""

    def __init__(self, quads: Iterable[Quad] = (), graphs: Iterable[str] = ()) -> None:
        self.quads = set(quads)
        self.graphs = set(graphs)
        self._made = 0

    def carry_out(self, update: Update) -> None:
        """Do what an update says; raises `Impossible`."""
        if isinstance(update, Change):
            self._change(update)
        elif isinstance(update, Load):
            if update.replace:
                self._clear(update.graph)
                self.graphs |= {update.graph} - {""}
            self._insert(self._filled(update.quads, {}))
        else:
            self._manage(update)

    def _change(self, update: Change) -> None:
        gone: set[Quad] = set()
        come: set[Quad] = set()
        for row in list(solutions(self.quads, update.where or (), update)):
            gone |= set(self._filled(update.delete, row))
            come |= set(self._filled(update.insert, row))
        self.quads -= gone
        self._insert(come)

    def _insert(self, quads: Iterable[Quad]) -> None:
        for quad in quads:
            self.quads.add(quad)
            self.graphs |= {quad[3]} - {""}

    def _filled(self, templates: Iterable[Quad], row: Row) -> Iterator[Quad]:
        """The statements of a solution; what would be none is left out."""
        self._made += 1
        for template in templates:
            terms = [f"_:new{self._made}{term[2:]}" if term[:2] == "_:" else term for term in template]
            s, p, o, g = (row.get(term, term) for term in terms)
            if not any(term.startswith("?") for term in (s, p, o, g)) and s[0] != '"' and p[0] == "<":
                yield s, p, o, g

    def _manage(self, update: Manage) -> None:
        if update.verb in ("CLEAR", "DROP"):
            for name in self._chosen(update):
                self._clear(name)
                if update.verb == "DROP":
                    self.graphs.discard(name)
        elif update.verb == "CREATE":
            if update.graphs[0] in self.graphs and not update.silent:
                raise Impossible
            self.graphs.add(update.graphs[0])
        else:
            self._transfer(update)

    def _chosen(self, update: Manage) -> list[str]:
        name = update.graphs[0]
        if name in ("NAMED", "ALL"):
            return [*self.graphs, *([""] if name == "ALL" else [])]
        if name and name not in self.graphs:
            if not update.silent:
                raise Impossible
            return []
        return [name]

    def _transfer(self, update: Manage) -> None:
        source, target = update.graphs
        if source == target:
            return
        there = not source or source in self.graphs
        if update.verb == "MOVE" and not there and not update.silent:
            raise Impossible
        copied = [(s, p, o, target) for s, p, o, g in self.quads if g == source]
        if update.verb != "ADD":
            self._clear(target)
            self.graphs.discard(target)
        self._insert(copied)
        if update.verb == "MOVE" and there:
            self._clear(source)
            self.graphs.discard(source)

    def _clear(self, graph: str) -> None:
        self.quads = {quad for quad in self.quads if quad[3] != graph}


def solutions(quads: set[Quad], where: Sequence[Quad], update: Change | None = None) -> Iterator[Row]:
    """Every way to match all patterns: one pattern after the other, against every statement."""
    rows: list[Row] = [{}]
    for pattern in where:
        rows = [row for known in rows for row in _matches(quads, pattern, known)]
    for row in rows:
        if update is not None and update.absent and any(_joined(quads, update.absent, row)):
            continue
        if update is not None and update.plus is not None:
            known = integer(row[update.plus[0]])
            if known is not None:
                row = {**row, update.plus[1]: number(known + 1)}
        yield row


def _joined(quads: set[Quad], where: Sequence[Quad], row: Row) -> list[Row]:
    rows = [row]
    for pattern in where:
        rows = [found for known in rows for found in _matches(quads, pattern, known)]
    return rows


def _matches(quads: set[Quad], pattern: Quad, known: Row) -> Iterator[Row]:
    bound = tuple(known.get(term, term) for term in pattern)
    if not any(term.startswith("?") for term in bound):
        if bound in quads:
            yield known
        return
    for quad in quads:
        if bound[3].startswith("?") and not quad[3]:
            continue  # a variable ranges over named graphs
        row = dict(known)
        if all(_fits(term, value, row) for term, value in zip(bound, quad, strict=True)):
            yield row


def _fits(term: str, value: str, row: Row) -> bool:
    if term.startswith("?"):
        return row.setdefault(term, value) == value
    return term == value


# As text.


def text_of(updates: Sequence[Update]) -> str:
    """A request of several operations; a `Load` has no text of this kind."""
    return " ;\n".join(_text(update) for update in updates)


def document(load: Load) -> str:
    """What a `Load` loads, as N-Triples."""
    return "\n".join(f"{s} {p} {o} ." for s, p, o, _ in load.quads)


def _text(update: Update) -> str:
    if isinstance(update, Load):
        raise TypeError("a document is loaded")
    if isinstance(update, Manage):
        silent = " SILENT" if update.silent else ""
        return f"{update.verb}{silent} {' TO '.join(map(_graph, update.graphs))}"
    if update.where is None:
        if update.delete and update.insert:
            return f"DELETE {{ {block(update.delete)} }} INSERT {{ {block(update.insert)} }} WHERE {{ }}"
        verb = "DELETE" if update.delete else "INSERT"
        return f"{verb} DATA {{ {block(update.delete or update.insert)} }}"
    absent = f" FILTER NOT EXISTS {{ {block(update.absent)} }}" if update.absent else ""
    plus = f" BIND({update.plus[0]} + 1 AS {update.plus[1]})" if update.plus else ""
    where = f"{block(update.where)}{absent}{plus}"
    if update.delete == update.where and not (update.insert or absent or plus):
        return f"DELETE WHERE {{ {where} }}"
    return f"DELETE {{ {block(update.delete)} }} INSERT {{ {block(update.insert)} }} WHERE {{ {where} }}"


def _graph(name: str) -> str:
    if not name:
        return "DEFAULT"
    return name if name in ("NAMED", "ALL") else f"GRAPH {name}"


def block(quads: Iterable[Quad]) -> str:
    """Statements or patterns as they stand between braces."""
    return " ".join(f"GRAPH {g} {{ {s} {p} {o} }}" if g else f"{s} {p} {o} ." for s, p, o, g in quads)


# What is compared.


def shape(quads: Iterable[Quad], known: set[str]) -> list[Quad]:
    """Statements with a blank node that was not known before called by what is said of it, sorted."""
    found = list(quads)
    said: dict[str, list[tuple[str, ...]]] = {}
    for s, p, o, g in found:
        if _new(s, known):
            said.setdefault(s, []).append(("s", p, "_" if _new(o, known) else o, g))
        if _new(o, known):
            said.setdefault(o, []).append(("o", p, "_" if _new(s, known) else s, g))
    names = {node: f"_:{sorted(facts)}" for node, facts in said.items()}
    return sorted((names.get(s, s), p, names.get(o, o), g) for s, p, o, g in found)


def nodes(quads: Iterable[Quad]) -> set[str]:
    """The blank nodes of statements."""
    return {term for s, _, o, _ in quads for term in (s, o) if term.startswith("_:")}


def _new(term: str, known: set[str]) -> bool:
    return term.startswith("_:") and term not in known
