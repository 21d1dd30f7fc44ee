"""Updates whose evaluation is bounded by their own text, and those that ask for the time.

A pattern without variables, joined of plain statements, asks whether so many statements are there, whatever
the dataset holds.  Such an update may be evaluated where it must not take long; every other one is tried
elsewhere first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from treadle.graph.sparql.request import Request
from treadle.graph.sparql.split import Span
from treadle.graph.sparql.tokens import IRIREF, LANG, NAME, NUMBER, PUNCT, STRING, WORD, Token
from treadle.graph.terms import BlankNode

TOKENS: Final = 4_096
_TERMS: Final = frozenset((IRIREF, NAME, STRING, LANG, NUMBER))
_WORDS: Final = frozenset(("GRAPH", "TRUE", "FALSE", "a"))
_PUNCT: Final = frozenset(("{", "}", ".", ";", ",", "^^"))
_KINDS: Final = frozenset(("insert_data", "delete_data", "modify"))


def is_bounded(request: Request) -> bool:
    """Whether evaluating the request costs no more than its text, on a dataset of any size."""
    if len(request.update.tokens) > TOKENS or any(
        type(term) is BlankNode for term in request.bindings.values()
    ):
        return False
    patterns = [operation.where for operation in request.update.operations]
    if any(operation.kind not in _KINDS for operation in request.update.operations) or any(patterns[1:]):
        return False
    return all(where is None or _is_ground(_inside(request, where)) for where in patterns)


def uses_now(request: Request) -> bool:
    """Whether a pattern of the request asks for the time."""
    patterns = (operation.where for operation in request.update.operations)
    return any(
        token.kind == WORD and token.value == "NOW"
        for where in patterns
        if where is not None
        for token in _inside(request, where)
    )


def _inside(request: Request, where: Span) -> list[Token]:
    start, end = where
    return request.update.tokens[start + 1 : end]


def _is_ground(tokens: Iterable[Token]) -> bool:
    depth = 0
    for kind, value, _ in tokens:
        if kind in _TERMS:
            continue
        if value not in (_WORDS if kind == WORD else _PUNCT if kind == PUNCT else ()):
            return False
        depth += (value == "{") - (value == "}") if kind == PUNCT else 0
        if depth > 1:
            return False
    return True
