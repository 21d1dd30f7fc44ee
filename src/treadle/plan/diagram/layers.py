"""Where the boxes and lines of a directed graph stand: rank below rank, lines mostly downward.

The usual four steps (Sugiyama, Tagawa and Toda, 1981): turn round the links that close a cycle, give every
box a rank, order each rank so that few links cross, then move everything sideways until links are nearly
straight. A link's label is a slot of a rank of its own between those of the boxes, so that no label covers
anything. The same graph always gives the same drawing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

GAP: Final = 22.0  # between slots of a rank
RANK_GAP: Final = 26.0  # between ranks
LINE: Final = 6.0  # half the width that a line takes in a rank that it passes
MOST_SLOTS: Final = 4_000  # above that, long links go straight, past nothing
_SWEEPS: Final = 12


class Point(NamedTuple):
    x: float
    y: float


class Box(NamedTuple):
    """A box with its size; `right` is room that it needs to its right, for links to itself."""

    name: str
    width: float
    height: float
    right: float = 0.0


class Link(NamedTuple):
    """A link between two different boxes, with the size of its label."""

    source: str
    target: str
    width: float
    height: float


class Route(NamedTuple):
    """A link's way from its source to its target, and where its label's left edge is centred."""

    points: tuple[Point, ...]
    label: Point


class Drawing(NamedTuple):
    """`places` are the centres of the boxes; `routes` are in the order of the links."""

    width: float
    height: float
    places: dict[str, Point]
    routes: tuple[Route, ...]


@dataclass(slots=True, eq=False)
class _Slot:
    """What takes room in a rank: a box, a label, or a line that passes. It reaches from `x` both ways."""

    rank: int
    left: float
    right: float
    height: float
    place: int = 0
    x: float = 0.0
    above: list[tuple[_Slot, float]] = field(default_factory=list)  # with how much a bend there costs
    below: list[tuple[_Slot, float]] = field(default_factory=list)


def draw(boxes: Sequence[Box], links: Sequence[Link], start: str | None = None) -> Drawing:
    """Lay out a graph; links name boxes that are there. `start` is where to begin, else the first box."""
    layout = _Layout(boxes, links, start)
    layout.order()
    layout.settle()
    return layout.drawing()


class _Layout:
    def __init__(self, boxes: Sequence[Box], links: Sequence[Link], start: str | None) -> None:
        self.boxes = {box.name: box for box in boxes}
        self.links = links
        names = sorted(self.boxes, key=lambda name: name != start)  # the first first, else as declared
        self.up = _closing(names, links)
        self.ranks = _ranks(names, links, self.up)
        self.slots = {
            box.name: _Slot(self.ranks[box.name], box.width / 2, box.width / 2 + box.right, box.height)
            for box in boxes
        }
        longest = sum(abs(self.ranks[link.source] - self.ranks[link.target]) for link in links)
        self.chains = [self._chain(number, link, longest) for number, link in enumerate(links)]
        self.rows: list[list[_Slot]] = [[] for _ in range(max(self.ranks.values(), default=-1) + 1)]
        self._fill(names)

    def _chain(self, number: int, link: Link, longest: int) -> tuple[list[_Slot], _Slot]:
        """The slots of a link from its upper to its lower end, and its label's among them."""
        ends = [self.slots[link.source], self.slots[link.target]]
        if number in self.up:
            ends.reverse()
        upper, lower = ends
        between = list(range(upper.rank + 1, lower.rank))
        middle = between[len(between) // 2 // 2 * 2]  # an odd rank: those between boxes hold the labels
        label = _Slot(middle, LINE, LINE + link.width, link.height)
        if longest > MOST_SLOTS:
            between = [middle]
        chain = [upper, *(label if rank == middle else _Slot(rank, LINE, LINE, 0) for rank in between), lower]
        for above, below in pairwise(chain):
            cost = 1.0 + 3.0 * (above is not upper) + 3.0 * (below is not lower)
            above.below.append((below, cost))
            below.above.append((above, cost))
        return chain, label

    def _fill(self, names: Sequence[str]) -> None:
        """Put every slot into its row, in the order of a walk from the first box."""
        seen: set[int] = set()
        for name in names:
            waiting = [self.slots[name]]
            while waiting:
                slot = waiting.pop()
                if id(slot) in seen:
                    continue
                seen.add(id(slot))
                slot.place = len(self.rows[slot.rank])
                self.rows[slot.rank].append(slot)
                waiting.extend(other for other, _ in reversed(slot.below))

    # Order.

    def order(self) -> None:
        """Sort the rows by where their neighbours stand, up and down in turn, and keep the best seen."""
        best, kept = self._crossings(), [list(row) for row in self.rows]
        for sweep in range(_SWEEPS):
            if not best:
                break
            down = sweep % 2 == 0
            for row in self.rows if down else reversed(self.rows):
                middles = {id(slot): _middle(slot, down) for slot in row}
                row.sort(key=lambda slot: middles[id(slot)])
                _number(row)
            crossings = self._crossings()
            if crossings < best:
                best, kept = crossings, [list(row) for row in self.rows]
        self.rows = kept
        for row in self.rows:
            _number(row)

    def _crossings(self) -> int:
        count = 0
        for row in self.rows:
            ends: list[int] = []
            for slot in row:
                places = sorted(other.place for other, _ in slot.below)
                count += sum(len(ends) - bisect_left(ends, place + 1) for place in places)
                for place in places:
                    insort(ends, place)
        return count

    # Places.

    def settle(self) -> None:
        """Give every slot its x: each row as near to what its neighbours pull it to as its room allows."""
        for row in self.rows:
            _spread(row, [0.0] * len(row), [1.0] * len(row))
        for sweep in range(_SWEEPS * 2):
            last = sweep >= _SWEEPS * 2 - 2
            for row in self.rows if sweep % 2 == 0 else reversed(self.rows):
                pulls = [_pull(slot, up=last or sweep % 2 == 0, down=last or sweep % 2 == 1) for slot in row]
                _spread(row, [x for x, _ in pulls], [weight for _, weight in pulls])

    def drawing(self) -> Drawing:
        every = [slot for row in self.rows for slot in row]
        left = min((slot.x - slot.left for slot in every), default=0.0)
        for slot in every:
            slot.x -= left
        heights = [max((slot.height for slot in row), default=0.0) for row in self.rows]
        middles: list[float] = []
        y = 0.0
        for height in heights:
            middles.append(y + height / 2)
            y += height + RANK_GAP
        places = {name: Point(slot.x, middles[slot.rank]) for name, slot in self.slots.items()}
        upper, lower = self._ports(upper=True), self._ports(upper=False)
        routes = []
        for number, (chain, label) in enumerate(self.chains):
            points = _way(chain, middles, heights, upper[number], lower[number])
            ordered = points[::-1] if number in self.up else points
            routes.append(Route(tuple(ordered), Point(label.x + LINE, middles[label.rank])))
        width = max((slot.x + slot.right for slot in every), default=0.0)
        return Drawing(width, max(0.0, y - RANK_GAP), places, tuple(routes))

    def _ports(self, *, upper: bool) -> dict[int, float]:
        """Where each link meets its upper (lower) box: side by side, in the order of what they lead to."""
        ends: dict[int, list[tuple[float, int]]] = {}
        for number, (chain, _) in enumerate(self.chains):
            box, beside = (chain[0], chain[1]) if upper else (chain[-1], chain[-2])
            ends.setdefault(id(box), []).append((beside.x, number))
        found: dict[int, float] = {}
        for box in self.slots.values():
            links = sorted(ends.get(id(box), ()))
            for place, (_, number) in enumerate(links):
                share = (place + 1) / (len(links) + 1) - 0.5
                found[number] = box.x + share * 1.4 * box.left
        return found


def _way(
    chain: Sequence[_Slot], middles: Sequence[float], heights: Sequence[float], first: float, last: float
) -> list[Point]:
    """The points of a chain from top to bottom; it goes straight down through each rank that it passes."""
    upper, *inner, lower = chain
    points = [Point(first, middles[upper.rank] + upper.height / 2)]
    for slot in inner:
        middle, half = middles[slot.rank], heights[slot.rank] / 2
        points += [Point(slot.x, middle - half), Point(slot.x, middle + half)]
    return [*points, Point(last, middles[lower.rank] - lower.height / 2)]


def _closing(names: Sequence[str], links: Sequence[Link]) -> set[int]:
    """The links that close a cycle on a walk from the first box: they are drawn upward."""
    out: dict[str, list[tuple[int, str]]] = {name: [] for name in names}
    for number, link in enumerate(links):
        out[link.source].append((number, link.target))
    found: set[int] = set()
    state: dict[str, bool] = {}  # True while its walk goes on
    for first in names:
        if first in state:
            continue
        state[first] = True
        walks = [(first, iter(out[first]))]
        while walks:
            here, rest = walks[-1]
            step = next(rest, None)
            if step is None:
                state[here] = False
                walks.pop()
            elif step[1] not in state:
                state[step[1]] = True
                walks.append((step[1], iter(out[step[1]])))
            elif state[step[1]]:
                found.add(step[0])
    return found


def _ranks(names: Sequence[str], links: Sequence[Link], up: set[int]) -> dict[str, int]:
    """Even ranks for the boxes, so that every link goes down by two at least: the longest way decides."""
    pairs = {
        (link.target, link.source) if number in up else (link.source, link.target)
        for number, link in enumerate(links)
    }
    below: dict[str, list[str]] = {name: [] for name in names}
    waits = dict.fromkeys(names, 0)
    for upper, lower in sorted(pairs):
        below[upper].append(lower)
        waits[lower] += 1
    ranks = dict.fromkeys(names, 0)
    order = [name for name in names if not waits[name]]
    roots = list(order)
    for name in order:
        for lower in below[name]:
            ranks[lower] = max(ranks[lower], ranks[name] + 2)
            waits[lower] -= 1
            if not waits[lower]:
                order.append(lower)
    for name in roots[1:]:  # one that nothing leads to stands right above what it leads to
        if below[name]:
            ranks[name] = max(0, min(ranks[lower] for lower in below[name]) - 2)
    return ranks


def _middle(slot: _Slot, above: bool) -> float:
    """The mean place of a slot's neighbours in the rank above or below; its own where it has none."""
    near = slot.above if above else slot.below
    return sum(other.place for other, _ in near) / len(near) if near else float(slot.place)


def _number(row: Iterable[_Slot]) -> None:
    for place, slot in enumerate(row):
        slot.place = place


def _pull(slot: _Slot, *, up: bool, down: bool) -> tuple[float, float]:
    """Where the neighbours above or below want a slot, and how much."""
    near = (slot.above if up else []) + (slot.below if down else [])
    weight = sum(cost for _, cost in near)
    if not weight:
        return slot.x, 0.1
    return sum(other.x * cost for other, cost in near) / weight, weight


def _spread(row: Sequence[_Slot], wanted: Sequence[float], weights: Sequence[float]) -> None:
    """Move a row to where the sum of weighted squares of distances is least and nothing overlaps.

    Without its room each slot wants a place that must not be left of its left neighbour's: the least
    squares of such a sequence are found by joining neighbours that would swap (pool adjacent violators).
    """
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    offsets: list[float] = []
    offset = 0.0
    for place, slot in enumerate(row):
        if place:
            offset += row[place - 1].right + GAP + slot.left
        offsets.append(offset)
        mean, weight, count = wanted[place] - offset, weights[place], 1
        while blocks and blocks[-1][0] > mean:
            other, more, many = blocks.pop()
            mean = (mean * weight + other * more) / (weight + more)
            weight, count = weight + more, count + many
        blocks.append((mean, weight, count))
    place = 0
    for mean, _, count in blocks:
        for _ in range(count):
            row[place].x = mean + offsets[place]
            place += 1
