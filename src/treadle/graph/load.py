"""Documents into statements: Turtle, N-Triples, N-Quads, TriG, RDF/XML, JSON-LD.

A document is read by the index's own parsers, which open nothing.  Its blank nodes get labels that no other
request has, its literals the dataset's spelling.  What the parsers do not survive is refused before: document
types and deep nesting in RDF/XML, triple terms in the Turtle family.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn
from xml.parsers import expat

import pyoxigraph as ox

from treadle.errors import SparqlError, SparqlLimit, SparqlSyntax
from treadle.graph.convert import quad_of
from treadle.graph.dataset import Index
from treadle.graph.delta import Delta, Respelled
from treadle.graph.literals import canonical_quad
from treadle.graph.sparql.names import checked_base
from treadle.graph.sparql.solve import Labels
from treadle.graph.sparql.tokens import Source
from treadle.graph.terms import BlankNode, Literal, Quad, Resource, Term
from treadle.graph.view import Graph

FORMATS: Final[dict[str, ox.RdfFormat]] = {
    "turtle": ox.RdfFormat.TURTLE,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nquads": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
}
XML_DEPTH: Final = 1_000
STAR_DEPTH: Final = 500
STATEMENTS: Final = 10_000_000
_EVERY: Final = 100_000

_TURTLE_FAMILY: Final = ("turtle", "ntriples", "nquads", "trig")
_TURTLE_PIECE: Final = re.compile(
    r'''"""(?:"{0,2}(?:[^"\\]|\\.))*"""|"(?:[^"\\\n\r]|\\.)*"'''
    r"""|'''(?:'{0,2}(?:[^'\\]|\\.))*'''|'(?:[^'\\\n\r]|\\.)*'"""
    r"""|\\.|<[^<>"{}|^`\x00-\x20]*>|\#[^\n\r]*|(?P<star><<)""",
    re.DOTALL,
)
_STAR: Final = re.compile("<<|>>")
_UNFIT: Final = re.compile("[\ud800-\udfff]")

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a document: as the document spells it, and as the dataset keeps it."""

    written: Quad
    stored: Quad


def read_document(
    document: str | bytes,
    format: str,
    *,
    labels: str,
    graph: Graph = None,
    base: str | None = None,
    most: int = STATEMENTS,
) -> Iterator[Statement]:
    """The statements of a document, in its order.

    Args:
        document: the text, or its UTF-8 bytes.
        format: a key of `FORMATS`.
        labels: a prefix for blank node labels, ASCII letters and digits, used for no other request.
        graph: where statements go that name no graph themselves.
        base: the IRI that relative IRIs are resolved against.
        most: how many statements there may be.

    Raises:
        SparqlSyntax: the document is not of the format, with line and column.
        SparqlLimit: it is nested too deeply or has too many statements.
        SparqlError: it holds what RDF 1.1 does not have, NUL, or a graph named by a blank node.
        ValueError: there is no such format.
    """
    if format not in FORMATS:
        raise ValueError(f"no format {format!r}; there are {', '.join(FORMATS)}")
    text = _decoded(document)
    if format == "rdfxml":
        _check_xml(text)
    elif format in _TURTLE_FAMILY and _depth(text) > STAR_DEPTH:
        _check_star(text)
    return _statements(text, format, _Renamer(Labels(labels)), graph, checked_base(base), most)


def _decoded(document: str | bytes) -> str:
    if isinstance(document, bytes):
        try:
            return document.decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            raise SparqlSyntax(f"the document is not UTF-8: byte {problem.start}; convert it first") from None
    unfit = _UNFIT.search(document)
    if unfit:
        raise Source(document).error("a lone surrogate cannot stand in a document", unfit.start())
    return document.removeprefix("\ufeff")


def _statements(
    text: str, format: str, renamer: _Renamer, graph: Graph, base: str | None, most: int
) -> Iterator[Statement]:
    count = 0
    try:
        for found in ox.parse(text, FORMATS[format], base_iri=base):
            count += 1
            if count > most:
                raise SparqlLimit(f"the document has more than {most} statements; split it")
            quad = renamer.renamed(quad_of(found), graph)
            yield Statement(quad, canonical_quad(quad))
    except SyntaxError as problem:
        message = str(problem.msg).partition(": ")[2] or str(problem.msg)
        raise SparqlSyntax(message, line=problem.lineno, column=problem.offset) from None


class _Renamer:
    """Blank nodes of a document under labels of the dataset's own."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        self._known: dict[str, BlankNode] = {}

    def renamed(self, quad: Quad, graph: Graph) -> Quad:
        """The statement with its blank nodes renamed, in the given graph if it names none."""
        value = quad.o
        if type(value) is Literal and "\0" in value[1]:
            raise SparqlError("NUL cannot stand in a literal")
        subject: Resource = self._node(quad.s) if type(quad.s) is BlankNode else quad.s
        term: Term = self._node(value) if type(value) is BlankNode else value
        return Quad(subject, quad.p, term, graph if quad.g is None else quad.g)

    def _node(self, node: BlankNode) -> BlankNode:
        known = self._known.get(node[1])
        if known is None:
            known = self._known[node[1]] = self._labels.fresh()
        return known


