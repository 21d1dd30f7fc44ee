"""A diagram as Mermaid text: a state diagram with the lease as a region that runs along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from treadle.plan.diagram.chart import START, Chart, Diagram

_TAKEN: Final = frozenset(
    ["as", "bt", "choice", "class", "classdef", "click", "default", "direction", "end", "fork", "href",
     "join", "lr", "note", "rl", "state", "style", "tb", "td"]
)  # fmt: skip
"""Words that Mermaid reads as its own, in any case."""


def mermaid(diagram: Diagram) -> str:
    """The text, with a line end at its end. Names of the language need no escaping in it."""
    lines = ["stateDiagram-v2"]
    if diagram.lease is None:
        lines += _chart(diagram.states, _names(diagram.states, set()), "  ")
        return "\n".join(lines) + "\n"
    states = _names(diagram.states, {diagram.name})
    lease = _names(diagram.lease, {diagram.name, *states.values()})
    lines.append(f"  state {_free(diagram.name, set())} {{")
    lines += _chart(diagram.states, states, "    ")
    lines.append("    --")
    lines += _chart(diagram.lease, lease, "    ")
    lines.append("  }")
    return "\n".join(lines) + "\n"


def _free(name: str, used: set[str]) -> str:
    while name.lower() in _TAKEN or name in used:
        name += "_"
    return name


def _names(chart: Chart, used: set[str]) -> dict[str, str]:
    """What each state is called: its own name, unless that is taken."""
    found: dict[str, str] = {}
    for node in chart.nodes:
        found[node.name] = _free(node.name, used | set(found.values())) if node.name != START else "[*]"
    return found


def _chart(chart: Chart, names: dict[str, str], indent: str) -> Iterator[str]:
    for name, shown in names.items():
        if name != START and name != shown:
            yield f'{indent}state "{name}" as {shown}'
    for edge in chart.edges:
        label = f": {(' ' if edge.waits else ', ').join(edge.lines)}" if edge.lines else ""
        yield f"{indent}{names[edge.source]} --> {names[edge.target]}{label}"
    drawn = {end for edge in chart.edges for end in (edge.source, edge.target)}
    for node in chart.nodes:
        if node.name not in drawn:
            yield f"{indent}{names[node.name]}"
        elif node.kind == "final":
            yield f"{indent}{names[node.name]} --> [*]"
