"""Queries, the log, the contract and workflows, and deploying: what comes, for whom, in what bounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

import treadle
from tests.server.conftest import fresh, item, problem, run
from tests.server.test_commands import thing
from tests.support.server import DEPOT_QUERIES, DEPOT_SOURCE, client, depot, serving

AsRole = Callable[[str], httpx2.Client]


def ask(http: httpx2.Client, query: str, parameters: Any, **more: Any) -> httpx2.Response:
    headers = more.pop("headers", {})
    return http.post(f"/v1/queries/{query}", json={"parameters": parameters} | more, headers=headers)


# Queries.


def test_pages_follow_one_another(http: httpx2.Client, database: Path) -> None:
    where = fresh()
    added = [run(http, "AddItem", item(depot=where, title=f"T{number}")).json() for number in range(7)]
    last = added[-1]["commit"]
    titles, after = [], None
    while True:
        answer = ask(http, "WaitingItems", {"depot": where}, after=after, at_least=last)
        body = answer.json()
        assert answer.status_code == 200 and body["outcome"] == "Found" and body["commit"] >= last
        titles += [one["title"] for one in body["fields"]["items"]]
        after = body["next"]
        if after is None:
            break
    assert titles == [f"T{number}" for number in range(7)]
    with treadle.open(database) as db:
        page = db.query("WaitingItems", {"depot": where}, principal="all-service", role="all")
        first = ask(http, "WaitingItems", {"depot": where}).json()
        assert page.to_json()["fields"] == first["fields"]


def test_one_row_and_none(http: httpx2.Client) -> None:
    given = thing()
    run(http, "AddThing", given)
    body = ask(http, "OneThing", {"depot": given["depot"], "name": given["name"]}).json()
    assert body["fields"]["thing"]["amount"] == "12.500" and body["fields"]["thing"]["note"] is None
    as_text = ask(
        http,
        "OneThing",
        {"depot": given["depot"], "name": given["name"]},
        headers={"prefer": "integers=string"},
    )
    assert as_text.json()["fields"]["thing"]["big"] == "7"
    assert ask(http, "OneThing", {"depot": given["depot"], "name": "no"}).json()["outcome"] == "Missing"


@pytest.mark.parametrize(
    "body, status, code",
    [
        ({"parameters": {}}, 422, "invalid_input"),
        ({"parameters": {"depot": 7}}, 422, "invalid_input"),
        ({"parameters": {"depot": fresh(), "x": 1}}, 422, "invalid_input"),
        ({"parameters": []}, 422, "invalid_input"),
        ({"parameters": {"depot": fresh()}, "after": "nonsense"}, 422, "cursor_invalid"),
        ({"parameters": {"depot": fresh()}, "after": 7}, 422, "invalid_input"),
        ({"parameters": {"depot": fresh()}, "at_least": -1}, 422, "invalid_input"),
        ({"parameters": {"depot": fresh()}, "at_least": "x"}, 422, "invalid_input"),
        ({"parameters": {"depot": fresh()}, "history": "x.9"}, 409, "history_changed"),
        ({"parameters": {"depot": fresh()}, "where": "x"}, 422, "invalid_input"),
    ],
)
def test_a_query_that_is_refused(http: httpx2.Client, body: Any, status: int, code: str) -> None:
    problem(http.post("/v1/queries/WaitingItems", json=body), status, code)


def test_a_commit_that_does_not_come_is_waited_for_as_long_as_asked(http: httpx2.Client) -> None:
    asked = {"parameters": {"depot": fresh()}, "at_least": 10**12}
    answer = http.post("/v1/queries/WaitingItems", json=asked, headers={"prefer": "wait=1"})
    problem(answer, 503, "busy")
    assert answer.headers["retry-after"] == "1"


def test_a_query_that_nobody_deployed(http: httpx2.Client) -> None:
    problem(ask(http, "NoSuch", {}), 403, "denied")


# The log.


def test_the_log_page_by_page_and_one_row(http: httpx2.Client, as_: Callable[[str], httpx2.Client]) -> None:
    given = item(pin="1234")
    number = run(http, "AddItem", given).json()["commit"]
    assert http.get("/v1/log", params={"to": 1}).json()["records"][0]["kind"] == "deploy"
    begin = max(1, number - 30)
    found, first = [], begin
    while first is not None:
        page = http.get("/v1/log", params={"from": first, "limit": 7}).json()
        assert len(page["records"]) <= 7
        found += page["records"]
        first = page["next"]
    assert [one["number"] for one in found] == list(range(begin, number + 1))
    row = {"of": "Item", "key": [given["depot"], given["item"]]}
    mine = http.get("/v1/log", params=row).json()
    assert [one["number"] for one in mine["records"]] == [number] and mine["next"] is None
    auditor = as_("auditor")
    masked, whole = auditor.get(f"/v1/log/{number}"), http.get(f"/v1/log/{number}")
    assert "1234" not in masked.text and "1234" in whole.text  # a secret field, for an auditor and an admin
    assert auditor.get("/v1/log", params=row).json()["records"] == [masked.json()]


@pytest.mark.parametrize(
    "query, status",
    [
        ("from=0", 422), ("from=x", 422), ("from=%C2%B2", 422), ("to=-1", 422), ("limit=1e9", 422),
        ("of=Item", 422), ("key=x", 422), ("of=Item&key=x", 422), ("of=Itme&key=x", 404), ("frm=1", 422),
        ("of=Item&of=Item&key=x", 422),
        ("%", 400), ("a", 400), ("&".join(["from=1"] * 100), 400), ("from=99999999999999999999", 422),
        ("from=%ff", 400),
    ],
)  # fmt: skip
def test_a_query_of_the_log_that_is_refused(http: httpx2.Client, query: str, status: int) -> None:
    assert http.get(f"/v1/log?{query}").status_code == status


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 30, "²", "1.0", "999999999", str(2**63), "9" * 18])
def test_a_record_that_is_not_there(http: httpx2.Client, number: str) -> None:
    problem(http.get(f"/v1/log/{number}"), 404, "unknown_name")


# Workflows.


def test_a_workflow_as_json_and_as_a_diagram(
    http: httpx2.Client, as_: Callable[[str], httpx2.Client]
) -> None:
    assert http.get("/v1/workflows").json() == {"workflows": [{"name": "Life", "entity": "Item"}]}
    life = http.get("/v1/workflows/Life").json()
    assert (life["states"], life["initial"]) == (["Waiting", "Working", "Done"], "Waiting")
    assert life["transitions"][0] == {
        "name": "Begin",
        "from": ["Waiting"],
        "to": "Working",
        "commands": ["Begin"],
    }
    assert life["transitions"][1]["commands"] == []
    assert life["lease"]["commands"]["claim"] == ["Claim"] and life["lease"]["commands"]["fence"] == ["Begin"]
    assert as_("worker").get("/v1/workflows/Life").json()["lease"]["commands"]["expire"] == []
    shown = http.get("/v1/workflows/Life", headers={"accept": "text/vnd.mermaid"})
    assert shown.headers["content-type"] == "text/vnd.mermaid; charset=utf-8"
    assert shown.text.splitlines()[:2] == ["stateDiagram-v2", "  [*] --> Waiting"]
    problem(http.get("/v1/workflows/Life", headers={"accept": "text/html"}), 406, "not_acceptable")
    assert "nearest is Life" in problem(http.get("/v1/workflows/Lief"), 404, "unknown_name")["detail"]


# The contract.


@pytest.fixture
def place(folder: Path) -> Path:
    return folder / f"contract-{fresh()}.db"


def test_deploying_over_http(place: Path) -> None:
    tokens = depot(place)
    with serving(place) as running, client(running, tokens["all"]) as http:
        active = http.get("/v1/contract").json()
        assert active["source"] == DEPOT_SOURCE and active["version"] == 1

        def put(**given: Any) -> httpx2.Response:
            return http.put("/v1/contract", json={"source": DEPOT_SOURCE, "expected_version": 1} | given)

        assert put().json() == {"name": "Depot", "version": 1, "before": 1, "identity": active["identity"]}
        second = DEPOT_SOURCE.replace("version 1", "version 2")
        body = problem(put(source=second, expected_version=7), 409, "version_conflict")
        assert body["recovery"] == "refresh_contract"
        assert put(source=second).json()["version"] == 2
        assert http.get("/v1/contract").json()["queries"] == ["OneThing", "WaitingItems"]  # they stay
        assert put(source=second, expected_version=2, queries=[]).json()["version"] == 2
        assert http.get("/v1/contract").json()["queries"] == []
        third = second.replace("version 2", "version 3")
        assert put(source=third, expected_version=2, queries=[DEPOT_QUERIES]).json()["before"] == 2
        records = http.get("/v1/log?limit=1000").json()["records"]
        deployed = [one for one in records if one["kind"] == "deploy"][-1]
        assert (deployed["principal"], deployed["role"], deployed["contract_version"]) == (
            "all-service",
            "all",
            3,
        )
        roles = [{"name": "all", "commands": ["AddItem"], "operations": ["admin"]}]
        assert put(source=third, expected_version=3, roles=roles).status_code == 200
        problem(run(http, "Claim", {}), 403, "denied")


def test_what_is_wrong_with_a_contract_comes_with_its_place(place: Path) -> None:
    tokens = depot(place)
    with serving(place) as running, client(running, tokens["all"]) as http:
        wrong = DEPOT_SOURCE.replace("idempotency_key key", "idempotency_key kye", 1)
        body = problem(
            http.put("/v1/contract", json={"source": wrong, "expected_version": 1}), 422, "contract_refused"
        )
        first = body["diagnostics"][0]
        assert first["severity"] == "error" and first["span"]["start"]["line"] > 1 and first["code"]
        shrunk = DEPOT_SOURCE.replace("version 1", "version 2").replace("contract Depot", "contract Other")
        refused = http.put("/v1/contract", json={"source": shrunk, "expected_version": 1})
        problem(refused, 409, "contract_incompatible")
        query = {"source": DEPOT_SOURCE, "expected_version": 1, "queries": ["query X {"]}
        problem(http.put("/v1/contract", json=query), 422, "contract_refused")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"source": DEPOT_SOURCE},
        {"source": 7, "expected_version": 1},
        {"source": DEPOT_SOURCE, "expected_version": "1"},
        {"source": DEPOT_SOURCE, "expected_version": True},
        {"source": DEPOT_SOURCE, "expected_version": -1},
        {"source": DEPOT_SOURCE, "expected_version": 1, "queries": "x"},
        {"source": DEPOT_SOURCE, "expected_version": 1, "roles": [{"nmae": "x"}]},
        {"source": DEPOT_SOURCE, "expected_version": 1, "roles": {"name": "x"}},
        {"source": DEPOT_SOURCE, "expected_version": 1, "contract": "x"},
    ],
)
def test_a_deployment_that_is_none(http: httpx2.Client, body: Any) -> None:
    problem(http.put("/v1/contract", json=body), 422, "invalid_input")
