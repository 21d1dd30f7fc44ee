"""IRIs and prefixed names in full: what BASE and PREFIX declarations make of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyoxigraph as ox

from treadle.errors import Malformed
from treadle.graph.sparql.tokens import IRIREF, NAME, Source, Token

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_LOCAL_ESCAPE: Final = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Scope:
    """The declarations that are in force at one place of a text."""

    base: str | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)

    def iri(self, source: Source, token: Token) -> str:
        """The full IRI of an IRI or prefixed-name token.

        Raises:
            SparqlSyntax: the prefix is not declared, or the IRI is relative and there is no base.
        """
        if token.kind == NAME:
            prefix, _, local = token.value.partition(":")
            namespace = self.prefixes.get(prefix)
            if namespace is None:
                message = f"prefix {prefix + ':'!r} is not declared; add PREFIX {prefix}: <…>"
                raise source.error(message, token.start)
            return namespace + (_LOCAL_ESCAPE.sub(r"\1", local) if "\\" in local else local)
        if _SCHEME.match(token.value):
            return token.value
        if self.base is None:
            message = f"<{token.value}> is relative and there is no base; write it in full or declare BASE"
            raise source.error(message, token.start)
        try:
            return resolve(self.base, token.value)
        except ValueError as problem:
            raise source.error(f"<{token.value}> gives no IRI: {problem}", token.start) from None

    def node(self, source: Source, token: Token) -> ox.NamedNode:
        """The same as a checked name for the index.

        Raises:
            SparqlSyntax: as `iri`, or the IRI breaks RFC 3987.
        """
        try:
            return ox.NamedNode(self.iri(source, token))
        except ValueError as problem:
            raise source.error(f"not an IRI: {problem}", token.start) from None


def is_iri(token: Token) -> bool:
    """Whether a token stands for an IRI."""
    return token.kind == IRIREF or token.kind == NAME


def resolve(base: str, reference: str) -> str:
    """A relative reference against an absolute base (RFC 3986, section 5).

    Raises:
        ValueError: the result is no IRI.
    """
    try:
        [triple] = ox.parse(f"<a:a> <a:a> <{reference}> .", ox.RdfFormat.TURTLE, base_iri=base)
    except SyntaxError as problem:
        raise ValueError(str(problem.msg)) from None
    return str(triple.object.value)


def checked_base(base: str | None) -> str | None:
    """A base IRI handed in from outside.

    Raises:
        Malformed: it is not an absolute IRI.
    """
    if base is None:
        return None
    try:
        return ox.NamedNode(base).value
    except ValueError as problem:
        raise Malformed(f"the base {base!r} is not an absolute IRI: {problem}") from None
