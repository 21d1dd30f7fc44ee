"""A served database with work items, and a client for a worker's token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

import treadle
from tests.support.clients import SCOPE, WORK
from tests.support.serving import serving
from treadle.access.roles import Role

WORKER = Role("worker", commands=("CreateWork", "ClaimWork", "ShowWork"))


class Served:
    """An open database that is served, and tokens for its roles."""

    def __init__(self) -> None:
        self.db = treadle.open(":memory:")
        self.db.deploy(WORK, roles=[WORKER, Role("auditor", operations=("audit",))])
        self.token = self.db.tokens.create("work-service", role="worker").text
        self.acting = self.db.acting_as("work-service", role="worker")
        self.url = ""
        self._before = self.db.head[0]

    def created(self, number: int, key: str | None = None) -> tuple[str, dict[str, Any]]:
        """A command that creates one work item."""
        given = {
            "request_key": key or f"create-{number}",
            "organization_id": SCOPE,
            "work_id": UUID(int=number),
        }
        return "CreateWork", given

    @property
    def executed(self) -> int:
        """How many commands were carried out."""
        return self.db.head[0] - self._before


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    with made.db, serving(made.db) as made.url:
        yield made


@pytest.fixture
def remote(served: Served) -> Iterator[treadle.Remote]:
    with treadle.connect(served.url, token=served.token) as made:
        yield made
