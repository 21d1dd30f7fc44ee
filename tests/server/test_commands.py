"""One command a request: outcomes, replays, keys, preferences, and every way to be refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

import treadle
from tests.server.conftest import fresh, item, problem, run
from tests.support.server import ANN, BOB, DEPOT, Running
from treadle.model import record

THING: dict[str, Any] = {
    "depot": str(DEPOT), "flag": True, "big": 7, "signed": -7, "at": "2030-01-02T03:04:05.000006+01:00",
    "day": "2030-01-02", "amount": "12.500", "price": "1.50", "blob": "AAEC", "colour": "Green",
    "tags": ["a", "ö"],
}  # fmt: skip


def thing(**more: Any) -> dict[str, Any]:
    return THING | {"key": fresh(), "name": fresh()[-12:], "who": fresh()} | more


def test_a_success_is_what_the_embedded_database_answers(http: httpx2.Client, database: Path) -> None:
    given = item()
    answer = run(http, "AddItem", given)
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store" and len(answer.headers["trace-id"]) == 32
    body = answer.json()
    assert (body["outcome"], body["fields"]) == ("Added", {"title": "Crate", "fence": 0})
    assert body["workflow_revisions"] == [{"binding": "item_row", "revision": 1}]
    assert body["replayed"] is False and body["commit"] > 0 and body["time"].endswith("Z")
    with treadle.open(database) as db:
        embedded = db.run("AddItem", given, principal="all-service")
        assert embedded.to_json() == body | {"replayed": True}


def test_every_declared_outcome_is_a_200_and_durable(http: httpx2.Client) -> None:
    given = item()
    run(http, "AddItem", given)
    again = run(http, "AddItem", given | {"key": fresh()})
    assert (again.status_code, again.json()["outcome"], again.json()["workflow_revisions"]) == (
        200,
        "Exists",
        [],
    )


def test_a_repeat_of_the_key_is_a_replay(http: httpx2.Client) -> None:
    given = item()
    first, second = run(http, "AddItem", given).json(), run(http, "AddItem", given).json()
    assert second == first | {"replayed": True}


def test_a_lease_from_claim_to_takeover(http: httpx2.Client) -> None:
    given = item()
    run(http, "AddItem", given)
    place = {"depot": given["depot"], "item": given["item"]}

    def claim(holder: str, revision: int, seconds: int = 60) -> dict[str, Any]:
        asked = {"key": fresh(), "holder": holder, "seconds": seconds, "expected_revision": revision} | place
        body: dict[str, Any] = run(http, "Claim", asked).json()
        return body

    won = claim(ANN, 1)
    assert (won["outcome"], won["fields"]["fence"], won["workflow_revisions"][0]["revision"]) == (
        "Claimed",
        1,
        2,
    )
    assert claim(BOB, 2)["outcome"] == "Taken" and claim(BOB, 1)["outcome"] == "Stale"
    assert claim(BOB, 2, 0)["outcome"] == "BadDuration"
    asked = {"key": fresh(), "holder": BOB, "fence": 1, "expected_revision": 2} | place
    assert run(http, "Begin", asked).json()["outcome"] == "NotHolder"


def test_all_types_come_back_in_their_wire_forms(http: httpx2.Client) -> None:
    given = thing()
    body = run(http, "AddThing", given).json()
    expected = {name: value for name, value in given.items() if name != "key"}
    assert body["fields"]["thing"] == expected | {"at": "2030-01-02T02:04:05.000006Z", "note": None}


def test_integers_as_strings_in_and_out(http: httpx2.Client) -> None:
    given = thing(big="9", signed="-9")
    answer = run(http, "AddThing", given, headers={"prefer": "integers=string"})
    shown = answer.json()["fields"]["thing"]
    assert (shown["big"], shown["signed"]) == ("9", "-9")
    assert answer.headers["preference-applied"] == "integers=string"
    assert run(http, "AddThing", given).json()["fields"]["thing"]["big"] == 9


def test_the_key_may_stand_in_the_header(http: httpx2.Client) -> None:
    given = item()
    key = given.pop("key")
    bare, quoted = (
        run(http, "AddItem", given, headers={"idempotency-key": header}).json()
        for header in (key, f'"{key}"')
    )
    assert (bare["outcome"], bare["replayed"]) == ("Added", False) and quoted["replayed"]
    assert run(http, "AddItem", given | {"key": key}, headers={"idempotency-key": key}).json()["replayed"]
    differs = run(http, "AddItem", given | {"key": "other"}, headers={"idempotency-key": key})
    problem(differs, 400, "malformed")


@pytest.mark.parametrize("header", ["", '"', '"a', '"a"b"', "x" * 129])
def test_a_key_header_that_is_none(http: httpx2.Client, header: str) -> None:
    given = item()
    del given["key"]
    problem(run(http, "AddItem", given, headers={"idempotency-key": header}), 400, "malformed")


def test_a_key_header_where_the_command_takes_none(http: httpx2.Client) -> None:
    problem(run(http, "AddThing", thing(), headers={"idempotency-key": "k"}), 422, "invalid_input")
    place = {"depot": str(DEPOT), "item": fresh()}
    problem(run(http, "ShowItem", place, headers={"idempotency-key": "k"}), 422, "invalid_input")
    problem(run(http, "NoSuch", place, headers={"idempotency-key": "k"}), 403, "denied")


def test_a_key_with_another_input_reveals_nothing(http: httpx2.Client) -> None:
    given = item()
    run(http, "AddItem", given)
    body = problem(run(http, "AddItem", given | {"title": "Barrel"}), 422, "idempotency_key_reused")
    assert "Crate" not in str(body) and given["key"] not in str(body)


def test_terminal_failures_are_409_recorded_and_repeated(http: httpx2.Client) -> None:
    given = thing(big=1000)
    first = problem(run(http, "AddThing", given), 409, "invariant_violated")
    assert (first["constraint"], first["recovery"]) == ("Small", "correct_request")
    again = problem(run(http, "AddThing", given), 409, "invariant_violated")
    assert (again["commit"], again["replayed"]) == (first["commit"], True)
    taken = thing()
    run(http, "AddThing", taken)
    assert (
        problem(run(http, "AddThing", thing(who=taken["who"])), 409, "unique_conflict")["constraint"]
        == "whose"
    )


@pytest.mark.parametrize(
    "change, path",
    [
        ({"big": -1}, "input.big"),
        ({"big": True}, "input.big"),
        ({"big": 1.5}, "input.big"),
        ({"big": 2**64}, "input.big"),
        ({"at": "2030-01-02T03:04:05"}, "input.at"),
        ({"day": "2030-02-30"}, "input.day"),
        ({"who": "x"}, "input.who"),
        ({"amount": 12.5}, "input.amount"),
        ({"amount": "1.2345"}, "input.amount"),
        ({"blob": "AAE"}, "input.blob"),
        ({"colour": "Pink"}, "input.colour"),
        ({"tags": ["a"] * 5}, "input.tags"),
        ({"tags": ["a", 7]}, "input.tags[1]"),
        ({"name": "a\0b"}, "input.name"),
        ({"name": "ü" * 21}, "input.name"),
        ({"size": 1}, "input.size"),
        ({"flag": None}, "input.flag"),
    ],
)
def test_a_value_of_another_type_is_422_with_its_path(
    http: httpx2.Client, change: dict[str, Any], path: str
) -> None:
    body = problem(run(http, "AddThing", thing(**change)), 422, "invalid_input")
    assert body["path"] == path and body["recovery"] == "correct_request"


def test_history_and_contract_that_the_caller_relies_on(http: httpx2.Client) -> None:
    deployed = http.get("/v1/contract").json()
    given = item()
    good = run(http, "AddItem", given, history=deployed["history"], contract=deployed["identity"])
    assert good.json()["outcome"] == "Added"
    for stale in ({"history": "x.1"}, {"contract": "00" * 32}):
        assert run(http, "AddItem", given, **stale).json()["replayed"]  # what was answered is answered again
    problem(run(http, "AddItem", item(), history="x.1"), 409, "history_changed")
    body = problem(run(http, "AddItem", item(), contract="00" * 32), 409, "contract_mismatch")
    assert body["recovery"] == "refresh_contract"
    problem(run(http, "AddItem", item(size=1), contract="00" * 32), 409, "contract_mismatch")


@pytest.mark.parametrize(
    "body, status, code",
    [
        ({}, 422, "invalid_input"),
        ({"input": []}, 422, "invalid_input"),
        ({"input": {}, "inputs": {}}, 422, "invalid_input"),
        ({"input": {}, "command": "AddItem"}, 422, "invalid_input"),
        ({"input": {}, "history": 1}, 422, "invalid_input"),
        ([], 400, "malformed"),
        ("x", 400, "malformed"),
    ],
)
def test_a_body_that_is_no_request(http: httpx2.Client, body: Any, status: int, code: str) -> None:
    problem(http.post("/v1/commands/AddItem", json=body), status, code)


def test_an_empty_key_is_malformed(http: httpx2.Client) -> None:
    problem(run(http, "AddItem", item(key="")), 400, "malformed")


def test_waiting_is_bounded_and_asked_for(http: httpx2.Client) -> None:
    assert run(http, "AddItem", item(), headers={"prefer": "wait=5"}).status_code == 200
    problem(run(http, "AddItem", item(), headers={"prefer": "wait=soon"}), 400, "malformed")
    given = item()
    late = run(http, "AddItem", given, headers={"prefer": "wait=0"})
    assert late.status_code in (200, 503, 504)
    if late.status_code == 504:
        assert problem(late, 504, "outcome_unknown")["recovery"] == "repeat_same_key"
    assert run(http, "AddItem", given).json()["outcome"] == "Added"


def test_read_only_commands_are_not_journaled(http: httpx2.Client) -> None:
    given = item()
    place = {"depot": given["depot"], "item": given["item"]}
    assert run(http, "ShowItem", place).json()["outcome"] == "Missing"
    run(http, "AddItem", given)
    body = run(http, "ShowItem", place).json()
    assert body["fields"] == {"title": "Crate", "stage": "Waiting", "fence": 0}
    assert run(http, "ShowItem", place).json()["commit"] == body["commit"]


def test_many_at_once_get_their_own_answers(server: Running, tokens: dict[str, str]) -> None:
    async def all_() -> list[dict[str, Any]]:
        headers = {"authorization": f"Bearer {tokens['all']}"}
        async with httpx2.AsyncClient(base_url=server.address, headers=headers, trust_env=False) as http:
            given = [item(title=f"Crate {number}") for number in range(64)]
            answers = await asyncio.gather(
                *(http.post("/v1/commands/AddItem", json={"input": one}) for one in given)
            )
            return [answer.json() for answer in answers]

    found = asyncio.run(all_())
    assert [body["fields"]["title"] for body in found] == [f"Crate {number}" for number in range(64)]
    assert len({body["commit"] for body in found}) == 64


def test_the_trace_of_the_caller_is_kept_and_stands_in_the_log(http: httpx2.Client, database: Path) -> None:
    trace = UUID(int=0xABC).hex
    answer = run(http, "AddItem", item(), headers={"traceparent": f"00-{trace}-00000000000000ab-01"})
    assert answer.headers["trace-id"] == trace
    with treadle.open(database) as db, db._engine.store.read() as tx:
        number = answer.json()["commit"]
        assert record.decode(next(iter(tx.log(number, number))).data).request == bytes.fromhex(trace)
