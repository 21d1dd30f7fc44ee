"""The statements that INSERT and DELETE write: constants as they are spelled, variables, blank nodes.

A template is read by the index's Turtle parser, which keeps the spelling of literals; variables stand in it
as placeholder IRIs under a prefix that no text can contain (`placeholder_prefix`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import pyoxigraph as ox

from treadle.graph.convert import term_of
from treadle.graph.sparql.emit import Emitter
from treadle.graph.sparql.names import Scope, is_iri
from treadle.graph.sparql.split import Operation, Span, Update
from treadle.graph.sparql.tokens import (
    BLANK,
    IRIREF,
    LANG,
    NAME,
    NUMBER,
    PUNCT,
    STRING,
    VAR,
    WORD,
    Token,
)
from treadle.graph.terms import IRI, BlankNode, Literal, Term, trusted_iri


@dataclass(frozen=True, slots=True)
class Var:
    """A variable of a template, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Fresh:
    """A blank node of a template: a new node for each solution. The label tells it from others."""

    label: str


Slot: TypeAlias = IRI | Literal | BlankNode | Var | Fresh
GraphSlot: TypeAlias = IRI | Var | None


class Pattern(NamedTuple):
    """One statement of a template."""

    s: Slot
    p: IRI | Var
    o: Slot
    g: GraphSlot

    @property
    def slots(self) -> tuple[Slot | None, ...]:
        """Subject, predicate, object, graph."""
        return self


Template: TypeAlias = tuple[Pattern, ...]

_NOTHING: Final = "nothing"
_VARIABLE: Final = "v:"
_KINDS: Final = frozenset((IRIREF, NAME, VAR, BLANK, STRING, LANG, NUMBER))
_PLAIN: Final = frozenset((IRIREF, NAME, STRING))
_WORDS: Final = frozenset(("a", "TRUE", "FALSE"))
_PUNCTUATION: Final = frozenset("()[].,;") | {"^^"}


def variables_of(*templates: Template) -> tuple[str, ...]:
    """The names of the variables in some templates, each once, in order of appearance."""
    names: dict[str, None] = {}
    for template in templates:
        for pattern in template:
            names |= {slot.name: None for slot in pattern.slots if type(slot) is Var}
    return tuple(names)


def has_fresh(template: Template) -> bool:
    """Whether a template makes blank nodes."""
    return any(type(slot) is Fresh for pattern in template for slot in (pattern.s, pattern.o))


def placeholder_prefix(text: str, bindings: Mapping[str, Term]) -> str:
    """A prefix for IRIs of our own that no IRI of this text can begin with.

    It holds a hash of the text and of the bound terms, so a text that contains its own prefix, written out,
    escaped or put together by PREFIX, would have to know its own hash.
    """
    digest = hashlib.sha256(text.encode())
    for name in sorted(bindings):
        digest.update(f"\0{name}\0{bindings[name].n3()}".encode())
    return f"urn:x-treadle:{digest.hexdigest()[:32]}:"


