"""`GET /v1/why/…`: what stands in a row's way, for whom."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx2

import treadle
from tests.server.conftest import fresh, item, problem, run
from tests.support.graphs import insert
from tests.support.workflows import Release

AsRole = Callable[[str], httpx2.Client]


def test_a_row_s_answer_and_what_a_worker_sees_of_it(http: httpx2.Client, as_: AsRole) -> None:
    given = item()
    run(http, "AddItem", given)
    where = f"/v1/why/Item/{given['depot']}/{given['item']}"
    body = http.get(where).json()
    assert (body["entity"], body["exists"], body["state"], body["revision"]) == ("Item", True, "Waiting", 1)
    assert body["lease"]["holder"] == "nobody" and body["recent"][0]["command"] == "AddItem"
    assert {one["command"] for one in body["commands"]} >= {"AddItem"}
    seen = as_("worker").get(where).json()
    assert {one["command"] for one in seen["commands"]} < {one["command"] for one in body["commands"]}
    assert seen["recent"][0]["principal"] == "•••" and not seen["recent"][0]["you"]


def test_a_row_that_is_not_there(http: httpx2.Client) -> None:
    body = http.get(f"/v1/why/Item/{fresh()}/{fresh()}").json()
    assert body["exists"] is False and body["reasons"][0]["code"] == "absent"


def test_an_admin_may_ask_for_it_masked(http: httpx2.Client, as_: AsRole) -> None:
    given = item()
    run(http, "AddItem", given)
    owner = fresh()
    claim = {"key": fresh(), "depot": given["depot"], "item": given["item"], "holder": owner, "seconds": 60}
    run(as_("worker"), "Claim", claim | {"expected_revision": 1})
    where = f"/v1/why/Item/{given['depot']}/{given['item']}"

    def shown(client: httpx2.Client, **asked: str) -> tuple[object, object]:
        lease = client.get(where, params=asked).json()["lease"]
        return lease["owner"], lease["token"]

    assert shown(http) == shown(http, unmasked="true") == (owner, 1)
    assert shown(http, unmasked="false") == shown(as_("worker"), unmasked="true") == ("•••", "•••")
    problem(http.get(where, params={"unmasked": "1"}), 422, "invalid_input")


def test_a_key_with_a_slash_in_it(http: httpx2.Client) -> None:
    depot = fresh()
    assert http.get(f"/v1/why/Thing/{depot}/a%2Fb%20c").json()["key"] == [depot, "a/b c"]


def test_what_is_refused(http: httpx2.Client, as_: AsRole) -> None:
    problem(http.get(f"/v1/why/Itme/{fresh()}"), 404, "unknown_name")
    problem(http.get(f"/v1/why/Item/{fresh()}"), 422, "invalid_input")
    problem(http.get(f"/v1/why/Item/{fresh()}/x"), 422, "invalid_input")
    problem(http.get(f"/v1/why/Item/{fresh()}/{fresh()}?a=1"), 422, "invalid_input")
    problem(as_("nothing").get(f"/v1/why/Item/{fresh()}/{fresh()}"), 403, "denied")
    problem(http.post(f"/v1/why/Item/{fresh()}/{fresh()}"), 405, "method_not_allowed")


def test_a_signed_run(http: httpx2.Client, as_: AsRole, database: Path) -> None:
    release = Release(prefix="http://example.org/why")
    with treadle.open(database) as db:
        db.graph.update(insert(release.setup()), principal="tests")
    body = http.get("/v1/why", params={"run": release.run.value}).json()
    assert (body["state"], body["revision"], body["enforced"]) == ("Draft", "0", False)
    assert body["legal"][0]["name"] == "submit" and body["signers"][0]["agent"] == release.agent_name
    problem(http.get("/v1/why", params={"run": "urn:none"}), 404, "unknown_name")
    problem(http.get("/v1/why", params={"run": "no iri"}), 422, "invalid_input")
    problem(http.get("/v1/why"), 422, "invalid_input")
    problem(as_("nothing").get("/v1/why", params={"run": release.run.value}), 403, "denied")
