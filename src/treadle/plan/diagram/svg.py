"""A diagram as SVG: our own layout, no script, no font but the reader's, legible in the dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from treadle.plan.diagram.chart import START, Chart, Diagram, Edge, Node
from treadle.plan.diagram.layers import Box, Drawing, Link, Point, Route, draw

FONT: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
EM: Final = 0.61  # the width of a character of such a font, by its size
STATE: Final = 14.0
LABEL: Final = 12.0
SMALL: Final = 10.5
LEAD: Final = 1.35  # the height of a line of text, by its size
PAD: Final = 14.0
MARGIN: Final = 16.0
APART: Final = 40.0  # between the states and the lease
HEAD: Final = 46.0  # title and subtitle
DOT: Final = 5.0
LOOP: Final = 26.0  # how far a link to itself reaches out
ARROW: Final = 4.0

STYLE: Final = (
    "svg { color: #1f2328; background: #ffffff } .note, .by, .subtitle { opacity: .72 } "
    "@media (prefers-color-scheme: dark) { svg { color: #e6edf3; background: #0d1117 } }"
)


class _Label(NamedTuple):
    """The lines of a link's label: the steps between the same two states stand one below the other."""

    edges: tuple[Edge, ...]

    @property
    def lines(self) -> list[tuple[str, str, float]]:
        """Text, class and size of each line."""
        found = []
        for edge in self.edges:
            found += [(edge.name, "step", LABEL)] if edge.name else []
            found += [(edge.by, "by", SMALL)] if edge.by else []
        return found

    @property
    def width(self) -> float:
        return max((_width(text, size) for text, _, size in self.lines), default=0.0)

    @property
    def height(self) -> float:
        return sum(size * LEAD for _, _, size in self.lines)


def svg(diagram: Diagram, *, notes: Mapping[str, str] | None = None, style: bool = True) -> str:
    """The picture of a workflow, as a document with a line end at its end.

    `notes` are texts below the names of states, such as how many rows are in each. Without `style` it has
    no style element, for a page whose policy forbids one: it then takes the page's text colour, and the
    page may style the classes `state final step by note title subtitle waits`.
    """
    parts = [_Part(chart, notes or {} if chart is diagram.states else {}) for chart in diagram.charts]
    width = sum(part.width for part in parts) + APART * (len(parts) - 1) + 2 * MARGIN
    height = max(part.height for part in parts) + 2 * MARGIN
    size = f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}"'
    look = f'role="img" fill="currentColor" font-family="{FONT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {look}>',
        f"<title>{escape(_title(diagram))}</title>",
        f"<desc>{escape(described(diagram))}</desc>",
    ]
    if style:
        lines.append(f"<style>{STYLE}</style>")
    left = MARGIN
    for number, part in enumerate(parts):
        if number:
            x = left - APART / 2
            lines.append(
                f'<path d="M{_n(x)} {_n(MARGIN)}V{_n(height - MARGIN)}" stroke="currentColor" opacity=".3"/>'
            )
        lines.append(f'<g transform="translate({_n(left)} {_n(MARGIN)})">')
        lines += part.drawn()
        lines.append("</g>")
        left += part.width + APART
    return "\n".join([*lines, "</svg>"]) + "\n"


def _title(diagram: Diagram) -> str:
    return f"Workflow {diagram.name} of {diagram.states.subtitle}"


def described(diagram: Diagram) -> str:
    """The diagram in words, for those who do not see it."""
    said = []
    for chart in diagram.charts:
        steps = []
        for edge in chart.edges:
            what = " ".join(edge.lines)
            if edge.source == START:
                steps.append(f"begins {edge.target}" + (f" by {what}" if what else ""))
            else:
                steps.append(f"{edge.source} to {edge.target}: {what}")
        said.append(f"{chart.title}: {'; '.join(steps)}.")
    return " ".join(said)


def _n(value: float) -> str:
    return f"{round(value, 1):g}"


def _width(text: str, size: float) -> float:
    return len(text) * size * EM