def _depth(text: str) -> int:
    """How deep triple terms can be nested at most, taking every << and >> for one, in strings too."""
    depth = deepest = 0
    for piece in _STAR.finditer(text):
        depth += 1 if piece.group() == "<<" else -1
        deepest = max(deepest, depth)
    return deepest


def _check_star(text: str) -> None:
    """Triple terms are RDF 1.2 and refused anyway; deep ones before the parser's stack overflows."""
    for piece in _TURTLE_PIECE.finditer(text):
        if piece.group("star"):
            message = "a triple used as a term is RDF 1.2; describe it with plain statements"
            raise Source(text).error(message, piece.start())


def _check_xml(text: str) -> None:
    """Refuses document types, whose entities multiply, and nesting that takes the parser hours."""
    parser = expat.ParserCreate("utf-8")
    depth = 0

    def refuse_doctype(*_: Any) -> NoReturn:
        raise SparqlSyntax(
            "a document type (DOCTYPE) is refused; write entities out",
            line=parser.CurrentLineNumber,
            column=parser.CurrentColumnNumber + 1,
        )

    def start(*_: Any) -> None:
        nonlocal depth
        depth += 1
        if depth > XML_DEPTH:
            raise SparqlLimit(f"elements nested deeper than {XML_DEPTH} at line {parser.CurrentLineNumber}")

    def end(*_: Any) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as problem:
        message = expat.errors.messages[problem.code]
        raise SparqlSyntax(message, line=problem.lineno, column=problem.offset + 1) from None


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document that was read: what it says, and what it would change.

    Attributes:
        statements: its statements as the dataset keeps them, each once, in the document's order.
        respelled: those that the document spells otherwise.
        graph: the graph that it takes the place of, where `replace` is true.
        replace: whether it takes the place of what `graph` holds.
    """

    statements: dict[Quad, None]
    respelled: tuple[Respelled, ...]
    graph: Graph = None
    replace: bool = False

    @classmethod
    def read(
        cls,
        document: str | bytes,
        format: str,
        *,
        labels: str,
        graph: Graph = None,
        base: str | None = None,
        replace: bool = False,
        most: int = STATEMENTS,
        progress: Progress | None = None,
    ) -> Loaded:
        """Read a document; for arguments and errors see `load_delta`."""
        added: dict[Quad, None] = {}
        respelled: dict[Respelled, None] = {}
        statements = read_document(document, format, labels=labels, graph=graph, base=base, most=most)
        for count, statement in enumerate(statements, 1):
            if replace and statement.stored.g != graph:
                raise SparqlError("a document that replaces a graph cannot name another one")
            if statement.written != statement.stored:
                respelled[Respelled("insert", statement.written, statement.stored)] = None
            added[statement.stored] = None
            if progress is not None and count % _EVERY == 0:
                progress(count)
        return cls(added, tuple(respelled), graph, replace)

    def delta(self, index: Index) -> Delta:
        """The change that the document would make to the index as it is; the index is left alone."""
        removed: list[Quad] = []
        if self.replace:
            removed = [quad for quad in index.quads(graph=self.graph) if quad not in self.statements]
        new = [q for q in self.statements if not index.exists(q)] if len(index) else list(self.statements)
        return self._delta(index, removed, new)

    def rebased(self, delta: Delta, since: Delta, index: Index) -> Delta:
        """The change from the index as it is, at a cost that follows what came since it was computed first.

        Args:
            delta: the change from an earlier state.
            since: what was changed since that state, whole.
            index: the index now.
        """
        gone, come = set(since.removed), set(since.added)
        new = [quad for quad in delta.added if quad not in come]
        new += [quad for quad in since.removed if quad in self.statements]
        removed = [quad for quad in delta.removed if quad not in gone]
        if self.replace:
            removed += [q for q in since.added if q.g == self.graph and q not in self.statements]
        return self._delta(index, removed, new)

    def _delta(self, index: Index, removed: list[Quad], new: list[Quad]) -> Delta:
        created = {quad.g for quad in new if quad.g is not None}
        if self.replace and self.graph is not None:
            created.add(self.graph)
        missing = [name for name in created if not index.has_graph(name)]
        return Delta.of(removed, new, missing, respelled=self.respelled)


def load_delta(
    index: Index,
    document: str | bytes,
    format: str,
    *,
    labels: str,
    graph: Graph = None,
    base: str | None = None,
    replace: bool = False,
    most: int = STATEMENTS,
    progress: Progress | None = None,
) -> Delta:
    """The change that loading a document would make to the index as it is; the index is left alone.

    Args:
        index: the dataset.
        document, format, labels, graph, base, most: as for `read_document`.
        replace: whether the document takes the place of what `graph` holds; then it may name no other graph.
        progress: called with the number of statements read so far, after each hundred thousand.

    Raises:
        As `read_document`.
        SparqlError: `replace`, and the document names another graph.
    """
    loaded = Loaded.read(
        document,
        format,
        labels=labels,
        graph=graph,
        base=base,
        replace=replace,
        most=most,
        progress=progress,
    )
    return loaded.delta(index)
