"""Heavy parts, named once and imported on first use, so that `import treadle` stays quick.

A name here is the only way by which the handle reaches a store's driver, the compiler, the server and
the like; `load` imports the module when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

PARTS: Final = {
    "store": "treadle.store",
    "acts": "treadle.engine.acts",
    "grants": "treadle.engine.grants",
    "evolving": "treadle.engine.evolving",
    "graph": "treadle.graph.live.surface",
    "graph.stored": "treadle.graph.live.stored",
    "graph.audit": "treadle.graph.live.audit",
    "portability": "treadle.portability",
    "retention": "treadle.retention",
    "doctor": "treadle.doctor",
    "clock": "treadle.store.clock",
    "ids": "treadle.store.ids",
    "queries": "treadle.queries",
    "queries.deploying": "treadle.queries.deploying",
    "recall": "treadle.engine.recall",
    "record": "treadle.model.record",
    "simulation": "treadle.simulation",
    "streams": "treadle.streams",
    "streams.events": "treadle.streams.events",
    "client.working": "treadle.client.working",
    "client.reasons": "treadle.client.reasons",
    "bindings": "treadle.bindings",
    "client": "treadle.client.remote",
    "client.interface": "treadle.client.interface",
    "riff": "treadle.riff",
    "riff.migrating": "treadle.riff.migrating",
    "riff.pages": "treadle.riff.pages",
    "riffql": "treadle.riffql",
    "plan": "treadle.plan",
    "explain": "treadle.plan.explain",
    "diagram": "treadle.plan.diagram",
    "json_schema": "treadle.plan.json_schema",
    "lsp": "treadle.lsp",
    "history": "treadle.history",
    "server.lifecycle": "treadle.server.lifecycle",
    "server.mcp_http": "treadle.server.mcp_http",
    "server.mcp_stdio": "treadle.server.mcp_stdio",
    "server.options": "treadle.server.options",
    "verify": "treadle.verify",
    "why": "treadle.why",
    "why.runs": "treadle.why.runs",
}


def load(name: str) -> Any:
    """The module of the part called `name`."""
    return import_module(PARTS[name])
