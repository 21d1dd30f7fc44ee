"""Whether a property's object is what the table asks for: the kind of term, then its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from treadle.graph import signatures
from treadle.graph.terms import IRI, XSD_INTEGER, XSD_STRING, Literal, Term
from treadle.graph.vocabulary import RDF_TYPE, Entity, Property, Value

Fact: TypeAlias = tuple[IRI, Term]
"""Predicate and object of a statement whose subject and graph are known."""

_NUMBERS = (Value.REVISION, Value.VERSION)


def term_problem(value: Value, term: Term) -> str | None:
    """Why a term is of the wrong kind, or None; of texts only their datatype is looked at."""
    if value is Value.IRI or (value is Value.REFERENCE and not isinstance(term, Literal)):
        return None if isinstance(term, IRI) else "must be an IRI"
    if not isinstance(term, Literal):
        return "must be a literal"
    if value is Value.REVISION:
        fits = term.datatype == XSD_INTEGER and signatures.is_revision(term.value)
        return None if fits else "must be an xsd:integer, 0 or greater"
    if value is Value.VERSION:
        return None
    return None if term.datatype == XSD_STRING else "must be a plain string, without language or datatype"


def text_problem(value: Value, text: str) -> str | None:
    """Why the text of a literal of the right kind is refused, or None."""
    if value in _NUMBERS:
        return None
    if value is Value.TIME:
        return None if signatures.is_time(text) else "must be a time YYYY-MM-DDThh:mm:ss[.f]Z"
    if value is Value.KEY:
        return signatures.key_problem(text)
    if value is Value.SIGNATURE:
        return None if signatures.is_signature(text) else "must be 128 lower-case hex digits"
    if value is Value.NAME and signatures.unfit_name(text):
        return "must not be empty or hold '|', white space or control characters"
    return "must not be empty or hold '|' or control characters" if signatures.unfit(text) else None


def count_problem(prop: Property, found: int) -> str | None:
    """Why a property is there too seldom or too often, or None."""
    if found < prop.least:
        return "is missing"
    if prop.most is not None and found > prop.most:
        return f"is there {found} times and may be there once"
    return None


def property_problem(prop: Property, terms: Sequence[Term], *, texts: bool) -> str | None:
    """Why a property's objects do not fit, or None.  `texts`: whether to look into texts too."""
    problem = count_problem(prop, len(terms))
    if problem is not None:
        return problem
    for term in terms:
        problem = term_problem(prop.value, term)
        if problem is None and texts and isinstance(term, Literal):
            problem = text_problem(prop.value, term.value)
        if problem is not None:
            return problem
    return None


def entity_problem(entity: Entity, facts: Iterable[Fact]) -> tuple[str, str] | None:
    """The first field of an entity that does not fit the table, with what is wrong, or None."""
    found: dict[IRI, list[Term]] = {}
    for predicate, term in facts:
        found.setdefault(predicate, []).append(term)
    types = found.get(RDF_TYPE, ())
    for needed in entity.types:
        if needed not in types:
            return "rdf:type", f"the type {re.split('[/#:]', needed.value)[-1]} is missing"
    for prop in entity.properties:
        problem = property_problem(prop, found.get(prop.iri, ()), texts=True)
        if problem is not None:
            return prop.name, problem
    return None
