"""Between this package's terms and pyoxigraph's: the only module that builds or reads the latter's terms."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias

import pyoxigraph as ox

from treadle.errors import SparqlError
from treadle.graph.literals import canonical
from treadle.graph.terms import (
    IRI,
    XSD_STRING,
    BlankNode,
    Literal,
    Quad,
    Resource,
    Term,
    trusted_blank,
    trusted_iri,
    trusted_literal,
)

OxTerm: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
OxGraph: TypeAlias = ox.NamedNode | ox.BlankNode | ox.DefaultGraph

_DEFAULT_GRAPH: Final = ox.DefaultGraph()
_DIRECTION = "a literal with a base direction is RDF 1.2; this dataset holds RDF 1.1: drop the direction"
_TRIPLE = "a triple used as a term is RDF 1.2; this dataset holds RDF 1.1: describe it with plain statements"


def term_of(term: Any) -> Term:
    """The term as it is spelled: nothing is made canonical.

    Raises:
        SparqlError: a triple term or a literal with a base direction, which RDF 1.1 does not have.
    """
    reader = _READERS.get(type(term))
    if reader is None:
        raise SparqlError(_TRIPLE)
    return reader(term)


def kept_term_of(term: Any) -> Term:
    """The term as the dataset keeps it: a literal in its canonical spelling."""
    read = term_of(term)
    return canonical(read) if type(read) is Literal else read


def _literal_of(literal: ox.Literal) -> Literal:
    language = literal.language
    if language is None:
        return trusted_literal(literal.value, literal.datatype.value)
    if literal.direction is not None:
        raise SparqlError(_DIRECTION)
    return trusted_literal(literal.value, literal.datatype.value, language)


_iri: Final = lru_cache(maxsize=16_384)(trusted_iri)
"""The same object for the same text: statements that share names then share memory."""

_READERS: Final[dict[type, Callable[[Any], Term]]] = {
    ox.NamedNode: lambda node: _iri(node.value),
    ox.BlankNode: lambda node: trusted_blank(node.value),
    ox.Literal: _literal_of,
}


def iri_of(node: Any) -> IRI:
    """The name of a node that has one."""
    return _iri(node.value)


def graph_of(graph: Any) -> IRI | None:
    """The graph's name, None for the default graph.

    Raises:
        SparqlError: a blank node names the graph; such a name would not survive being written and read.
    """
    if type(graph) is ox.NamedNode:
        return _iri(graph.value)
    if type(graph) is ox.BlankNode:
        raise SparqlError("a blank node cannot name a graph here: give the graph an IRI")
    return None


def quad_of(quad: Any) -> Quad:
    """The statement as it is spelled."""
    subject, predicate, object_, graph = quad
    return Quad(_resource_of(subject), _iri(predicate.value), term_of(object_), graph_of(graph))


def _resource_of(node: Any) -> Resource:
    read = term_of(node)
    if isinstance(read, Literal):
        raise SparqlError("a literal cannot be a subject: use an IRI or a blank node")
    return read


@lru_cache(maxsize=16_384)
def _node(text: str) -> ox.NamedNode:
    """A named node; checking an IRI costs far more than finding it here again."""
    return ox.NamedNode(text)


@lru_cache(maxsize=16_384)
def checked_iri(text: str) -> IRI | None:
    """The name of that text, None where the index does not accept it as an absolute IRI."""
    try:
        _node(text)
    except ValueError:
        return None
    return _iri(text)


def to_ox(term: Term) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    """The term for the index.

    Raises:
        ValueError: an IRI or a language tag that the index does not accept.
    """
    if isinstance(term, IRI):
        return _node(term[1])
    if isinstance(term, BlankNode):
        return ox.BlankNode(term[1])
    return _to_literal(term)


def _to_literal(literal: Literal) -> ox.Literal:
    if literal[3]:
        return ox.Literal(literal[1], language=literal[3])
    if literal[2] == XSD_STRING:
        return ox.Literal(literal[1])
    return ox.Literal(literal[1], datatype=_node(literal[2]))


def to_ox_graph(graph: IRI | None) -> ox.NamedNode | ox.DefaultGraph:
    """The graph's name for the index."""
    return _DEFAULT_GRAPH if graph is None else _node(graph[1])


def to_ox_quad(quad: Quad) -> ox.Quad:
    """The statement for the index."""
    subject: Any = to_ox(quad.s)
    return ox.Quad(subject, _node(quad.p[1]), to_ox(quad.o), to_ox_graph(quad.g))
