"""Queries: SELECT, ASK, CONSTRUCT and DESCRIBE over one state of the dataset.

A query is read and checked once (`Query.read`) and asked of an index as terms (`Query.run`) or as the bytes
of a format (`Query.serialized`).  Its answer is that of the state at the moment it began.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from typing import Literal as OneOf

import pyoxigraph as ox

from treadle.errors import SparqlError, SparqlLimit, check
from treadle.graph.convert import kept_term_of, quad_of, to_ox, to_ox_quad
from treadle.graph.dataset import Index
from treadle.graph.evaluation import Stopped, given_up, never, release
from treadle.graph.rdfxml import written
from treadle.graph.sparql import limits
from treadle.graph.sparql.cursor import Cursor
from treadle.graph.sparql.emit import Emitter
from treadle.graph.sparql.names import checked_base
from treadle.graph.sparql.request import checked_bindings
from treadle.graph.sparql.tokens import PUNCT, WORD, Source, tokenize
from treadle.graph.terms import IRI, BlankNode, Literal, Quad, Term

Form: TypeAlias = OneOf["select", "ask", "construct", "describe"]
UNION: Final = "urn:x-treadle:union"
"""As the only default graph of a query: the union of all graphs."""

ROWS: Final = 1_000_000
ANSWER_BYTES: Final = 256 * 1024 * 1024

RESULT_FORMATS: Final[dict[str, ox.QueryResultsFormat]] = {
    "json": ox.QueryResultsFormat.JSON,
    "xml": ox.QueryResultsFormat.XML,
    "csv": ox.QueryResultsFormat.CSV,
    "tsv": ox.QueryResultsFormat.TSV,
}
GRAPH_FORMATS: Final[dict[str, ox.RdfFormat]] = {
    "turtle": ox.RdfFormat.TURTLE,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "jsonld": ox.RdfFormat.JSON_LD,
}
_NOT_XML: Final = re.compile(b"[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]|\\xef\\xbf[\\xbe\\xbf]")
_FORMS: Final[dict[str, Form]] = {
    "SELECT": "select", "ASK": "ask", "CONSTRUCT": "construct", "DESCRIBE": "describe",
}  # fmt: skip


class Rows(Sequence[Mapping[str, Term]]):
    """The solutions of a SELECT, in order, each a mapping from variables that are bound to terms.

    Attributes:
        variables: the columns' names, in order.
    """

    def __init__(self, variables: Sequence[str], rows: list[tuple[Term | None, ...]]) -> None:
        self.variables = tuple(variables)
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return Rows(self.variables, self._rows[at])
        return {
            name: term for name, term in zip(self.variables, self._rows[at], strict=True) if term is not None
        }

    def __repr__(self) -> str:
        return f"Rows({len(self)} of {', '.join('?' + name for name in self.variables)})"

    def tuples(self) -> Iterator[tuple[Term | None, ...]]:
        """The solutions as tuples in the order of `variables`; None where a variable is unbound."""
        return iter(self._rows)

    def to_json(self) -> str:
        """The solutions in the SPARQL 1.1 Query Results JSON Format."""
        bindings = [{name: _json_term(term) for name, term in row.items()} for row in self]
        return json.dumps(
            {"head": {"vars": list(self.variables)}, "results": {"bindings": bindings}}, ensure_ascii=False
        )


class Triples(Sequence[Quad]):
    """The statements of a CONSTRUCT or DESCRIBE; their graph is None."""

    def __init__(self, quads: list[Quad]) -> None:
        self._quads = quads

    def __len__(self) -> int:
        return len(self._quads)

    def __getitem__(self, at: Any) -> Any:
        return Triples(self._quads[at]) if isinstance(at, slice) else self._quads[at]

    def __repr__(self) -> str:
        return f"Triples({len(self)})"

    def serialize(self, format: str = "turtle") -> str:
        """The statements as text.

        Args:
            format: a key of `GRAPH_FORMATS`.

        Raises:
            ValueError: no such format.
        """
        chosen = _chosen(GRAPH_FORMATS, format)
        triples: list[Any] = [to_ox_quad(quad).triple for quad in self]
        text = ox.serialize(triples, format=chosen)
        check(text is not None, "a document without an output is returned")
        return (text or b"").decode()


def _json_term(term: Term) -> dict[str, str]:
    if isinstance(term, IRI):
        return {"type": "uri", "value": term.value}
    if isinstance(term, BlankNode):
        return {"type": "bnode", "value": term.value}
    if term.language:
        return {"type": "literal", "value": term.value, "xml:lang": term.language}
    plain = {"type": "literal", "value": term.value}
    return plain if term == Literal(term.value) else {**plain, "datatype": term.datatype}


def _chosen(formats: Mapping[str, Any], name: str) -> Any:
    if name not in formats:
        raise ValueError(f"no format {name!r} for this answer; there are {', '.join(formats)}")
    return formats[name]


@dataclass(frozen=True, slots=True)
class Query:
    """A checked query.

    Attributes:
        form: what it asks for.
    """

    form: Form
    _emitter: Emitter = field(repr=False)
    _options: dict[str, Any] = field(repr=False)

    @classmethod
    def read(
        cls,
        text: str,
        *,
        now: int,
        base: str | None = None,
        bindings: Mapping[str, Term] | None = None,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
    ) -> Query:
        """Takes a query apart and refuses what would endanger the process.

        Args:
            text: SPARQL 1.1 Query.
            now: what ``NOW()`` stands for, microseconds since 1970 UTC.
            base: the IRI that relative IRIs are resolved against.
            bindings: terms to put in place of variables, by name.  A blank node needs its variable in the
                SELECT clause.
            default_graphs, named_graphs: absolute IRIs; where any is given they are the query's dataset,
                whatever FROM says.  The default graph `UNION` is the union of all graphs.

        Raises:
            SparqlSyntax: the text is no query, with line and column.
            SparqlLimit: a bound of `treadle.graph.sparql.limits` is passed.
            ValueError: a binding or a graph is unfit.
        """
        source = Source(text)
        limits.check_length(source)
        cursor = Cursor(source, tokenize(source), checked_base(base))
        cursor.prologue()
        start = cursor.index
        word = cursor.expect_word(*_FORMS)
        limits.check_pattern(source, cursor.tokens, cursor.closing, start, len(cursor.tokens))
        bound = checked_bindings(bindings)
        emitter = Emitter(source, cursor.tokens, now=now, bindings=bound)
        dataset = _dataset(default_graphs, named_graphs)
        for first, end in _spans(cursor, start, without_from=bool(dataset)):
            emitter.span(first, end, cursor.scope)
        nodes: Any = {ox.Variable(name): to_ox(t) for name, t in bound.items() if type(t) is BlankNode}
        return cls(_FORMS[word], emitter, {**dataset, "substitutions": nodes or None})

    @property
    def text(self) -> str:
        """The query as the store's parser gets it."""
        return self._emitter.text

    def run(self, index: Index, *, stopped: Stopped = never, most: int = ROWS) -> Rows | bool | Triples:
        """The answer as terms.

        Args:
            index: the dataset.
            stopped: asked between rows whether to end.
            most: how many rows or statements the answer may have.

        Raises:
            SparqlSyntax: the text is no query after all, or calls a function that there is none of.
            SparqlLimit: the answer is too long.
            SparqlError: code `deadline`, `stopped` said so.
        """
        try:
            return self._terms(self._ask(index), stopped, most)
        except BaseException as problem:
            release(problem)
            raise

    def _terms(self, answer: Any, stopped: Stopped, most: int) -> Rows | bool | Triples:
        if isinstance(answer, ox.QueryBoolean):
            return bool(answer)
        if isinstance(answer, ox.QuerySolutions):
            names = [variable.value for variable in answer.variables]
            columns = range(len(names))
            return Rows(names, list(self._taken(answer, stopped, most, lambda row: _terms(row, columns))))
        return Triples(list(dict.fromkeys(self._taken(answer, stopped, most, _statement))))

    def serialized(
        self, index: Index, format: str, *, stopped: Stopped = never, most: int = ANSWER_BYTES
    ) -> bytes:
        """The answer in a format.

        Args:
            index: the dataset.
            format: a key of `RESULT_FORMATS` for SELECT and ASK; a key of `GRAPH_FORMATS`, or `rdfxml`, for
                the others.
            stopped: asked now and then whether to end.
            most: how many bytes the answer may have.

        Raises:
            ValueError: the form of the query has no such format.
            SparqlSyntax, SparqlLimit, SparqlError: as for `run`; code `not_acceptable` where RDF/XML cannot
                write the answer.
        """
        solutions = self.form in ("select", "ask")
        if format == "rdfxml" and not solutions:
            found = self.run(index, stopped=stopped)
            return written(to_ox_quad(quad).triple for quad in (found if isinstance(found, Triples) else ()))
        chosen = _chosen(RESULT_FORMATS if solutions else GRAPH_FORMATS, format)
        output = _Output(stopped, most)
        try:
            self._ask(index).serialize(output, chosen)
        except RuntimeError as problem:
            raise self._emitter.unsupported(problem) from None
        except BaseException as problem:
            release(problem)
            raise
        return _well_formed(output.getvalue(), format)

    def _ask(self, index: Index) -> Any:
        try:
            return index.store.query(self._emitter.text, **self._options)
        except SyntaxError as problem:
            raise self._emitter.complaint(problem) from None
        except RuntimeError as problem:
            if "SELECT projection" in str(problem):
                message = "a variable bound to a blank node must be named in SELECT"
                raise SparqlError(message) from None
            raise self._emitter.unsupported(problem) from None

    def _taken(self, answer: Any, stopped: Stopped, most: int, read: Callable[[Any], Any]) -> Iterator[Any]:
        count = 0
        try:
            for item in answer:
                count += 1
                if count > most:
                    raise SparqlLimit(
                        f"the answer has more than {most} rows; ask for less, or page with LIMIT"
                    )
                if stopped():
                    raise given_up()
                yield read(item)
        except RuntimeError as problem:
            raise self._emitter.unsupported(problem) from None


