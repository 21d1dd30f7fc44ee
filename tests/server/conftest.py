"""One server for all tests that only ask it: the depot, on a real socket, with a token for each role."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.support.server import DEPOT, Running, client, depot, serving

MEMORY = Path("/dev/shm")
NUMBERS = count(1)


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """A folder in memory, where there is one: these tests are not about what a disk keeps."""
    where = MEMORY if os.access(MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix="treadle-server-", dir=where) as made:
        yield Path(made)


@pytest.fixture(scope="session")
def database(folder: Path) -> Path:
    return folder / "depot.db"


@pytest.fixture(scope="session")
def tokens(database: Path) -> dict[str, str]:
    return depot(database)


@pytest.fixture(scope="session")
def server(database: Path, tokens: dict[str, str]) -> Iterator[Running]:
    with serving(database, "--set", "server.idle_seconds=1") as running:
        yield running


@pytest.fixture(scope="session")
def http(server: Running, tokens: dict[str, str]) -> Iterator[httpx2.Client]:
    """A client that may do everything."""
    with client(server, tokens["all"]) as made:
        yield made


@pytest.fixture
def as_(server: Running, tokens: dict[str, str]) -> Iterator[Callable[[str], httpx2.Client]]:
    """A client in a role."""
    made: list[httpx2.Client] = []

    def of(role: str) -> httpx2.Client:
        made.append(client(server, tokens[role]))
        return made[-1]

    yield of
    for each in made:
        each.close()


def fresh() -> str:
    """A uuid that no test has used."""
    return str(UUID(int=0xF000 + next(NUMBERS)))


def item(**more: Any) -> dict[str, Any]:
    """The input of AddItem, of a new item."""
    return {"key": fresh(), "depot": str(DEPOT), "item": fresh(), "title": "Crate"} | more


def run(http: httpx2.Client, command: str, given: dict[str, Any], **more: Any) -> httpx2.Response:
    """Run a command."""
    headers = more.pop("headers", {})
    return http.post(f"/v1/commands/{command}", json={"input": given} | more, headers=headers)


def problem(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """The problem document of an answer, which must have this status and code."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert (body["code"], body["status"]) == (code, status), body
    assert body["type"] == f"urn:treadle:error:{code}"
    assert body["title"] and body["detail"] and body["recovery"]
    assert body["trace_id"] == answer.headers["trace-id"]
    return body
