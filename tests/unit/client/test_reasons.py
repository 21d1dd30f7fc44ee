"""Why, asked in process and over HTTP: the same answer of the same type, masked alike."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import treadle
from tests.support import jobs
from tests.support.engines import START
from tests.support.graphs import ENFORCED, PRINCIPAL, advance_text, insert
from tests.support.serving import serving
from tests.support.workflows import Release
from treadle.access.roles import Role
from treadle.asynchronous import AsyncDatabase
from treadle.client.reasons import run_of
from treadle.client.typed import AsyncClient, Client
from treadle.errors import Denied, InvalidInput, Malformed, UnknownName
from treadle.testing import ManualClock

ROLES = [
    jobs.WORKER_ROLE,
    Role("desk", commands=("Remind",)),
    Role("boss", commands=("Claim", "Queue"), queries=("LiveJobs",), operations=("admin",), graph=("read",)),
]
RELEASE = Release()


class Asked:
    """One database, and everything by which it can be asked."""

    def __init__(self, db: treadle.Database, url: str) -> None:
        self.db = db
        self.url = url
        self.tokens = {role.name: db.tokens.create(f"{role.name}-s", role=role.name).text for role in ROLES}

    def each(self, role: str, verb: str, *words: Any, **options: Any) -> list[Any]:
        """The answers of a method in process, over HTTP, and both of these awaited."""
        who: Any = {"principal": f"{role}-s", "role": role}
        acting, token = self.db.acting_as(**who), self.tokens[role]
        found = [getattr(acting, verb)(*words, **options), getattr(self.db, verb)(*words, **options, **who)]
        with treadle.connect(self.url, token=token) as remote:
            found.append(getattr(remote, verb)(*words, **options))
            if verb == "why":
                found += [Client(one).why(*words, **options) for one in (acting, remote)]
        return found + asyncio.run(self._awaited(who, token, verb, *words, **options))

    async def _awaited(self, who: Any, token: str, verb: str, *words: Any, **options: Any) -> list[Any]:
        owner = AsyncDatabase(self.db)
        found = [await getattr(owner, verb)(*words, **options, **who)]
        async with treadle.connect_async(self.url, token=token) as remote:
            found.append(await getattr(remote, verb)(*words, **options))
            if verb == "why":
                clients = [AsyncClient(one) for one in (owner.acting_as(**who), remote)]
                found += [await client.why(*words, **options) for client in clients]
        await owner.release()
        return found


@pytest.fixture
def asked() -> Iterator[Asked]:
    clock = ManualClock(START)
    with treadle.open(":memory:", clock=clock, graph=ENFORCED) as db:
        db.deploy(jobs.SOURCE, queries=jobs.QUERIES, roles=ROLES)
        db.graph.update(insert(RELEASE.setup()), principal=PRINCIPAL)
        with serving(db) as url:
            yield Asked(db, url)


def claim(asked: Asked, number: int) -> None:
    evidence = {"worker": uuid.UUID(int=9), "seconds": 60, "expected_revision": 1}
    body = {"key": f"claim {number}", "shop": jobs.SHOP, "number": number, **evidence}
    acting = asked.db.acting_as("worker-s", role="worker", instance="host-7/1")
    assert acting.run("Claim", body).ok


def test_rows(asked: Asked) -> None:
    """Absent, waiting, held by the caller and by another; revealed to an admin who asks for it, alone."""
    jobs.queue(asked.db, [1, 2])
    claim(asked, 1)
    seen: set[Any] = set()
    for role in ("worker", "boss", "desk"):
        for number in (1, 2, 3):
            for unmasked in (False, True):
                key = (jobs.SHOP, number)
                first, *others = asked.each(role, "why", "Job", key, unmasked=unmasked)
                assert others == [first] * len(others) and len(others) == 8
                assert all(type(one) is type(first) and type(one.key) is tuple for one in others)
                assert {type(one.now) for one in others} == {type(first.now)}
                if first.lease is not None:
                    assert {type(one.lease) for one in others} == {type(first.lease)}
                    seen.add((role, first.lease.holder, first.lease.owner, first.lease.principal))
    mask, owner = "•••", uuid.UUID(int=9)
    assert seen >= {
        ("worker", "you", mask, "worker-s"),
        ("desk", "another", mask, mask),
        ("boss", "another", mask, "worker-s"),
        ("boss", "another", owner, "worker-s"),
        ("worker", "nobody", None, None),
    }
    assert not any(shown == owner for role, _, shown, _ in seen if role != "boss")


@pytest.mark.parametrize("shop", ["..", ".", "", "a/b", "é ü", "%2F", "a?b#c&key=x", "+", " "])
def test_a_key_of_any_text(asked: Asked, shop: str) -> None:
    with treadle.connect(asked.url, token=asked.tokens["worker"]) as remote:
        found = remote.why("Job", (shop, 1))
    assert found == asked.db.why("Job", (shop, 1), principal="worker-s", role="worker")
    assert found.key == (shop, 1)


def test_runs(asked: Asked) -> None:
    asked.db.graph.update(advance_text(RELEASE.submit()), principal=PRINCIPAL)
    bad = RELEASE.advance("approve", "Review", "Released", revision=1, signature_text="ed25519:nonsense")
    with pytest.raises(treadle.Refused):
        asked.db.graph.update(advance_text(bad), principal="mallory")
    first, *others = asked.each("boss", "why_run", RELEASE.run.value)
    assert others == [first] * len(others) and len(others) == 4
    assert first.refusals and first.events and first.legal and first.signers


def test_what_cannot_be_asked(asked: Asked) -> None:
    with treadle.connect(asked.url, token=asked.tokens["worker"]) as remote:
        with pytest.raises(UnknownName):
            remote.why("Jbo", (jobs.SHOP, 1))
        with pytest.raises(InvalidInput):
            remote.why("Job", jobs.SHOP)
        with pytest.raises(Denied):
            remote.why("Shop", jobs.SHOP)
        with pytest.raises(Denied):
            remote.why_run(RELEASE.run.value)


def test_an_answer_that_is_none() -> None:
    wrong: list[Any] = [None, [], {}, {"run": 7}]
    for document in wrong:
        with pytest.raises(Malformed):
            run_of(document)