class _Part:
    """One chart with its title, its upper left corner at the origin."""

    def __init__(self, chart: Chart, notes: Mapping[str, str]) -> None:
        self._chart = chart
        self._notes = notes
        links: dict[tuple[str, str], list[Edge]] = {}
        for edge in chart.edges:
            links.setdefault((edge.source, edge.target), []).append(edge)
        self._labels = {ends: _Label(tuple(edges)) for ends, edges in links.items()}
        self._boxes = {node.name: self._box(node) for node in chart.nodes}
        self._between = [ends for ends in links if ends[0] != ends[1]]
        self._drawing = self._draw()
        titles = max(_width(chart.title, STATE), _width(chart.subtitle, SMALL))
        self.width = max(self._drawing.width, titles)
        self.height = HEAD + self._drawing.height

    def _box(self, node: Node) -> Box:
        if node.kind == "start":
            return Box(node.name, 2 * DOT, 2 * DOT)
        note = self._notes.get(node.name, "")
        width = max(_width(node.name, STATE), _width(note, SMALL)) + 2 * PAD
        height = STATE * LEAD + PAD + (SMALL * LEAD if note else 0.0)
        loop = self._labels.get((node.name, node.name))
        if loop is None:
            return Box(node.name, width, height)
        return Box(node.name, width, max(height, loop.height), LOOP + PAD / 2 + loop.width)

    def _draw(self) -> Drawing:
        links = [Link(*ends, self._labels[ends].width, self._labels[ends].height) for ends in self._between]
        return draw(list(self._boxes.values()), links, START if START in self._boxes else None)

    def drawn(self) -> Iterator[str]:
        chart = self._chart
        yield _text(chart.title, "title", STATE, Point(0, STATE), weight="bold")
        yield _text(chart.subtitle, "subtitle", SMALL, Point(0, STATE + SMALL * 1.5))
        yield f'<g transform="translate(0 {_n(HEAD)})">'
        for ends, route in zip(self._between, self._drawing.routes, strict=True):
            yield from self._link(self._labels[ends], route)
        for node in chart.nodes:
            yield from self._node(node)
        yield "</g>"

    def _node(self, node: Node) -> Iterator[str]:
        box, at = self._boxes[node.name], self._drawing.places[node.name]
        if node.kind == "start":
            yield f'<circle class="start" cx="{_n(at.x)}" cy="{_n(at.y)}" r="{_n(DOT)}"/>'
            return
        yield f'<g class="{node.kind}">'
        yield _rectangle(box, at, 0)
        if node.kind == "final":
            yield _rectangle(box, at, 3)
        note = self._notes.get(node.name, "")
        y = at.y + STATE * 0.35 - (SMALL * LEAD / 2 if note else 0.0)
        yield _text(node.name, "name", STATE, Point(at.x, y), anchor="middle")
        if note:
            yield _text(note, "note", SMALL, Point(at.x, y + SMALL * LEAD), anchor="middle")
        yield "</g>"
        loop = self._labels.get((node.name, node.name))
        if loop is not None:
            yield from _loop(loop, box, at)

    def _link(self, label: _Label, route: Route) -> Iterator[str]:
        points = route.points
        path = [f"M{_n(points[0].x)} {_n(points[0].y)}"]
        for here, there in pairwise(points):
            if abs(here.x - there.x) < 0.05:
                path.append(f"V{_n(there.y)}")
            else:
                middle = _n((here.y + there.y) / 2)
                path.append(f"C{_n(here.x)} {middle} {_n(there.x)} {middle} {_n(there.x)} {_n(there.y)}")
        waits = all(edge.waits for edge in label.edges)
        yield _line("".join(path), waits)
        down = points[-1].y > points[-2].y
        yield _arrow(points[-1], 0, -2.2 * ARROW if down else 2.2 * ARROW)
        yield from _lines(label, route.label)


def _rectangle(box: Box, at: Point, inside: float) -> str:
    width, height = box.width - 2 * inside, box.height - 2 * inside
    x, y = at.x - width / 2, at.y - height / 2
    return (
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="{_n(8 - inside)}" '
        'fill="none" stroke="currentColor"/>'
    )


def _line(path: str, waits: bool) -> str:
    dashed = ' stroke-dasharray="4 4" class="waits"' if waits else ""
    return f'<path d="{path}" fill="none" stroke="currentColor"{dashed}/>'


def _arrow(tip: Point, dx: float, dy: float) -> str:
    """An arrowhead at `tip`; (dx, dy) leads back to the middle of its base, along one axis."""
    wide = (0.0, ARROW) if dx else (ARROW, 0.0)
    x, y = tip.x + dx, tip.y + dy
    corners = ((tip.x, tip.y), (x + wide[0], y + wide[1]), (x - wide[0], y - wide[1]))
    return '<path d="M' + "L".join(f"{_n(a)} {_n(b)}" for a, b in corners) + 'Z"/>'


def _loop(label: _Label, box: Box, at: Point) -> Iterator[str]:
    """A link from a state to itself, at its right side."""
    right = at.x + box.width / 2
    upper, lower = at.y - box.height / 5, at.y + box.height / 5
    out = right + LOOP
    yield _line(f"M{_n(right)} {_n(upper)}C{_n(out)} {_n(upper - 8)} {_n(out)} {_n(lower + 8)} "
                f"{_n(right)} {_n(lower)}", all(edge.waits for edge in label.edges))  # fmt: skip
    yield _arrow(Point(right, lower), 2.2 * ARROW, 1.2)
    yield from _lines(label, Point(out - 2, at.y))


def _lines(label: _Label, at: Point) -> Iterator[str]:
    """The lines of a label, centred at a height, from one left edge."""
    y = at.y - label.height / 2
    for text, kind, size in label.lines:
        yield _text(text, kind, size, Point(at.x, y + size))
        y += size * LEAD


def _text(text: str, kind: str, size: float, at: Point, *, anchor: str = "", weight: str = "") -> str:
    more = f' text-anchor="{anchor}"' if anchor else ""
    more += f' font-weight="{weight}"' if weight else ""
    place = f'x="{_n(at.x)}" y="{_n(at.y)}" font-size="{_n(size)}"'
    return f'<text class="{kind}" {place}{more}>{escape(text)}</text>'
