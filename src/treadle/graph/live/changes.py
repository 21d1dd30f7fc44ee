"""What a change of the graph answers."""

from __future__ import annotations

from typing import Any, NamedTuple

from treadle.graph.delta import Delta
from treadle.graph.guard import Advance, Verdict
from treadle.graph.view import Graph


class GraphChange(NamedTuple):
    """What a change did to one graph: `graph` is its name, None for the default graph."""

    graph: str | None
    tx: int
    asserted: int
    retracted: int


class Changed(NamedTuple):
    """What a change of the graph did, durable.

    `tx` is the number of its log record, None where nothing changed; `asserted` and `retracted` count
    statements of the whole request, `graphs` those of each graph that changed. `advances` are the runs that
    it advanced, `created` the names of graphs that it made.
    """

    tx: int | None
    asserted: int
    retracted: int
    graphs: tuple[GraphChange, ...] = ()
    advances: tuple[Advance, ...] = ()
    created: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Always true: it was accepted."""
        return True

    def to_json(self) -> dict[str, Any]:
        """The answer of `POST /update`."""
        return {
            "tx": self.tx,
            "asserted": self.asserted,
            "retracted": self.retracted,
            "graphs": [change._asdict() for change in self.graphs],
        }


NOTHING = Changed(None, 0, 0)


def changed(delta: Delta, number: int, verdict: Verdict) -> Changed:
    """The answer for a change that is record `number`."""
    graphs = tuple(
        GraphChange(_name(count.graph), number, count.asserted, count.retracted) for count in delta.counts()
    )
    created = tuple(graph.value for graph in delta.graphs_created)
    return Changed(number, len(delta.added), len(delta.removed), graphs, verdict.advances, created)


def _name(graph: Graph) -> str | None:
    return None if graph is None else graph.value
