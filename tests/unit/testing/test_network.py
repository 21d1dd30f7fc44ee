"""The way to a server fails: what a client of Treadle's makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

import treadle
from tests.support import jobs
from tests.support.serving import serving
from treadle.access.roles import Role
from treadle.errors import OutcomeUnknown, TreadleError, Unreachable
from treadle.store.memory import MemoryStore
from treadle.testing import FaultTransport

DESK = Role("desk", commands=("AddShop",))
Connect = Callable[[FaultTransport, int], treadle.Remote]


@pytest.fixture(scope="module")
def connect() -> Iterator[Connect]:
    """A client of a server in this process, by a way of the test's."""
    with jobs.jobs(MemoryStore(), roles=[DESK]) as db:
        token = db.tokens.create("desk", role="desk").text
        with serving(db) as url:

            def made(way: FaultTransport, attempts: int) -> treadle.Remote:
                http = httpx2.Client(transport=way)
                return treadle.connect(url, token=token, http=http, attempts=attempts, timeout=5)

            yield made


def add(client: treadle.Remote, key: str) -> Any:
    return client.run("AddShop", {"key": key, "shop": key})


@pytest.mark.parametrize(("fault", "replayed"), [("unreachable", False), ("answer_lost", True)])
def test_a_client_tries_again(fault: Any, replayed: bool, connect: Connect) -> None:
    way = FaultTransport()
    way.arm(fault)
    answer = add(connect(way, 3), fault)
    assert (answer.outcome, answer.replayed) == ("Added", replayed)
    assert (way.requests, way.fired) == (2, 1)


def test_a_server_that_nobody_reaches(connect: Connect) -> None:
    way = FaultTransport()
    client = connect(way, 2)
    way.arm("unreachable", times=None)
    with pytest.raises(Unreachable):
        add(client, "a")
    assert way.fired == 2
    way.arm("answer_lost", times=None)
    with pytest.raises(OutcomeUnknown):
        add(client, "a")
    way.arm(None)
    assert add(client, "a").replayed


def test_the_second_request_and_a_fault_that_does_not_exist(connect: Connect) -> None:
    way = FaultTransport()
    one = connect(way, 1)
    way.arm("unreachable", at=2)
    assert add(one, "b").ok
    with pytest.raises(TreadleError):
        add(one, "c")
    assert not add(one, "c").replayed
    with pytest.raises(ValueError, match="write unreachable or answer_lost"):
        way.arm("broken")  # type: ignore[arg-type]
