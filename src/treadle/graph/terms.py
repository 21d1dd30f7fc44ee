"""RDF terms and quads as values: IRI, BlankNode, Literal, Quad.

Each term is a tuple whose first member is its kind, so hashing, equality and order run at the speed of
the interpreter's own tuples: IRIs sort before blank nodes before literals, and within a kind by code point.
A Quad's graph is ``None`` for the default graph.  Nothing here depends on an RDF library; ``to_rdflib``
imports rdflib when it is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeAlias

if TYPE_CHECKING:
    import rdflib.term

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
XSD_STRING: Final = XSD + "string"
XSD_INTEGER: Final = XSD + "integer"
XSD_BOOLEAN: Final = XSD + "boolean"
XSD_DATETIME: Final = XSD + "dateTime"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDF_TYPE_IRI: Final = RDF + "type"
RDF_LANG_STRING: Final = RDF + "langString"

_ABSOLUTE_IRI: Final = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\\ud800-\udfff]*')
_BLANK_LABEL: Final = re.compile(
    r"[0-9A-Z_a-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C\u200D\u2070-\u218F"
    r"\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF]"
    r"(?:[-.0-9A-Z_a-z\u00B7\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u037D\u037F-\u1FFF\u200C\u200D\u203F\u2040"
    r"\u2070-\u218F\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF]*"
    r"[-0-9A-Z_a-z\u00B7\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u037D\u037F-\u1FFF\u200C\u200D\u203F\u2040"
    r"\u2070-\u218F\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF])?"
)
_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_ESCAPED: Final = re.compile(r'[\x00-\x1f"\\\x7f]')
_ESCAPES: Final = {"\t": "\\t", "\b": "\\b", "\n": "\\n", "\r": "\\r", "\f": "\\f", '"': '\\"', "\\": "\\\\"}


class IRI(tuple[int, str]):
    """An absolute IRI.

    Args:
        value: the IRI's text, for instance ``"http://example.org/run/1"``.

    Raises:
        ValueError: the text has no scheme, or holds white space, a control character, a surrogate or one of
            ``<>"{}|^`\\`` (RFC 3987; RDF 1.1 Concepts, section 3.2).
    """

    __slots__ = ()
    __match_args__ = ("value",)

    def __new__(cls, value: str) -> Self:
        if not _ABSOLUTE_IRI.fullmatch(value):
            raise ValueError(f'not an absolute IRI: {value!r}; write scheme:rest, no spaces or <>"{{}}|^`\\')
        return tuple.__new__(cls, (0, value))

    @property
    def value(self) -> str:
        """The IRI's text."""
        return self[1]

    def n3(self) -> str:
        """The term as N-Triples writes it: ``<iri>``."""
        return f"<{self[1]}>"

    def to_rdflib(self) -> rdflib.term.URIRef:
        """The same term as an ``rdflib.URIRef``; needs rdflib to be installed."""
        import rdflib.term

        return rdflib.term.URIRef(self[1])

    def __str__(self) -> str:
        return self[1]

    def __repr__(self) -> str:
        return f"IRI({self[1]!r})"

    def __getnewargs__(self) -> tuple[str]:
        return (self[1],)


class BlankNode(tuple[int, str]):
    """A blank node with its label, which names it within this dataset only.

    Args:
        value: the label, without ``_:``.

    Raises:
        ValueError: the label is not one that N-Triples can write.
    """

    __slots__ = ()
    __match_args__ = ("value",)

    def __new__(cls, value: str) -> Self:
        if not _BLANK_LABEL.fullmatch(value):
            raise ValueError(f"not a blank node label: {value!r}; use letters, digits, '-', '_' and '.'")
        return tuple.__new__(cls, (1, value))

    @property
    def value(self) -> str:
        """The label, without ``_:``."""
        return self[1]

    def n3(self) -> str:
        """The term as N-Triples writes it: ``_:label``."""
        return f"_:{self[1]}"

    def to_rdflib(self) -> rdflib.term.BNode:
        """The same term as an ``rdflib.BNode``; needs rdflib to be installed."""
        import rdflib.term

        return rdflib.term.BNode(self[1])

    def __str__(self) -> str:
        return f"_:{self[1]}"

    def __repr__(self) -> str:
        return f"BlankNode({self[1]!r})"

    def __getnewargs__(self) -> tuple[str]:
        return (self[1],)


