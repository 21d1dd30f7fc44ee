"""The workflow client on a database of this process: the real engine behind every promise of the client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

import treadle
from tests.support.client_suite import WorkflowClientSuite
from tests.support.flaky import GuardedServer
from tests.support.graphs import ENFORCED, insert
from tests.support.surfaces import plant
from tests.support.workflows import Release
from treadle.errors import OutcomeUnknown, Unreachable
from treadle.graph import WorkflowClient
from treadle.graph.client import Applied, NoAnswer, Transport
from treadle.graph.client.embedded import DocumentTransport, EmbeddedTransport
from treadle.graph.terms import Quad


class DatabaseServer(GuardedServer):
    """`GuardedServer` over an enrolled database and its own transport."""

    def __init__(self, quads: Iterable[Quad] = ()) -> None:
        super().__init__(())
        self.db = treadle.open(":memory:", graph=ENFORCED)
        plant(self.db, quads)
        self.inner = EmbeddedTransport(self.db.acting_as("agents").graph)

    def query(self, text: str) -> Mapping[str, Any]:
        if self.query_faults:
            super().query("SELECT * {}")
        return self.inner.query(text)

    def quads(self) -> set[Quad]:
        return set(self.db.graph.core.live.index().quads())

    def _apply(self, text: str) -> Applied:
        done = self.inner.update(text)
        self.tx = done.tx or self.tx
        return done


class TestOverADatabase(WorkflowClientSuite):
    def serve(self, quads: Iterable[Quad] = ()) -> GuardedServer:
        return DatabaseServer(quads)

    def reach(self, server: GuardedServer) -> Transport:
        return server


def test_what_a_transport_into_a_database_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with treadle.open(":memory:", graph=ENFORCED) as db:
        transport = EmbeddedTransport(db.acting_as("agents").graph)
        assert transport.capabilities() == {"processing": "enabled", "signatureVersions": [2]}
        with pytest.raises(NoAnswer):
            transport.query("ASK {}")

        def lost(text: str) -> None:
            raise OutcomeUnknown("the answer is lost")

        monkeypatch.setattr(transport._graph, "update", lost)
        with pytest.raises(NoAnswer):
            transport.update("CLEAR ALL")


def test_a_document_is_read_only() -> None:
    r = Release()
    with treadle.open(":memory:", graph=ENFORCED) as db:
        db.graph.update(insert(r.setup()), principal="t")
        client = WorkflowClient(EmbeddedTransport(db.acting_as("t").graph), agent=r.agent.value, key=None)
        assert client.status(r.run.value).state == "Draft"
        document = db.graph.export("turtle")
    reader = WorkflowClient(DocumentTransport(document, "turtle"))
    assert reader.status(r.run.value).revision == "0"
    assert reader.verify(r.run.value).ok
    with pytest.raises(treadle.Refused, match="processing_unknown"):
        reader.start("urn:r:2", r.plan.value)
    with pytest.raises(Unreachable):
        DocumentTransport(document, "turtle").update("CLEAR ALL")