class _Output(io.BytesIO):
    """Takes an answer as it is written, and ends it when it is too long or nobody waits."""

    def __init__(self, stopped: Stopped, most: int) -> None:
        super().__init__()
        self._stopped = stopped
        self._most = most

    def write(self, data: Any) -> int:
        if self._stopped():
            raise given_up()
        if self.tell() + len(data) > self._most:
            raise SparqlLimit(
                f"the answer has more than {self._most} bytes; ask for less, or page with LIMIT"
            )
        return super().write(data)


def _well_formed(answer: bytes, format: str) -> bytes:
    """The answer, unless it is XML and holds a character that XML 1.0 cannot write."""
    if format == "xml" and _NOT_XML.search(answer):
        raise SparqlError("the answer holds control characters, which XML cannot write; ask for JSON")
    return answer


def _terms(row: Any, columns: range) -> tuple[Term | None, ...]:
    return tuple(None if (term := row[at]) is None else kept_term_of(term) for at in columns)


def _statement(triple: Any) -> Quad:
    subject, predicate, value = triple
    return quad_of((subject, predicate, value, None))


def _dataset(default_graphs: Sequence[str], named_graphs: Sequence[str]) -> dict[str, Any]:
    """The store's options for a dataset given beside the text; empty when none is."""
    if UNION in default_graphs:
        if len(default_graphs) > 1:
            raise ValueError(f"<{UNION}> is all graphs already and stands alone")
        named = {"named_graphs": [ox.NamedNode(name) for name in named_graphs]} if named_graphs else {}
        return {"use_default_graph_as_union": True, **named}
    if not default_graphs and not named_graphs:
        return {}
    return {
        "default_graph": [ox.NamedNode(name) for name in default_graphs],
        "named_graphs": [ox.NamedNode(name) for name in named_graphs],
    }


def _spans(cursor: Cursor, start: int, *, without_from: bool) -> Iterator[tuple[int, int]]:
    """The token spans of a query, its FROM clauses left out where the dataset is given otherwise."""
    tokens, first, index = cursor.tokens, start, start
    while index < len(tokens):
        token = tokens[index]
        if token.kind == WORD and token.value == "FROM" and without_from:
            yield first, index
            index += 2
            if index <= len(tokens) and tokens[index - 1].value == "NAMED":
                index += 1
            first = index
        elif token.kind == PUNCT:
            index = cursor.closing.get(index, index) + 1
        else:
            index += 1
    yield first, len(tokens)
