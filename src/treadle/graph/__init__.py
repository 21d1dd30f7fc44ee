"""The graph surface: an RDF dataset over SPARQL whose runs advance only by signed, declared steps.

In reading order: `terms` and `literals` (values), `delta` (a change), `dataset` (the index), `query` and
`sparql` (what texts come to), `vocabulary` and `signatures` (names, and what is signed), `view`, `entities`
and `agents` (what is looked up), `guard` (the one judge of every change), `fold` (whole histories),
`migrate`, `doctor`, `enrollment`, `archive` (acts of an operator), `keys` and `client` (those who sign).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from treadle.graph.terms import IRI, BlankNode, Literal, Quad

if TYPE_CHECKING:
    from treadle.graph.client import WorkflowClient

_LATER: Final = {"WorkflowClient": "treadle.graph.client"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'treadle.graph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = ["IRI", "BlankNode", "Literal", "Quad", "WorkflowClient"]
