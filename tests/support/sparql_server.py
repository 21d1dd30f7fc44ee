"""A graph behind a real server: databases, tokens, and what the W3C's update tests look like over it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

import treadle
from tests.support.graphs import insert
from tests.support.server import Running, client, serving
from treadle.access.roles import Role
from treadle.graph.terms import Quad

ROLES = (
    Role("all", graph=("read", "update", "define", "identity"), operations=("admin", "restore")),
    Role("agent", graph=("read", "update")),
    Role("definer", graph=("read", "update", "define")),
    Role("reader", graph=("read",)),
    Role("nothing"),
)


class GraphServer:
    """A running server over a graph, and a token for each role."""

    def __init__(self, running: Running, path: Path, tokens: dict[str, str]) -> None:
        self.running = running
        self.path = path
        self.tokens = tokens
        self.clients = {role: client(running, token) for role, token in tokens.items()}
        self.all = self.clients["all"]

    @property
    def address(self) -> str:
        return self.running.address

    def close(self) -> None:
        for each in self.clients.values():
            each.close()

    def update(self, text: str, role: str = "all", **parameters: Any) -> httpx2.Response:
        headers = {"content-type": "application/sparql-update"}
        return self.clients[role].post("/update", content=text.encode(), headers=headers, params=parameters)

    def select(self, text: str, role: str = "all", **parameters: Any) -> list[dict[str, str]]:
        """The rows of a SELECT, as texts by variable."""
        answer = self.clients[role].get("/query", params={"query": text, **parameters})
        assert answer.status_code == 200, answer.text
        rows = answer.json()["results"]["bindings"]
        return [{name: term["value"] for name, term in row.items()} for row in rows]


def graph_database(
    path: Path, quads: Iterable[Quad] = (), *, enrolled: bool, more: tuple[Role, ...] = ()
) -> dict[str, str]:
    """A new database with a graph and a token for each role."""
    options = treadle.GraphOptions(enforce_workflows=True if enrolled else None)
    roles = (*ROLES, *more)
    with treadle.open(path, graph=options) as db:
        db.deploy("contract Graph version 1 {}", roles=roles)
        wanted = set(quads)
        if wanted:
            db.graph.update(insert(wanted), principal="tests")
        return {role.name: db.tokens.create(f"{role.name}-service", role=role.name).text for role in roles}


@contextmanager
def graph_server(folder: Path, quads: Iterable[Quad] = (), *, enrolled: bool) -> Iterator[GraphServer]:
    """A server over a new database in a folder."""
    path = folder / "graph.db"
    tokens = graph_database(path, quads, enrolled=enrolled)
    with serving(path) as running:
        server = GraphServer(running, path, tokens)
        yield server
        server.close()
