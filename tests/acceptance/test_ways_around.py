"""The ways around the guard that somebody might try, through the open database and through a real server.

They are the guard's own tests; only what they send their updates to is another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import treadle
from tests.support.graphs import ENFORCED
from tests.support.guarded import GuardedIndex
from tests.support.server import serving
from tests.support.sparql_server import GraphServer, graph_database
from tests.support.surfaces import plant
from tests.support.workflows import NAMES, OPERATOR
from tests.unit.graph.guard import test_updates as ways
from tests.unit.graph.guard.test_updates import (  # noqa: F401 - collected here again
    test_a_base_and_prefixes_resolve_to_guarded_names,
    test_a_computed_number_is_judged_as_it_is_stored,
    test_a_key_is_rotated_and_the_old_one_retired,
    test_a_number_that_is_spelled_otherwise,
    test_a_plan_of_the_same_iri_in_another_graph_does_not_help,
    test_a_respelled_statement_that_is_committed_already_is_refused_too,
    test_a_short_number_is_canonical,
    test_a_type_by_another_spelling_of_its_iri_is_another_type,
    test_a_way_around,
    test_an_event_after_the_fact,
    test_an_extra_statement_of_the_event_in_another_graph_is_other_data,
    test_copying_a_whole_history_into_another_graph,
    test_facts_planted_before_the_type,
    test_removing_and_bringing_back_in_one_request_is_no_change,
    test_the_order_of_operations_hides_nothing,
    test_two_runs_in_one_request_are_both_checked,
)
from treadle.errors import Refused
from treadle.graph.guard import Context, Refusal, Verdict
from treadle.graph.guard.context import Advance
from treadle.graph.terms import IRI, Quad


def refusal(error: Refused) -> Refusal:
    graph = None if error.graph is None else IRI(error.graph)
    return Refusal(error.reason, IRI(error.entity or "urn:none"), graph, error.field, error.message)


class ThroughDatabase(GuardedIndex):
    """A database of this process in place of the bare index."""

    def __init__(self, quads: Iterable[Quad] = (), context: Context = OPERATOR) -> None:
        assert context == OPERATOR
        self.db = self.opened()
        plant(self.db, quads)

    def opened(self) -> Any:
        return treadle.open(":memory:", graph=ENFORCED)

    def update(self, text: str, path: object = None) -> Verdict | Refusal:
        try:
            return Verdict(self.db.graph.update(text, principal="tests").advances)
        except Refused as error:
            return refusal(error)

    def quads(self) -> set[Quad]:
        return set(self.db.graph.core.live.index().quads())


class ThroughServer(ThroughDatabase):
    """A server in place of the bare index: emptied, and then planted, for each test."""

    db_of: ClassVar[Any]
    server: ClassVar[GraphServer]

    def opened(self) -> Any:
        self.db_of.graph.disenroll()
        self.db_of.graph.update("DROP ALL", principal="tests")
        self.db_of.graph.enroll()
        return self.db_of

    def update(self, text: str, path: object = None) -> Verdict | Refusal:
        answer = self.server.update(text)
        found = answer.json()
        if answer.status_code == 200:
            return Verdict(_advances(self.db) if found["tx"] else ())
        assert (answer.status_code, found["code"]) == (403, "refused"), answer.text
        return refusal(
            Refused(
                found["detail"],
                reason=found["reason"],
                entity=found.get("entity"),
                field=found.get("field"),
                graph=found.get("graph"),
            )
        )


def _advances(db: Any) -> tuple[Advance, ...]:
    """The runs with their revisions, as far as the tests look at advances."""
    rows = db.graph.query(f"SELECT ?run ?r {{ GRAPH ?g {{ ?run {NAMES.current_revision.n3()} ?r }} }}")
    nowhere = IRI("urn:none")
    return tuple(
        Advance(None, row["run"], nowhere, nowhere, nowhere, "", "", str(row["r"]), nowhere, nowhere)
        for row in rows
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    path: Path = tmp_path_factory.mktemp("ways") / "graph.db"
    tokens = graph_database(path, enrolled=True)
    with serving(path) as running, treadle.open(path) as db:
        ThroughServer.server, ThroughServer.db_of = GraphServer(running, path, tokens), db
        yield
        ThroughServer.server.close()


@pytest.fixture(autouse=True, params=["database", "server"])
def through(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send every test's updates through one of the two."""
    if request.param == "server":
        request.getfixturevalue("server")
    monkeypatch.setattr(ways, "GuardedIndex", ThroughServer if request.param == "server" else ThroughDatabase)
