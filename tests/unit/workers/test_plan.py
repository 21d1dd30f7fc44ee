"""What a worker's commands need is read off the contract; what does not fit is said when it starts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.engines import open_on
from tests.support.jobs import (
    EVENTS,
    FULL,
    OPEN,
    QUERIES,
    SHOP,
    SOURCE,
    TURN,
    WORKER_ROLE,
    deploy,
    queue,
    service,
)
from treadle.database import Database
from treadle.errors import ConfigError, Denied, InvalidInput, TreadleError, UnknownName
from treadle.store.memory import MemoryStore
from treadle.workers import Cap, Worker
from treadle.workers.client import Embedded
from treadle.workers.plan import Worth, fit
from treadle.workers.steps import leased_by, step


def worker(**options: Any) -> Worker:
    return Worker(lambda row, turn: None, **{"name": "w", **FULL, **options})


def refusal(db: Database, **options: Any) -> TreadleError:
    with pytest.raises(TreadleError) as caught:
        worker(**options).check(service(db))
    return caught.value


def test_what_is_read_off_the_contract(db) -> None:
    contract = Embedded(service(db)).contract()
    leased = leased_by(contract, "Claim")
    assert (leased.entity.name, leased.lease.name, leased.key) == ("Job", "work", ("shop", "number"))
    finish = step(contract, "Finish", leased, ("fence",))
    assert finish.evidence == {
        "key": "key",
        "worker": "owner",
        "token": "token",
        "expected_revision": "revision",
    }
    assert finish.key_fields == {"shop": "shop", "number": "number"}
    assert [field.name for field in finish.others] == ["result"]
    assert finish.lost == {"Stale", "NotHolder", "Lapsed", "JobMissing"} and not finish.releases
    claim = step(contract, "Claim", leased, ("claim",))
    assert claim.taken == {"Taken"} and claim.misfit == {"BadDuration"} and claim.stale == {"Stale"}
    assert step(contract, "Complete", leased, ("release",)).releases


def test_commands_that_are_found_by_themselves(db) -> None:
    client = Embedded(service(db))
    contract = client.contract()
    leased = leased_by(contract, "Claim")
    types = {field.name: field.type for field in leased.entity.members}
    names = worker(start=None, dead_letter=None).settings.names
    plan = fit(contract, leased, names, Worth(types, {}, client.fresh_id(), 60, {"Renew", "Release"}))
    assert plan.renew is not None and plan.renew.name == "Renew"
    assert plan.release is not None and plan.release.name == "Release"
    assert plan.token.of({"job": {"token": 7}}) == 7


@pytest.mark.parametrize(
    "options, words",
    [
        ({"claim": "Calim"}, "did you mean Claim|Claim"),
        ({"claim": "Finish"}, "claims no lease"),
        ({"finish": "Queue"}, "no `lease"),
        ({"finish": "Claim"}, "no `lease fence or renew"),
        ({"release": "Finish"}, "no `lease release"),
        ({"renew": "Release"}, "no `lease renew"),
        ({"start": "Postpone"}, "needs error"),
        ({"dead_letter": "Repeat"}, "needs next_at"),
        ({"lease": 901}, "5 to 900"),
        ({"inputs": {"result": 7}, "finish": "Complete"}, "result"),
        ({"query": "LiveJobs"}, "exactly one list"),
        ({"query": "ShowJob", "parameters": {}}, "exactly one list"),
        ({"due": "when"}, "gives no when"),
        ({"closed": ["Shut"]}, "no outcome Shut"),
        ({"caps": [Cap(1, "OpenJobs")]}, "one u64"),
    ],
)
def test_what_does_not_fit(db, options, words) -> None:
    if "lease" in options:
        with pytest.raises(ConfigError, match=words):
            worker(**options)
        return
    error = refusal(db, **options)
    assert isinstance(error, ConfigError | UnknownName), error
    assert re.search(words, error.message), error.message


def with_contract(change: Any, queries: str = QUERIES) -> Database:
    made = open_on(MemoryStore())
    source = change(SOURCE)
    assert source != SOURCE
    made.deploy(source, queries=queries)
    return made


def test_a_claim_must_answer_with_the_token() -> None:
    made = with_contract(lambda text: text.replace("return Claimed { job: job }", "return Claimed {}"))
    assert "return Claimed { job: job }" in refusal(made).message
    other = with_contract(
        lambda text: text.replace("return Claimed { job: job }", "return Claimed { fence: job.token }")
    )
    worker().check(service(other))


def test_a_lease_that_is_too_long_for_a_worker() -> None:
    bounds = "duration_seconds (5, 900)"
    made = with_contract(lambda text: text.replace(bounds, "duration_seconds (1000, 2000)"))
    assert "1000 to 2000" in refusal(made).message
    narrow = with_contract(lambda text: text.replace(bounds, "duration_seconds (5, 30)"))
    assert "5 to 30" in refusal(narrow).message
    worker(lease=30).check(service(narrow))


def test_a_contract_without_a_release_needs_a_finish_that_releases() -> None:
    begin, end = SOURCE.index("  command Release {"), SOURCE.index("  command Start {")
    made = with_contract(lambda text: text[:begin] + text[end:])
    assert "release='…'" in refusal(made).message
    worker(finish="Complete", inputs={"result": "x"}).check(service(made))


def test_two_commands_that_do_the_same_have_to_be_told_apart() -> None:
    begin, end = SOURCE.index("  command Renew {"), SOURCE.index("  command Release {")
    second = SOURCE[begin:end].replace("command Renew", "command Prolong")
    made = with_contract(lambda text: text[:end] + second + text[end:])
    assert "renew='Renew'" in refusal(made).message
    worker(renew="Prolong").check(service(made))


def test_a_query_must_give_what_a_worker_needs(db) -> None:
    bad = QUERIES.replace("{ shop number title priority due_at held_until tries revision }", "{ title }")
    made = with_contract(lambda text: text.replace("Jobs of shops", "Jobs of some shops"), bad)
    assert "shop and number and revision" in refusal(made).message
    inputs = "input worker: uuid input seconds: u64 input expected_revision: u64"
    typed = SOURCE.replace(inputs, f"{inputs} input title: u64", 1)
    other = with_contract(lambda text: typed)
    assert "needs title as u64, and the row has it as string<80>" in refusal(other).message
    worker(inputs={"title": 7}).check(service(other))


@pytest.mark.parametrize(
    "options, words",
    [
        ({"event": "JobQueud"}, "JobQueued"),
        ({"due": "when"}, "no when"),
        ({"lookup": "OpenJobs"}, "one row"),
        ({"lookup": "LiveJobs"}, "one row"),
    ],
)
def test_an_event_must_name_a_row(db, options, words) -> None:
    with pytest.raises(ConfigError, match=words):
        Worker(lambda row, turn: None, **{"name": "w", **EVENTS, **options}).check(service(db))


def test_an_event_without_the_key() -> None:
    made = with_contract(
        lambda text: text.replace(
            "    number: u64\n    due_at: timestamp\n  }", "    due_at: timestamp\n  }"
        ).replace("{ shop: shop, number: number, due_at: due_at }", "{ shop: shop, due_at: due_at }")
    )
    with pytest.raises(ConfigError, match="must have number"):
        Worker(lambda row, turn: None, name="w", **EVENTS).check(service(made))


def test_a_worker_in_a_role_needs_a_look_up(db) -> None:
    deploy(db, [WORKER_ROLE])
    queue(db, [0])
    with pytest.raises(InvalidInput, match="lookup"):
        Worker(lambda row, turn: None, name="w", **EVENTS).run(service(db, "worker"), until_idle=True)


def test_a_database_is_no_principal(db) -> None:
    with pytest.raises(InvalidInput, match="acting_as"):
        worker().run(db)


def test_a_role_without_the_query(db) -> None:
    deploy(db, [WORKER_ROLE])
    with pytest.raises(Denied):
        worker(query="WaitingJobs").check(service(db, "worker"))


@pytest.mark.parametrize(
    "options",
    [
        {"claim": ""},
        {"finish": None},
        {"query": None, "event": None},
        {"event": "JobQueued"},
        {"query": "OpenJobs", "consumer": "x"},
        {"query": "OpenJobs", "lookup": "ShowJob"},
        {"query": None, "event": "JobQueued", "parameters": {"shop": SHOP}},
        {"concurrency": 9},
        {"concurrency": 0},
        {"concurrency": True},
        {"attempts": 11},
        {"backoff": -1},
        {"backoff": 3601},
        {"poll": 31},
        {"lease": 4},
        {"lease": "60"},
    ],
)
def test_options_that_contradict_themselves(options) -> None:
    with pytest.raises(ConfigError):
        worker(**options)


def test_a_worker_needs_a_name_that_stays() -> None:
    with pytest.raises(ConfigError, match="name"):
        Worker(lambda row, turn: None, **OPEN, **TURN)
    with pytest.raises(ConfigError):
        Cap(0, "LiveJobs")
