"""The guard through every write surface: each case of each reason, and its legal neighbours.

One enrolled database, in this process and behind a real server; every case has entities, agents and, where it
is about one, a graph of its own. What a case finds committed is planted, as if it came from before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import treadle
from tests.support.cases import CASES, Case
from tests.support.effort import effort
from tests.support.graphs import ENFORCED
from tests.support.server import serving
from tests.support.sparql_server import ROLES, GraphServer, graph_database
from tests.support.surfaces import Change, changes, documents, loads, plant, updates
from tests.support.workflows import Release
from treadle.access.roles import Role
from treadle.database import Database
from treadle.errors import Refused
from treadle.graph.guard import Context
from treadle.graph.terms import IRI

REGISTRAR = Role("registrar", graph=("read", "update", "identity"))
SPARQL = {"content-type": "application/sparql-update"}
TURTLE = {"content-type": "text/turtle"}
TAKEN = iter(range(10**6))


def role_of(context: Context) -> str | None:
    """The role that a case's context describes; None for one that is about other rules."""
    if context.event_predicates or context.identity_graphs is not None or not context.enrolled:
        return None
    return {
        (True, True): "all",
        (False, True): "definer",
        (True, False): "registrar",
        (False, False): "agent",
    }[context.identity, context.define]


HERE = [case for case in CASES if role_of(case.context) is not None]


def release(named: bool) -> Release:
    number = next(TAKEN)
    graph = IRI(f"http://example.org/graph/{number}") if named else None
    return Release(f"http://example.org/{number}", graph)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("surfaces")


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with treadle.open(":memory:", graph=ENFORCED) as found:
        found.deploy("contract Graph version 1 {}", roles=[*ROLES, REGISTRAR])
        yield found


def test_most_cases_can_be_told_by_roles() -> None:
    assert len(CASES) - len(HERE) <= 3


@pytest.mark.parametrize("case", HERE, ids=str)
def test_in_python(db: Database, case: Case) -> None:
    graph = db.acting_as("tests", role=role_of(case.context)).graph
    number = 0
    while True:
        made = release(named=number % 2 == 0)
        request = case.make(made)
        plant(db, request.setup)
        change, before = Change.of(request), changes(db)
        ways: list[tuple[str, Callable[[], Any]]] = [
            *((name, partial(graph.update, text)) for name, text in updates(change)),
            *loads(db, graph, change),
        ]
        if number >= len(ways):
            break
        name, act = ways[number]
        number += 1
        check(case, name, act)
        assert (changes(db) == before) or case.reason is None, name
    assert number or change.nodes


def check(case: Case, name: str, act: Callable[[], Any]) -> None:
    if case.reason is None:
        act()
        return
    with pytest.raises(Refused) as caught:
        act()
    assert caught.value.reason == case.reason, name
    if case.field is not None:
        assert caught.value.field == case.field, name
    assert caught.value.entity and caught.value.remedy


class Served:
    """A server over an enrolled database, and a handle of this process on the same file."""

    def __init__(self, db: Database, server: GraphServer) -> None:
        self.db = db
        self.server = server


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    path = folder / "graph.db"
    tokens = graph_database(path, enrolled=True, more=(REGISTRAR,))
    with serving(path) as running, treadle.open(path) as db:
        server = GraphServer(running, path, tokens)
        yield Served(db, server)
        server.close()


def some() -> Iterator[Case]:
    """The first two cases of each reason, and a part of what is accepted; what differs is the way in."""
    seen: Counter[str | None] = Counter()
    for case in HERE:
        seen[case.reason] += 1
        if seen[case.reason] <= effort(2 if case.reason is not None else 30):
            yield case


@pytest.mark.parametrize("case", list(some()), ids=str)
def test_over_http(served: Served, case: Case) -> None:
    http = served.server.clients[role_of(case.context) or ""]
    made = release(named=True)
    request = case.make(made)
    plant(served.db, request.setup)
    change, before = Change.of(request), changes(served.db)
    ways: list[tuple[str, Callable[[], Any]]] = []
    for name, text in list(updates(change))[:2]:
        ways.append((name, partial(http.post, "/update", content=text.encode(), headers=SPARQL)))
        ways.append((f"{name} in a form", partial(http.post, "/sparql", data={"update": text})))
    at = f"/rdf-graph-store?graph={quote(str(change.graph), safe='')}"
    for name, how, text in documents(served.db, change):
        ways.append((name, partial(http.request, how, at, content=text.encode(), headers=TURTLE)))
        if how == "post":
            body = {"turtle": text, "graph": str(change.graph)}
            ways.append(("knot", partial(http.post, "/knot", json=body)))
    for name, act in ways:
        answer = act()
        if case.reason is None:
            assert answer.status_code in (200, 201, 204), (name, answer.text)
            break  # what was accepted is committed: a second way would find it there
        assert answer.status_code == 403, (name, answer.text)
        found = answer.json()
        assert (found["reason"], found["code"]) == (case.reason, "refused"), name
        assert found["remedy"] and found["entity"]
    assert changes(served.db) == before or case.reason is None
    assert ways or change.nodes
