"""A contract's workflows as pictures: Mermaid, DOT, and SVG that needs no other program.

Reading order: `chart` (what is drawn: states and steps, and the lease beside them), `mermaid` and `dot`
(as text for those), `layers` (where things stand) and `svg` (the drawing).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from treadle.plan.diagram.chart import Chart, Diagram, Edge, Node, diagram, diagrams
from treadle.plan.diagram.dot import dot
from treadle.plan.diagram.mermaid import mermaid
from treadle.plan.diagram.svg import svg

FORMS: Final[Mapping[str, Callable[[Diagram], str]]] = {"mermaid": mermaid, "dot": dot, "svg": svg}
"""How a diagram may be written, by name."""

__all__ = [
    "FORMS",
    "Chart",
    "Diagram",
    "Edge",
    "Node",
    "diagram",
    "diagrams",
    "dot",
    "mermaid",
    "svg",
]