class TemplateReader:
    """Reads the templates of one update.

    Args:
        update: the update's tokens and operations.
        prefix: of the placeholder IRIs.
        now: the sealed time, in microseconds since 1970 UTC.
        bindings: terms to put in place of variables.
    """

    __slots__ = ("_bindings", "_now", "_prefix", "_source", "_tokens", "_update")

    def __init__(self, update: Update, *, prefix: str, now: int, bindings: Mapping[str, Term]) -> None:
        self._update = update
        self._source = update.source
        self._tokens = update.tokens
        self._prefix = prefix
        self._now = now
        self._bindings = bindings

    def insert(self, operation: Operation) -> Template:
        """What the operation inserts.

        Raises:
            SparqlSyntax: it is not a template, or holds variables in INSERT DATA.
        """
        if operation.insert is None:
            return ()
        if operation.kind == "insert_data":
            self._refuse(
                operation.insert, VAR, "INSERT DATA holds no variables; use INSERT { … } WHERE { … }"
            )
        return self._read(operation.insert, operation)

    def delete(self, operation: Operation) -> Template:
        """What the operation deletes.

        Raises:
            SparqlSyntax: it is not a template, holds variables in DELETE DATA, or holds blank nodes, which
                would name no particular node.
        """
        if operation.delete is None:
            return ()
        if operation.kind == "delete_data":
            self._refuse(operation.delete, VAR, "DELETE DATA holds no variables; use DELETE WHERE")
        message = "a blank node cannot stand in what is deleted; use a variable and find it with WHERE"
        self._refuse(operation.delete, BLANK, message)
        patterns = self._read(operation.delete, operation)
        if has_fresh(patterns):
            raise self._source.error(message, self._tokens[operation.delete[0]].start)
        return patterns

    def pattern(self, operation: Operation) -> Template:
        """What a pattern of plain statements asks for.

        Raises:
            SparqlSyntax: it has anything else in it.
        """
        return () if operation.where is None else self._read(operation.where, operation)

    def _refuse(self, span: Span, kind: str, message: str) -> None:
        for token in self._tokens[slice(*span)]:
            if token.kind == kind and token.value not in self._bindings:
                raise self._source.error(message, token.start)

    def _read(self, span: Span, operation: Operation) -> Template:
        default = None if operation.with_graph is None else trusted_iri(operation.with_graph)
        patterns: list[Pattern] = []
        index, end = span[0] + 1, span[1]
        while index < end:
            if self._at_graph(index):
                graph, opening = self._graph_name(index + 1, operation.scope)
                closing = self._update.closing[opening]
                patterns += self._triples(opening + 1, closing, operation.scope, graph)
                index = closing + 1
                if self._is_dot(index):
                    index += 1
            else:
                stop = index
                while stop < end and not self._at_graph(stop):
                    stop += 1
                patterns += self._triples(index, stop, operation.scope, default)
                index = stop
        return tuple(patterns)

    def _at_graph(self, index: int) -> bool:
        token = self._tokens[index]
        return token.kind == WORD and token.value == "GRAPH"

    def _is_dot(self, index: int) -> bool:
        token = self._tokens[index]
        return token.kind == PUNCT and token.value == "."

    def _graph_name(self, index: int, scope: Scope) -> tuple[GraphSlot, int]:
        name, opening = self._tokens[index], self._tokens[index + 1]
        if opening.kind != PUNCT or opening.value != "{":
            raise self._source.error("expected GRAPH, a name and '{'", name.start)
        if name.kind == VAR:
            bound = self._bindings.get(name.value)
            if bound is not None and type(bound) is not IRI:
                raise self._source.error(f"?{name.value} is bound to no IRI and names no graph", name.start)
            return (Var(name.value) if bound is None else bound), index + 1
        if not is_iri(name):
            raise self._source.error("expected an IRI or a variable after GRAPH", name.start)
        return trusted_iri(str(scope.node(self._source, name).value)), index + 1

    def _triples(self, start: int, end: int, scope: Scope, graph: GraphSlot) -> list[Pattern]:
        """The statements between two token indexes."""
        tokens = self._placeholders(start, end)
        emitter = Emitter(self._source, tokens, now=self._now, bindings=self._bindings)
        nothing = f"<{self._prefix}{_NOTHING}>"
        for first, last, lone in self._statements(start, end):
            emitter.span(first - start, last - start, scope)
            emitter.end(f" {nothing} {nothing} ." if lone else " .", last - start)
        try:
            triples = list(ox.parse(emitter.text, ox.RdfFormat.TURTLE))
        except SyntaxError as problem:
            raise emitter.complaint(problem) from None
        return [
            Pattern(self._slot(quad.subject), self._slot(quad.predicate), self._slot(quad.object), graph)
            for quad in triples
            if quad.predicate.value != self._prefix + _NOTHING
        ]

    def _placeholders(self, start: int, end: int) -> list[Token]:
        """The tokens with placeholders for variables; what cannot stand in a template is refused."""
        tokens = self._tokens[start : end + 1]  # with what ends them, for its place
        for at, token in enumerate(tokens[:-1]):
            kind = token.kind
            if kind in _PLAIN:
                continue
            if kind == VAR:
                if type(self._bindings.get(token.value)) in (type(None), BlankNode):
                    value = f"{self._prefix}{_VARIABLE}{token.value}"
                    tokens[at] = Token(IRIREF, value, token.start)
            elif kind == PUNCT:
                if token.value not in _PUNCTUATION:
                    raise self._source.error(f"{token.value!r} cannot stand in a template", token.start)
            elif kind == LANG:
                if not at or tokens[at - 1].kind != STRING:
                    raise self._source.error("a language tag must follow a string", token.start)
            elif kind == WORD:
                if token.value not in _WORDS:
                    raise self._source.error(f"{token.value} cannot stand in a template", token.start)
            elif kind not in _KINDS:
                raise self._source.error("this cannot stand in a template", token.start)
        return tokens

    def _statements(self, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
        """Spans that each need a dot after them, and whether a span is a collection standing alone.

        SPARQL lets a collection stand alone as a statement and Turtle does not, so such a one is given a
        predicate and an object for the parser.
        """
        if start == end:
            return
        first = start
        for index in range(start, end):
            token = self._tokens[index]
            if token.kind == PUNCT and token.value == "(" and (index == start or self._is_dot(index - 1)):
                after = self._update.closing[index] + 1
                if after != index + 2 and (after == end or self._is_dot(after)):
                    if first < index:
                        yield first, index - 1, False
                    yield index, after, True
                    first = after + 1
        if first < end:
            yield first, end - 1 if self._is_dot(end - 1) else end, False

    def _slot(self, term: Any) -> Any:
        """A term of the parsed template as a slot: the parser vouches for what may stand where."""
        if type(term) is ox.NamedNode:
            text = term.value
            if not text.startswith(self._prefix):
                return trusted_iri(text)
            name = text[len(self._prefix) + len(_VARIABLE) :]
            return self._bindings.get(name) or Var(name)
        return Fresh(term.value) if type(term) is ox.BlankNode else term_of(term)
