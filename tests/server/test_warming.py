"""The index of the graph is there before the first request; a stopping server leaves it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import treadle
from tests.support.graphs import insert
from tests.support.server import client, serving
from tests.support.sparql_server import graph_database
from tests.support.workflows import Release
from treadle.database import Database
from treadle.graph import dataset
from treadle.server.app import create_app
from treadle.server.graph import warming
from treadle.server.options import Options
from treadle.server.service import Service


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with treadle.open(tmp_path / "g.db") as db:
        db.graph.update(insert(Release().setup()), principal="tests")
    return tmp_path / "g.db"


def service_of(db: Database) -> Service:
    return create_app(db, Options()).service


def test_it_is_built_and_the_log_says_how_far(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(warming, "TOLD_EVERY", 0.0)
    monkeypatch.setattr(dataset, "_BATCH", 20)
    caplog.set_level(logging.INFO, "treadle.server")
    monkeypatch.setattr(logging.getLogger("treadle"), "propagate", True)
    with treadle.open(place) as db:
        warming.warm(service_of(db))
        assert db.graph_core().live.built()
    names = [one.getMessage() for one in caplog.records]
    assert names == ["graph_building", "graph_building", "graph_ready"]
    statements = len(Release().setup())
    fields = [getattr(one, "fields") for one in caplog.records]  # noqa: B009
    assert fields[0] == {"statements": 20, "of": statements} and fields[-1]["statements"] == statements


def test_a_database_without_a_graph_gets_none(tmp_path: Path) -> None:
    with treadle.open(tmp_path / "empty.db") as db:
        warming.warm(service_of(db))
        assert not db.graph_is_open


def test_a_stopping_server_leaves_it(place: Path) -> None:
    with treadle.open(place) as db:
        service = service_of(db)
        service.draining = True
        warming.warm(service)
        assert not db.graph_core().live.built()
        service.draining = False
        warming.warm(service)
        assert db.graph_core().live.built()


def test_a_real_server_answers_from_it(tmp_path: Path) -> None:
    tokens = graph_database(tmp_path / "graph.db", Release().setup(), enrolled=True)
    with serving(tmp_path / "graph.db") as running, client(running, tokens["reader"]) as http:
        found = http.get("/graphs").json()["graphs"]
        assert found == [{"graph": None, "statements": len(Release().setup())}]
