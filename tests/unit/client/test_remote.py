"""A database behind HTTP: the same receipts and errors as in process, and nothing twice, whatever is lost."""

from __future__ import annotations

import asyncio
import threading
import time
from uuid import UUID

import httpx2
import pytest

import treadle
from tests.support.clients import SCOPE, WORK
from tests.support.proxy import Fate, proxied
from tests.support.serving import serving
from tests.unit.client.conftest import WORKER, Served
from treadle.access.roles import Role
from treadle.errors import (
    Closed,
    ContractMismatch,
    Denied,
    HistoryChanged,
    InvalidInput,
    KeyReused,
    Malformed,
    OutcomeUnknown,
    TreadleError,
    UnknownName,
    Unreachable,
)

REFUSED = [
    ("CreateWork", {"request_key": "k"}),
    ("CreateWork", {"request_key": "", "organization_id": SCOPE, "work_id": SCOPE}),
    ("CreateWork", {"request_key": "k", "organization_id": "no uuid", "work_id": SCOPE}),
    ("CreateWork", {"request_key": "k", "organization_id": SCOPE, "work_id": SCOPE, "extra": 1}),
    ("CreateWork", "no mapping"),
    ("FinishWork", {}),
    ("NoSuchCommand", {}),
]


@pytest.mark.parametrize("call", REFUSED, ids=lambda call: str(call)[:40])
def test_what_is_refused_is_refused_alike(served: Served, remote: treadle.Remote, call) -> None:
    caught = []
    for target in (served.acting, remote):
        with pytest.raises(TreadleError) as found:
            target.run(*call)
        caught.append((type(found.value), found.value.code, str(found.value)))
    assert caught[0] == caught[1]
    assert served.executed == 0


def test_receipts_are_equal_and_replays_too(served: Served, remote: treadle.Remote) -> None:
    first = remote.run(*served.created(1))
    again = served.acting.run(*served.created(1))
    assert first == again and again.replayed and not first.replayed
    assert first.to_json() == again.to_json() | {"replayed": False}
    assert first.expect("Created")["work"]["work_id"] == UUID(int=1)
    assert first.revisions == {"work": 1} and first.ok
    assert remote.run("ShowWork", {"organization_id": SCOPE, "work_id": UUID(int=2)}).outcome == "Missing"
    with pytest.raises(KeyReused):
        remote.run(*served.created(2, key="create-1"))


FATES: list[list[Fate]] = [["lose"], ["cut"], ["refuse"], ["lose", "cut", "lose"]]


def test_whatever_is_lost_a_command_is_executed_once(served: Served) -> None:
    with proxied(served.url) as proxy, treadle.connect(proxy.url, token=served.token) as remote:
        remote.run(*served.created(1))
        for number, fates in enumerate(FATES, start=2):
            proxy.fates = list(fates)
            receipt = remote.run(*served.created(number))
            assert receipt.outcome == "Created" and not proxy.fates
            assert receipt.replayed == ("lose" in fates)
            assert served.executed == number


def test_the_doubt_of_a_call_is_ended_by_the_same_key(served: Served) -> None:
    with proxied(served.url) as proxy, treadle.connect(proxy.url, token=served.token, attempts=2) as remote:
        remote.run(*served.created(1))
        proxy.fates = ["lose", "cut"]
        with pytest.raises(OutcomeUnknown):
            remote.run(*served.created(2))
        assert remote.run(*served.created(2)).replayed
        proxy.fates = ["lose"]
        with pytest.raises(OutcomeUnknown):  # it has no key, so nothing is tried
            remote.run("ShowWork", {"organization_id": SCOPE, "work_id": UUID(int=1)})
        assert served.executed == 2


def test_a_batch_survives_lost_answers_and_tells_how_far_it_is(served: Served) -> None:
    commands = [served.created(number) for number in range(2_500)]
    commands[1_007] = ("CreateWork", {"request_key": "k"})
    told: list[tuple[int, int]] = []
    with proxied(served.url) as proxy, treadle.connect(proxy.url, token=served.token) as remote:
        remote.run(*served.created(5_000))
        proxy.fates = [
            "refuse",
            "lose",
        ]  # the interface is asked for once more, for the input that does not fit
        answers = remote.run_many(commands, progress=lambda done, all_: told.append((done, all_)))
    assert [answer.code for answer in answers if isinstance(answer, TreadleError)] == ["invalid_input"]
    receipts = [answer for answer in answers if isinstance(answer, treadle.Receipt)]
    assert len(receipts) == 2_499 and all(receipt.ok for receipt in receipts)
    assert [receipt.replayed for receipt in receipts][:2] == [True, True], (
        "the first request's answer was lost"
    )
    assert served.executed == 1 + len(receipts)
    assert told[-1] == (2_500, 2_500) and told == sorted(set(told)) and len(told) == 3
    assert [answer for answer in served.acting.run_many(commands) if answer.ok] == receipts


