"""The spelling under which the dataset keeps a literal: one pure function of the literal alone.

The index (Oxigraph) holds the values of common datatypes, not their text, and writes each value back in
one spelling.  Everything that is recorded beside the index must agree with it, so statements, deltas, the
log and the counts hold that spelling too.  A lexical form that the index cannot read as a value of its
datatype is kept as it was written, datatype included.  The table is in ``docs/formats/literals.md``; a
property test holds this module to the installed index.

``LITERALS_VERSION`` is part of the semantics version: it changes when the mapping of any literal changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from treadle.graph.fixed_point import fixed_point_text, parse_fixed_point
from treadle.graph.floating import canonical_double, canonical_float
from treadle.graph.temporal import (
    canonical_date,
    canonical_date_time,
    canonical_day_time_duration,
    canonical_duration,
    canonical_g_day,
    canonical_g_month,
    canonical_g_month_day,
    canonical_g_year,
    canonical_g_year_month,
    canonical_time,
    canonical_year_month_duration,
)
from treadle.graph.terms import XSD, XSD_INTEGER, Literal, Quad, trusted_literal

LITERALS_VERSION: Final = 1

# The types derived from xsd:integer that the index keeps as plain xsd:integer.
_DERIVED_INTEGERS: Final = (
    "byte",
    "short",
    "int",
    "long",
    "unsignedByte",
    "unsignedShort",
    "unsignedInt",
    "unsignedLong",
    "positiveInteger",
    "negativeInteger",
    "nonPositiveInteger",
    "nonNegativeInteger",
)

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_I64_DIGITS: Final = 19


def canonical(literal: Literal) -> Literal:
    """The literal as the dataset keeps it: the same value, spelled and typed in the one way.

    Args:
        literal: any literal.

    Returns:
        The literal itself when it is spelled canonically already, or when its text is no value of its
        datatype; else a new one.
    """
    rule = _RULES.get(literal[2])
    if rule is None:
        return literal
    spell, datatype = rule
    text = spell(literal[1])
    if text is None or (text == literal[1] and datatype == literal[2]):
        return literal
    return trusted_literal(text, datatype)


def canonical_quad(quad: Quad) -> Quad:
    """The statement with its object as the dataset keeps it."""
    term = quad.o
    if type(term) is not Literal:
        return quad
    kept = canonical(term)
    return quad if kept is term else quad._replace(o=kept)


def is_canonical(literal: Literal) -> bool:
    """Whether the dataset keeps this literal exactly as it is spelled."""
    return canonical(literal) is literal


def _boolean(text: str) -> str | None:
    return {"true": "true", "1": "true", "false": "false", "0": "false"}.get(text)


def _integer(text: str) -> str | None:
    """Values from -2^63 to 2^63 - 1; larger ones are beyond the index and keep their text."""
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-0") if text[0] in "+-" else text.lstrip("0")
    if len(digits) > _I64_DIGITS:
        return None
    value = int(digits or "0")
    if text[0] == "-":
        value = -value
    return str(value) if -(2**63) <= value < 2**63 else None


def _decimal(text: str) -> str | None:
    value = parse_fixed_point(text)
    return None if value is None else fixed_point_text(value)


_Spelling = Callable[[str], str | None]
_RULES: Final[dict[str, tuple[_Spelling, str]]] = {
    XSD_INTEGER: (_integer, XSD_INTEGER),
    **{XSD + name: (_integer, XSD_INTEGER) for name in _DERIVED_INTEGERS},
    XSD + "boolean": (_boolean, XSD + "boolean"),
    XSD + "decimal": (_decimal, XSD + "decimal"),
    XSD + "double": (canonical_double, XSD + "double"),
    XSD + "float": (canonical_float, XSD + "float"),
    XSD + "dateTime": (canonical_date_time, XSD + "dateTime"),
    XSD + "dateTimeStamp": (canonical_date_time, XSD + "dateTime"),
    XSD + "date": (canonical_date, XSD + "date"),
    XSD + "time": (canonical_time, XSD + "time"),
    XSD + "gYearMonth": (canonical_g_year_month, XSD + "gYearMonth"),
    XSD + "gYear": (canonical_g_year, XSD + "gYear"),
    XSD + "gMonthDay": (canonical_g_month_day, XSD + "gMonthDay"),
    XSD + "gMonth": (canonical_g_month, XSD + "gMonth"),
    XSD + "gDay": (canonical_g_day, XSD + "gDay"),
    XSD + "duration": (canonical_duration, XSD + "duration"),
    XSD + "yearMonthDuration": (canonical_year_month_duration, XSD + "yearMonthDuration"),
    XSD + "dayTimeDuration": (canonical_day_time_duration, XSD + "dayTimeDuration"),
}
MAPPED: Final = frozenset(_RULES)
"""The IRIs of the datatypes whose values are mapped."""
