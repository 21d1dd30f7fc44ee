"""A set of statements with look-ups, and the set after a change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Set
from typing import Protocol

from sim.graph.names import MARKERS, TYPE, Quad

Fact = tuple[str, str]
"""Predicate and object."""

Spot = tuple[str, str]
"""A subject, and the graph."""


class View(Protocol):
    """What can be asked of a set of statements."""

    def facts(self, spot: Spot) -> Set[Fact]:
        """All about a subject in a graph."""

    def places(self, subject: str) -> set[str]:
        """The graphs with statements about a subject."""


class Facts:
    """Statements and names of graphs, as the log says they are."""

    def __init__(self) -> None:
        self.quads: set[Quad] = set()
        self.graphs: set[str] = set()
        self._about: defaultdict[Spot, set[Fact]] = defaultdict(set)
        self._with: defaultdict[str, set[Quad]] = defaultdict(set)

    def change(self, removed: Iterable[Quad], added: Iterable[Quad]) -> None:
        for quad in removed:
            s, p, o, g = quad
            self.quads.discard(quad)
            self._about[s, g].discard((p, o))
            self._with[p].discard(quad)
        for quad in added:
            s, p, o, g = quad
            self.quads.add(quad)
            self._about[s, g].add((p, o))
            self._with[p].add(quad)

    def facts(self, spot: Spot) -> Set[Fact]:
        return self._about.get(spot, frozenset())

    def places(self, subject: str) -> set[str]:
        return {g for (s, g), facts in self._about.items() if s == subject and facts}

    def saying(self, predicate: str) -> set[Quad]:
        """The statements with a predicate."""
        return self._with.get(predicate, set())


class After:
    """Statements as they are after a change."""

    def __init__(self, before: Facts, removed: Iterable[Quad], added: Iterable[Quad]) -> None:
        self._before = before
        self._removed: defaultdict[Spot, set[Fact]] = defaultdict(set)
        self._added: defaultdict[Spot, set[Fact]] = defaultdict(set)
        for target, quads in ((self._removed, removed), (self._added, added)):
            for s, p, o, g in quads:
                target[s, g].add((p, o))

    def facts(self, spot: Spot) -> Set[Fact]:
        found = self._before.facts(spot)
        if spot in self._removed or spot in self._added:
            return (found - self._removed.get(spot, set())) | self._added.get(spot, set())
        return found

    def places(self, subject: str) -> set[str]:
        near = {g for s, g in (*self._removed, *self._added) if s == subject}
        return {g for g in self._before.places(subject) | near if self.facts((subject, g))}


def objects(view: View, spot: Spot, predicate: str) -> list[str]:
    """The objects of a predicate."""
    return [o for p, o in view.facts(spot) if p == predicate]


def only(view: View, spot: Spot, predicate: str) -> str | None:
    """The one object of a predicate; None where there is none, or more than one."""
    found = objects(view, spot, predicate)
    return found[0] if len(found) == 1 else None


def kinds(view: View, spot: Spot) -> set[str]:
    """The guarded types that a subject bears."""
    return {o for p, o in view.facts(spot) if p == TYPE and o in MARKERS}
