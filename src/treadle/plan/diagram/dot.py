"""A diagram as DOT, the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.plan.diagram.chart import START, Chart, Diagram, Edge, Node


def dot(diagram: Diagram) -> str:
    """The text, with a line end at its end."""
    lines = [
        f"digraph {_quoted(diagram.name)} {{",
        '  graph [fontname="monospace", labeljust=l];',
        '  node [fontname="monospace", shape=box, style=rounded];',
        '  edge [fontname="monospace", fontsize=11];',
    ]
    for number, chart in enumerate(diagram.charts):
        lines += _chart(chart, number)
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _label(*lines: str) -> str:
    """A label of several lines; DOT spells the end of one as a backslash and an n."""
    return '"' + "\\n".join(_quoted(line)[1:-1] for line in lines) + '"'


def _chart(chart: Chart, number: int) -> Iterator[str]:
    yield f"  subgraph cluster_{number} {{"
    yield f"    label={_label(chart.title, chart.subtitle)};"
    for node in chart.nodes:
        yield f"    {_node(node, number)};"
    for edge in chart.edges:
        yield f"    {_edge(edge, number)};"
    yield "  }"


def _name(name: str, number: int) -> str:
    return _quoted(f"{number}.{name}")


def _node(node: Node, number: int) -> str:
    if node.name == START:
        return f'{_name(node.name, number)} [shape=point, width=0.12, label=""]'
    double = ", peripheries=2" if node.kind == "final" else ""
    return f"{_name(node.name, number)} [label={_quoted(node.name)}{double}]"


def _edge(edge: Edge, number: int) -> str:
    given = [f"label={_label(*edge.lines)}"] if edge.lines else []
    given += ["style=dashed"] if edge.waits else []
    attributes = f" [{', '.join(given)}]" if given else ""
    return f"{_name(edge.source, number)} -> {_name(edge.target, number)}{attributes}"