def test_a_batch_that_cannot_be_sent_has_an_error_for_each(served: Served) -> None:
    with treadle.connect(served.url, token="A" * 43) as stranger:
        answers = stranger.run_many([served.created(1), served.created(2)])
    assert [type(answer) for answer in answers] == [Denied, Denied]
    with treadle.connect("http://127.0.0.1:1", token=served.token, attempts=1) as nobody:
        assert [type(answer) for answer in nobody.run_many([served.created(1)])] == [Unreachable]
        assert nobody.run_many([]) == []


def test_connections_are_used_again(served: Served) -> None:
    with proxied(served.url) as proxy, treadle.connect(proxy.url, token=served.token) as remote:
        for number in range(20):
            remote.run(*served.created(number))
        assert proxy.connections == 1


def test_threads_share_a_client(served: Served, remote: treadle.Remote) -> None:
    def work(first: int) -> None:
        for number in range(first, first + 10):
            remote.run(*served.created(number))

    threads = [threading.Thread(target=work, args=(place * 10,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert served.executed == 80


def test_a_deadline_bounds_all_attempts(served: Served) -> None:
    started = time.monotonic()
    with treadle.connect("http://127.0.0.1:1", attempts=50) as nobody, pytest.raises(Unreachable):
        nobody.run("X", {}, timeout=0.4)
    assert time.monotonic() - started < 2
    with served.db._engine.store.write():  # the queue stands still
        started = time.monotonic()
        with treadle.connect(served.url, token=served.token) as remote, pytest.raises(TreadleError) as caught:
            remote.run(*served.created(1), timeout=0.5)
        assert time.monotonic() - started < 2
    assert caught.value.code in ("busy", "outcome_unknown")


def test_a_contract_that_was_deployed_meanwhile_is_read_again(served: Served, remote: treadle.Remote) -> None:
    remote.run(*served.created(1))
    changed = WORK.replace("version 1", "version 2").replace(
        "    input work_id: uuid\n    idempotency_key request_key\n",
        "    input work_id: uuid\n    input note: optional<string<20>>\n    idempotency_key request_key\n",
        1,
    )
    before = remote.contract()["identity"]
    served.db.deploy(changed)
    command, given = served.created(2)
    assert remote.run(command, given | {"note": "new"}).outcome == "Created"
    assert [type(answer) for answer in remote.run_many([served.created(3)])] == [treadle.Receipt]
    with pytest.raises(ContractMismatch):  # a caller that was made for the old one is told so
        remote.run(*served.created(4), contract=before)
    assert remote.run(*served.created(1), contract=before).replayed, "a key that was answered stays answered"
    refused = remote.run_many([served.created(5)], contract=before)
    assert [type(answer) for answer in refused] == [ContractMismatch]


def test_a_batch_over_a_new_deployment_is_encoded_again(served: Served, remote: treadle.Remote) -> None:
    remote.run(*served.created(1))
    served.db.deploy(WORK.replace("version 1", "version 2"))
    assert all(answer.ok for answer in remote.run_many([served.created(2), served.created(3)]))


def test_what_is_relied_on_is_sent_when_asked(served: Served, remote: treadle.Remote) -> None:
    history = remote.contract()["history"]
    assert remote.run(*served.created(1), history=history).history == history
    with pytest.raises(HistoryChanged):
        remote.run(*served.created(2), history="other.9")
    assert remote.run(*served.created(1), history="other.9").replayed


def test_the_log_is_read_page_by_page(served: Served, remote: treadle.Remote) -> None:
    served.acting.run_many([served.created(number) for number in range(1_200)])
    with pytest.raises(Denied):
        next(remote.log())
    token = served.db.tokens.create("auditor", role="auditor").text
    with treadle.connect(served.url, token=token) as auditor:
        entries = list(auditor.log())
        assert [entry.number for entry in entries] == list(range(1, served.db.head[0] + 1))
        embedded = next(served.db.log(6, 6))
        assert (entries[5].hash, entries[5].time, entries[5].name) == (
            embedded.hash,
            embedded.time,
            embedded.name,
        )
        assert [entry.number for entry in auditor.log(of=("WorkItem", (SCOPE, UUID(int=2))))] == [6]


BAD_URLS = ["", "nothing", "ftp://x", "http://", "http://user:pw@x", "http://x?q=1", "http://x:99999", "//x"]


@pytest.mark.parametrize("url", BAD_URLS)
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidInput, match="url"):
        treadle.connect(url)


def test_options_that_make_no_sense_are_refused_without_showing_the_token() -> None:
    with pytest.raises(InvalidInput) as caught:
        treadle.connect("http://x", token="geheim geheim")
    assert "geheim" not in str(caught.value)
    for options in (
        {"attempts": 0},
        {"timeout": 0},
        {"attempt_timeout": -1.0},
        {"instance": "ü"},
        {"token": ""},
    ):
        with pytest.raises(InvalidInput):
            treadle.connect("http://x", **options)


def test_a_closed_client_says_so(served: Served) -> None:
    remote = treadle.connect(served.url, token=served.token)
    remote.close()
    remote.close()
    with pytest.raises(Closed):
        remote.run(*served.created(1))


def test_what_is_no_treadle_server_is_told_apart() -> None:
    def page(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(404, text="<html>nothing</html>")

    client = httpx2.Client(transport=httpx2.MockTransport(page))
    with pytest.raises(Unreachable, match="no Treadle server"):
        treadle.connect("http://x", http=client).run("X", {})
    odd = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(200, json=[])))
    with pytest.raises((ContractMismatch, Malformed)):
        treadle.connect("http://x", http=odd).run("X", {})


def test_the_instance_is_recorded(served: Served) -> None:
    with treadle.connect(served.url, token=served.token, instance="host-7/4242") as remote:
        receipt = remote.run(*served.created(1))
    assert next(served.db.log(receipt.commit, receipt.commit)).instance == "host-7/4242"


def test_the_async_client_does_the_same(served: Served) -> None:
    async def work(url: str, proxy) -> None:
        async with treadle.connect_async(url, token=served.token) as remote:
            first = await remote.run(*served.created(1))
            assert first == served.acting.run(*served.created(1))
            proxy.fates = ["lose", "refuse"]
            assert (await remote.run(*served.created(2))).replayed
            receipts = await asyncio.gather(
                *(remote.run(*served.created(number)) for number in range(10, 40))
            )
            assert all(receipt.ok for receipt in receipts)
            answers = await remote.run_many([served.created(50), ("FinishWork", {})])
            assert [answer.ok for answer in answers] == [True, False]
            with pytest.raises(InvalidInput):
                await remote.run("CreateWork", {})
            with pytest.raises(Denied):
                await anext(remote.log())
            assert (await remote.contract())["name"] == "WorkItems"
            assert (await remote.interface()).contract.name == "WorkItems"
        with pytest.raises(Closed):
            await remote.run(*served.created(60))

    with proxied(served.url) as proxy:
        asyncio.run(work(proxy.url, proxy))


def test_a_server_that_starts_late_is_waited_for() -> None:
    with treadle.open(":memory:") as db:
        db.deploy(WORK, roles=[WORKER])
        token = db.tokens.create("work-service", role="worker").text
        with serving(db) as url:
            port = int(url.rpartition(":")[2])
        remote = treadle.connect(url, token=token, attempts=20)
        found: list[treadle.Receipt] = []
        given = {"organization_id": SCOPE, "work_id": SCOPE}
        thread = threading.Thread(target=lambda: found.append(remote.run("ShowWork", given)))
        thread.start()
        time.sleep(0.3)
        with serving(db, port=port):
            thread.join(20)
        remote.close()
    assert found[0].outcome == "Missing"


def test_a_role_that_is_taken_away_denies_the_next_call(served: Served, remote: treadle.Remote) -> None:
    remote.run(*served.created(1))
    served.db.deploy(WORK, roles=[Role("worker", commands=("ShowWork",))])
    with pytest.raises(Denied):
        remote.run(*served.created(2))
    served.db.deploy(WORK, roles=[Role("other")])
    with pytest.raises((Denied, UnknownName)):
        remote.run("ShowWork", {"organization_id": SCOPE, "work_id": SCOPE})
