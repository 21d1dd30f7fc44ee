"""Tokens in a database: given, rotated, ended; every change is in the log, and the log holds no token."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

import treadle
from tests.support.contracts import SOURCE
from treadle.access.caller import Caller
from treadle.access.roles import Role
from treadle.engine import grants
from treadle.engine.grants import Grant
from treadle.engine.request import Request
from treadle.errors import ContractMismatch, Denied, InvalidInput, UnknownName
from treadle.testing import ManualClock

START = datetime(2030, 1, 1, tzinfo=UTC)
ORGANIZATION = UUID(int=7)
FACTS = (
    SOURCE.rstrip().removesuffix("}")
    + """
  principal fact region: string<16>
  principal fact since: date
}
"""
)
WORKER = Role("worker", commands=("CreateWork",))
CLERK = Role("clerk", commands=("CreateWork",), tenant=True)
OPERATOR = Role("operator", operations=("admin",))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def db(clock: ManualClock) -> Iterator[treadle.Database]:
    with treadle.open(":memory:", clock=clock) as opened:
        opened.deploy(SOURCE, roles=[WORKER, CLERK, OPERATOR])
        yield opened


def caller(db: treadle.Database, text: str) -> Caller:
    engine = db._engine
    with engine.store.read() as tx:
        return grants.authenticate(tx, engine.refresh(), text, "here")


def create(
    db: treadle.Database, who: Caller, work: int, *, organization: UUID = ORGANIZATION
) -> treadle.Receipt:
    given = {"request_key": f"k{work}", "organization_id": organization, "work_id": UUID(int=work)}
    job = db._engine.command_job(Request("CreateWork", given, who))
    receipt: treadle.Receipt = db._one(job, None)
    return receipt


def test_a_token_stands_for_its_principal_in_its_role(db: treadle.Database) -> None:
    granted = db.tokens.create("printers", role="worker")
    who = caller(db, granted.text)
    assert (who.principal, who.role, who.kind, who.tenant) == ("printers", "worker", "token", "")
    assert create(db, who, 1).outcome == "Created"
    with pytest.raises(Denied, match="does not allow command ClaimWork"):
        db._engine.command_job(Request("ClaimWork", {}, who))
    with pytest.raises(Denied, match="does not allow command NoSuch"):
        db._engine.command_job(Request("NoSuch", {}, who))


def test_the_log_tells_of_every_grant_and_holds_neither_token_nor_digest(db: treadle.Database) -> None:
    granted = db.tokens.create("printers", role="worker", operator="ann")
    successor = db.tokens.rotate(granted.token.id, overlap=timedelta(hours=1), operator="bob")
    db.tokens.revoke(granted.token.id, operator="cid", operator_role="operator")
    found = [entry for entry in db.log() if entry.kind == "grant"]
    assert [(entry.name, entry.principal) for entry in found] == [
        ("create", "ann"),
        ("rotate", "bob"),
        ("revoke", "cid"),
    ]
    assert [entry.body["id"] for entry in found] == [granted.token.id, successor.token.id, granted.token.id]
    assert found[1].body["replaces"] == granted.token.id
    with db._engine.store.read() as tx:
        stored = b"".join(item.data for item in tx.log(1, 99))
        digests = [name.removeprefix("token.") for name in tx.settings("token.")]
        kept = b"".join(tx.settings("").values())
    for text in (granted.text, successor.text):
        assert text.encode() not in stored + kept
    assert not [digest for digest in digests if digest.encode() in stored or bytes.fromhex(digest) in stored]
    assert db.verify().ok


def test_a_revoked_token_is_refused_at_once_and_in_the_batch(db: treadle.Database) -> None:
    granted = db.tokens.create("printers", role="worker")
    who = caller(db, granted.text)
    given = {"request_key": "k", "organization_id": ORGANIZATION, "work_id": UUID(int=1)}
    queued = db._engine.command_job(Request("CreateWork", given, who))  # accepted while the token was valid
    db.tokens.revoke(granted.token.id)
    before = db.head
    with pytest.raises(Denied, match="the token is not valid"):
        db._one(queued, None)
    assert db.head == before and db.row("WorkItem", (ORGANIZATION, UUID(int=1))) is None


def test_a_replay_needs_a_valid_token_too(db: treadle.Database) -> None:
    granted = db.tokens.create("printers", role="worker")
    who = caller(db, granted.text)
    assert create(db, who, 1).replayed is False and create(db, who, 1).replayed is True
    db.tokens.revoke(granted.token.id)
    with pytest.raises(Denied):
        create(db, who, 1)
    again = caller(db, db.tokens.create("printers", role="worker").text)
    assert create(db, again, 1).replayed  # the key belongs to the principal, not to its token


def test_a_role_that_loses_a_command_is_refused_on_replay(db: treadle.Database) -> None:
    who = caller(db, db.tokens.create("printers", role="worker").text)
    create(db, who, 1)
    db.deploy(SOURCE, roles=[Role("worker"), OPERATOR])
    with pytest.raises(Denied):
        create(db, who, 1)
    db.deploy(SOURCE, roles=[])
    with pytest.raises(Denied, match="no role worker"):
        create(db, who, 1)


def test_expiry_counts_by_the_sealed_time(db: treadle.Database, clock: ManualClock) -> None:
    granted = db.tokens.create("printers", role="worker", valid_for=timedelta(seconds=60))
    who = caller(db, granted.text)
    clock.advance(timedelta(seconds=59))
    create(db, who, 1)
    clock.advance(timedelta(seconds=1))
    with pytest.raises(Denied):
        create(db, who, 2)
    with pytest.raises(Denied):
        grants.confirm(db._engine, who, db._engine.clock.now())
    clock.advance(timedelta(seconds=-30))
    create(db, who, 3)  # the clock went back to before the expiry; the log's time did not pass it


def test_rotation_overlaps_and_keeps_what_the_token_is_for(db: treadle.Database, clock: ManualClock) -> None:
    old = db.tokens.create("printers", role="clerk", tenant="acme", valid_for=timedelta(days=30))
    clock.advance(timedelta(days=20))
    new = db.tokens.rotate(old.token.id, overlap=timedelta(hours=1))
    kept = [(one.principal, one.role, one.tenant) for one in (old.token, new.token)]
    assert kept[0] == kept[1] and new.text != old.text
    assert (new.token.expires or 0) - new.token.created == 30 * 86_400 * 10**6
    for text in (old.text, new.text):
        grants.confirm(db._engine, caller(db, text), db._engine.clock.now())
    clock.advance(timedelta(hours=1))
    grants.confirm(db._engine, caller(db, new.text), db._engine.clock.now())
    with pytest.raises(Denied):
        grants.confirm(db._engine, caller(db, old.text), db._engine.clock.now())
    with pytest.raises(InvalidInput, match="ended already"):
        db.tokens.rotate(old.token.id)


def test_an_overlap_never_lengthens_a_token(db: treadle.Database) -> None:
    old = db.tokens.create("printers", role="worker", valid_for=timedelta(seconds=10))
    db.tokens.rotate(old.token.id, overlap=timedelta(days=1))
    assert next(one for one in db.tokens.list() if one.id == old.token.id).expires == old.token.expires


def test_a_tenant_is_held_to_its_partition(db: treadle.Database) -> None:
    who = caller(db, db.tokens.create("desk", role="clerk", tenant=str(ORGANIZATION)).text)
    create(db, who, 1)
    with pytest.raises(Denied, match="bound to one tenant"):
        create(db, who, 2, organization=UUID(int=8))
    with pytest.raises(InvalidInput, match="one tenant at a time"):
        db.tokens.create("desk", role="clerk")


def test_what_a_token_cannot_be_made_for(db: treadle.Database) -> None:
    for role, message in (("wroker", "nearest is worker"), ("", "no role")):
        with pytest.raises(UnknownName, match=message):
            db.tokens.create("printers", role=role)
    for given in (
        {"principal": "", "role": "worker"},
        {"principal": "p", "role": "worker", "valid_for": timedelta(0)},
    ):
        with pytest.raises(InvalidInput):
            db.tokens.create(**given)
    with pytest.raises(InvalidInput, match="is no field of the principal"):
        db.tokens.create("p", role="worker", facts={"colour": "red"})
    with pytest.raises(Denied, match="no admin permission"):
        db.tokens.create("p", role="worker", operator="mallory", operator_role="worker")
    with pytest.raises(UnknownName, match="no token"):
        db.tokens.revoke("000000000000")
    assert db.tokens.list() == []


def test_a_token_cannot_make_tokens_by_a_job_unless_it_is_valid(db: treadle.Database) -> None:
    granted = db.tokens.create("ops", role="operator")
    who = caller(db, granted.text)
    job = grants.CreateToken(who, Grant("p", "worker"), bytes(32))
    db._one(job, None)
    db.tokens.revoke(granted.token.id)
    with pytest.raises(Denied):
        db._one(grants.CreateToken(who, Grant("p", "worker"), bytes([1]) * 32), None)


def test_facts_are_kept_in_their_json_form_and_read_for_each_contract(clock: ManualClock) -> None:
    with treadle.open(":memory:", clock=clock) as db:
        db.deploy(FACTS, roles=[WORKER])
        granted = db.tokens.create(
            "p", role="worker", facts={"region": "north", "since": datetime(2030, 1, 2).date()}
        )
        assert granted.token.facts == {"region": "north", "since": "2030-01-02"}
        who = caller(db, granted.text)
        assert who.facts == {"region": "north", "since": 21_916}
        assert create(db, who, 1).ok
        without = SOURCE.replace("version 1", "version 2")
        with pytest.raises(treadle.ContractError, match=f"region: it is removed.*token {granted.token.id}"):
            db.deploy(without)
        assert create(db, who, 2).ok
        db.tokens.revoke(granted.token.id)
        assert db.deploy(without) == 2
        with pytest.raises(Denied, match="not valid"):
            create(db, who, 3)


def test_a_caller_of_another_contract_hears_so_but_its_keys_replay(db: treadle.Database) -> None:
    engine = db._engine
    identity = engine.refresh().require().identity
    given = {"request_key": "k", "organization_id": ORGANIZATION, "work_id": UUID(int=1)}

    def ask(contract: str, **more: object) -> treadle.Receipt:
        request = Request("CreateWork", given | more, Caller("p"), contract=contract)
        receipt: treadle.Receipt = db._one(engine.command_job(request), None)
        return receipt

    assert ask(identity).ok and ask("ab" * 32).replayed
    with pytest.raises(ContractMismatch):
        ask("ab" * 32, request_key="k2")
    with pytest.raises(ContractMismatch):
        ask("ab" * 32, request_key="k3", colour="red")


def test_tokens_made_at_once_are_all_there(db: treadle.Database) -> None:
    threads = [
        threading.Thread(target=db.tokens.create, args=(f"p{n}",), kwargs={"role": "worker"})
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.principal for one in db.tokens.list()) == [f"p{n}" for n in range(8)]


async def asynchronously() -> None:
    async with treadle.open_async(":memory:") as db:
        await db.deploy(SOURCE, roles=[WORKER])
        granted = await db.tokens.create("p", role="worker")
        successor = await db.tokens.rotate(granted.token.id)
        await db.tokens.revoke(successor.token.id)
        assert [one.revoked is None for one in await db.tokens.list()] == [False, False]


def test_tokens_for_asyncio() -> None:
    asyncio.run(asynchronously())
