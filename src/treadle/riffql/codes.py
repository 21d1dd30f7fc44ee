"""The stable codes of what is refused in a query text, and what each means. S001 to S009 are a contract's."""

from __future__ import annotations

from typing import Final

CODES: Final[dict[str, str]] = {
    "Q001": "a name is used twice, or is `tx`",
    "Q002": "an unknown name: an entity, field, variant, parameter or row",
    "Q003": "a parameter's type: unknown, a bound out of range, or a list too long for `in`",
    "Q004": "types differ, or null where nothing is null",
    "Q005": "a form of condition that queries do not have: `||`, arithmetic, two fields of one row",
    "Q006": "`one` or `maybe` without a complete key or unique",
    "Q007": "no declared index serves the conditions and the order; the help has one to add",
    "Q008": "an order that cannot be: two directions, a list, another row's field, of groups or totals",
    "Q009": "a bound: no `take`, one out of range, or too many rows or statements",
    "Q010": "a cursor where none can be",
    "Q011": "an answer that cannot be: a list outside its place, a field that a group does not have",
    "Q012": "outcomes: an absent row without one, an `else` where nothing is absent, one left out",
    "Q013": "a secret field in a condition, an order or an aggregate, or shown without `reveals`",
    "Q014": "an aggregate of what it cannot be taken of",
    "Q016": "nesting: `one` for each row of a list, rows of two separate lists, more than four deep",
    "W012": "an outcome is listed that nothing answers",
    "W015": "a parameter is never used",
}