class Literal(tuple[int, str, str, str]):
    """A literal: lexical form, datatype IRI and, for ``rdf:langString`` alone, a language tag.

    Two literals are equal when these three are equal as text; ``"1"`` and ``"01"`` of one datatype are two
    terms.  See ``treadle.graph.literals`` for the spelling under which the dataset keeps a literal.

    Args:
        value: the lexical form.
        datatype: the datatype's IRI, as an IRI or its text; ``xsd:string`` when absent.
        language: a language tag such as ``"en-gb"``; kept in lower case.  Not together with a datatype.

    Raises:
        ValueError: a lone surrogate, a malformed language tag or datatype, or both of them.
    """

    __slots__ = ()
    __match_args__ = ("value", "datatype", "language")

    def __new__(cls, value: str, datatype: IRI | str | None = None, language: str | None = None) -> Self:
        if _SURROGATE.search(value):
            raise ValueError(f"a literal cannot hold a lone surrogate: {value!r}")
        kind = str(datatype) if datatype is not None else ""
        if language is not None:
            if kind not in ("", RDF_LANG_STRING):
                raise ValueError("a literal has a datatype or a language, not both")
            if not _LANGUAGE.fullmatch(language):
                raise ValueError(f"not a language tag: {language!r}; write for instance 'en' or 'en-gb'")
            return tuple.__new__(cls, (2, value, RDF_LANG_STRING, language.lower()))
        if kind == RDF_LANG_STRING:
            raise ValueError("rdf:langString needs a language tag")
        if kind and not _ABSOLUTE_IRI.fullmatch(kind):
            raise ValueError(f"not an absolute datatype IRI: {kind!r}")
        return tuple.__new__(cls, (2, value, kind or XSD_STRING, ""))

    @property
    def value(self) -> str:
        """The lexical form."""
        return self[1]

    @property
    def datatype(self) -> str:
        """The text of the datatype's IRI; ``rdf:langString`` where there is a language."""
        return self[2]

    @property
    def language(self) -> str | None:
        """The language tag in lower case, or None."""
        return self[3] or None

    def n3(self) -> str:
        """The term as canonical N-Triples writes it; ``xsd:string`` is left out."""
        text = f'"{escape(self[1])}"'
        if self[3]:
            return f"{text}@{self[3]}"
        return text if self[2] == XSD_STRING else f"{text}^^<{self[2]}>"

    def to_rdflib(self) -> rdflib.term.Literal:
        """The same term as an ``rdflib.Literal`` with its spelling kept; needs rdflib to be installed."""
        import rdflib.term

        if self[3]:
            return rdflib.term.Literal(self[1], lang=self[3], normalize=False)
        datatype = None if self[2] == XSD_STRING else rdflib.term.URIRef(self[2])
        return rdflib.term.Literal(self[1], datatype=datatype, normalize=False)

    def __str__(self) -> str:
        return self[1]

    def __repr__(self) -> str:
        if self[3]:
            return f"Literal({self[1]!r}, language={self[3]!r})"
        return f"Literal({self[1]!r})" if self[2] == XSD_STRING else f"Literal({self[1]!r}, {self[2]!r})"

    def __getnewargs__(self) -> tuple[str, str | None, str | None]:
        return (self[1], None, self[3]) if self[3] else (self[1], self[2], None)


Resource: TypeAlias = IRI | BlankNode
Term: TypeAlias = IRI | BlankNode | Literal


class Quad(NamedTuple):
    """One statement: subject, predicate, object, and graph (``None``: the default graph)."""

    s: Resource
    p: IRI
    o: Term
    g: IRI | None = None

    def n3(self) -> str:
        """The statement as one N-Quads line, without the line's end."""
        graph = f" {self.g.n3()}" if self.g is not None else ""
        return f"{self.s.n3()} {self.p.n3()} {self.o.n3()}{graph} ."


def quad_order(quad: Quad) -> tuple[tuple[object, ...], Resource, IRI, Term]:
    """The sort key of quads: default graph first, then graph, subject, predicate, object by code point."""
    return (quad.g or (), quad.s, quad.p, quad.o)


def sorted_quads(quads: Iterable[Quad]) -> tuple[Quad, ...]:
    """The quads in the order of `quad_order`."""
    return tuple(sorted(quads, key=quad_order))


def escape(text: str) -> str:
    """A lexical form with canonical N-Triples escapes, without the quotation marks."""
    return _ESCAPED.sub(_escape_one, text) if _ESCAPED.search(text) else text


def _escape_one(match: re.Match[str]) -> str:
    char = match.group()
    return _ESCAPES.get(char) or f"\\u{ord(char):04X}"


def trusted_iri(value: str) -> IRI:
    """An IRI whose text is already known to be one, from the store or its parser: nothing is checked."""
    return tuple.__new__(IRI, (0, value))


def trusted_blank(value: str) -> BlankNode:
    """A blank node whose label is already known to be one: nothing is checked."""
    return tuple.__new__(BlankNode, (1, value))


def trusted_literal(value: str, datatype: str = XSD_STRING, language: str = "") -> Literal:
    """A literal whose parts are already known to fit: nothing is checked; language "" means none."""
    return tuple.__new__(Literal, (2, value, datatype, language))
