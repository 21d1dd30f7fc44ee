"""Who may do what over HTTP: tokens, roles, tenants; and who may call the server at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

import treadle
from tests.server.conftest import fresh, item, problem, run
from tests.support.server import OTHER_DEPOT, Raw, Running, client, depot, head, serving
from treadle.access.roles import Role


def put(http: httpx2.Client) -> httpx2.Response:
    return http.put("/v1/contract", json={"source": "", "expected_version": 1})


@pytest.mark.parametrize("path", ["/v1/contract", "/v1/log", "/v1/workflows", "/openapi.json"])
def test_without_a_token_nothing_is_shown(server: Running, path: str) -> None:
    with client(server) as http:
        answer = http.get(path)
        problem(answer, 401, "unauthenticated")
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Basic dXNlcjpwYXNz", "Bearer " + "A" * 43, "Bearer short", "Bearer x y",
     "Bearer " + "A" * 30_000, "bearer\tx"],
)  # fmt: skip
def test_what_is_no_token_is_401_and_never_repeated(server: Running, header: str) -> None:
    with client(server) as http:
        answer = http.get("/v1/contract", headers={"authorization": header})
        problem(answer, 401, "unauthenticated")
        assert "AAAA" not in answer.text and "dXNl" not in answer.text


@pytest.mark.parametrize("token", ["é" * 43, "\xff\xfe", "tök" * 10])
def test_a_token_beyond_ascii_is_401(server: Running, token: str) -> None:
    with Raw(server.port) as raw:
        raw.send(head("/v1/contract", None, "connection: close", method="GET")[:-2])
        raw.send(b"authorization: Bearer " + token.encode("latin-1") + b"\r\n\r\n")
        assert raw.status() == 401


def test_the_scheme_is_written_as_one_likes(server: Running, tokens: dict[str, str]) -> None:
    with client(server) as http:
        assert (
            http.get("/v1/contract", headers={"authorization": f"bEARER  {tokens['all']}"}).status_code == 200
        )


def test_a_role_allows_its_commands_and_hides_all_others(as_: Callable[[str], httpx2.Client]) -> None:
    worker = as_("worker")
    place = {"depot": fresh(), "item": fresh()}
    assert run(worker, "ShowItem", place).json()["outcome"] == "Missing"
    real = problem(run(worker, "AddItem", item()), 403, "denied")
    unreal = problem(run(worker, "AddItme", item()), 403, "denied")
    wrong = problem(run(worker, "AddItem", {}), 403, "denied")  # not even its inputs are told
    assert real["detail"] == wrong["detail"] == unreal["detail"].replace("AddItme", "AddItem")
    assert worker.get("/v1/contract").json()["commands"] == ["ShowItem", "Claim", "Begin"]
    assert worker.get("/v1/contract").json()["queries"] == []
    assert "source" not in worker.get("/v1/contract").json()


def test_the_document_shows_what_the_caller_may_use(as_: Callable[[str], httpx2.Client]) -> None:
    paths = set(as_("worker").get("/openapi.json").json()["paths"])
    assert "/v1/commands/Claim" in paths and "/v1/commands/AddItem" not in paths
    assert "/v1/queries/WaitingItems" not in paths
    assert "put" not in as_("worker").get("/openapi.json").json()["paths"]["/v1/contract"]
    assert "put" in as_("all").get("/openapi.json").json()["paths"]["/v1/contract"]


def test_a_role_that_allows_nothing(as_: Callable[[str], httpx2.Client], http: httpx2.Client) -> None:
    nothing = as_("nothing")
    before = http.get("/v1/log?limit=1000").json()["records"][-1]["number"]
    problem(run(nothing, "AddItem", item()), 403, "denied")
    problem(nothing.post("/v1/queries/WaitingItems", json={"parameters": {"depot": fresh()}}), 403, "denied")
    problem(nothing.get("/v1/log"), 403, "denied")
    problem(nothing.get("/v1/log/1"), 403, "denied")
    problem(put(nothing), 403, "denied")
    assert http.get("/v1/log?limit=1000").json()["records"][-1]["number"] == before


def test_deploying_needs_admin_before_a_text_is_read(as_: Callable[[str], httpx2.Client]) -> None:
    for role in ("worker", "tenant", "auditor"):
        problem(put(as_(role)), 403, "denied")
    problem(put(as_("all")), 422, "contract_refused")


def test_a_tenant_is_held_to_its_partition_everywhere(as_: Callable[[str], httpx2.Client]) -> None:
    tenant = as_("tenant")
    assert run(tenant, "AddItem", item()).json()["outcome"] == "Added"
    elsewhere = item(depot=str(OTHER_DEPOT))
    assert "one tenant" in problem(run(tenant, "AddItem", elsewhere), 403, "denied")["detail"]
    assert "one tenant" in problem(tenant.get("/v1/log"), 403, "denied")["detail"]
    assert "one tenant" in problem(tenant.get("/v1/log/1"), 403, "denied")["detail"]
    other = tenant.post("/v1/queries/WaitingItems", json={"parameters": {"depot": str(OTHER_DEPOT)}})
    assert other.status_code == 403 or other.json()["fields"].get("items", []) == []


@pytest.fixture
def place(folder: Path) -> Path:
    made = folder / f"access-{fresh()}.db"
    return made


def test_a_token_ends_at_once_for_reads_and_writes(place: Path) -> None:
    tokens = depot(place)
    with serving(place) as running, client(running, tokens["all"]) as http, treadle.open(place) as db:
        assert http.get("/v1/contract").status_code == run(http, "AddItem", item()).status_code == 200
        mine = next(one for one in db.tokens.list() if one.role == "all")
        given = item()
        assert run(http, "AddItem", given).status_code == 200
        db.tokens.revoke(mine.id)
        problem(http.get("/v1/contract"), 401, "unauthenticated")
        problem(run(http, "AddItem", given), 401, "unauthenticated")  # not even the replay
        problem(run(http, "AddItem", item()), 401, "unauthenticated")
        query = {"parameters": {"depot": given["depot"]}}
        problem(http.post("/v1/queries/WaitingItems", json=query), 401, "unauthenticated")
        lines = http.post("/v1/commands", content=b"{}\n", headers={"content-type": "application/jsonl"})
        assert lines.status_code == 401


def test_a_token_that_is_revoked_in_the_middle_of_a_stream(place: Path) -> None:
    tokens = depot(place)
    with serving(place) as running, treadle.open(place) as db:
        mine = next(one for one in db.tokens.list() if one.role == "all")
        with Raw(running.port) as raw:
            raw.send(
                head(
                    "/v1/commands",
                    tokens["all"],
                    "content-type: application/jsonl",
                    "transfer-encoding: chunked",
                )
            )
            seen = b""
            for number in range(2):
                sent = json.dumps({"command": "AddItem", "input": item()}).encode() + b"\n"
                raw.send(b"%x\r\n%b\r\n" % (len(sent), sent))
                while seen.count(b'"outcome"') + seen.count(b'"detail"') <= number:
                    seen += raw.socket.recv(65_536)
                if not number:
                    db.tokens.revoke(mine.id)
            assert seen.count(b'"outcome":"Added"') == 1 and b'"code":"unauthenticated"' in seen


def test_rotation_while_requests_go_on(place: Path) -> None:
    tokens = depot(place)
    with serving(place) as running, treadle.open(place) as db:
        mine = next(one for one in db.tokens.list() if one.role == "all")
        new = db.tokens.rotate(mine.id, overlap=timedelta(seconds=2))
        with client(running, tokens["all"]) as old, client(running, new.text) as http:
            given = item()
            assert run(old, "AddItem", given).json()["replayed"] is False
            assert run(http, "AddItem", given).json()["replayed"] is True
            time.sleep(2.1)
            problem(run(old, "AddItem", item()), 401, "unauthenticated")
            assert run(http, "AddItem", item()).status_code == 200


def test_a_role_that_is_changed_counts_at_once(place: Path) -> None:
    tokens = depot(place)
    with serving(place) as running, client(running, tokens["worker"]) as http, treadle.open(place) as db:
        where = {"depot": fresh(), "item": fresh()}
        assert run(http, "ShowItem", where).status_code == 200
        source = (Path(__file__).parents[1] / "support/depot.riff").read_text(encoding="utf-8")
        db.deploy(source, roles=[Role("worker", commands=("Claim",))])
        problem(run(http, "ShowItem", where), 403, "denied")
        db.deploy(source, roles=[])
        problem(run(http, "Claim", where), 403, "denied")


def test_beyond_loopback_a_server_needs_a_token(place: Path) -> None:
    with treadle.open(place) as db:
        db.deploy(DEPOT_LITTLE)
    for words, message in (
        ((), "there is no token"),
        (("--insecure-loopback",), "callers without a token"),
    ):
        running = Running("serve", "--bind", "0.0.0.0:0", "-d", str(place), *words)
        try:
            assert running.process.wait(30) == 2
        finally:
            running.stop()
        assert any(message in line and "server.bind" in line for line in running.lines), running.lines


DEPOT_LITTLE = """contract Little version 1 {
  entity Thing { key (id: uuid) field n: u64 }
  aggregate Things { root Thing partition_by id conflict_key (id) }
  command Add { input key: string<64> input id: uuid idempotency_key key
    create Thing(id) as thing else Exists {} set thing.n = 1 return Added {} }
}"""


def test_on_loopback_the_owner_may_be_let_in_without_a_token(place: Path) -> None:
    with treadle.open(place) as db:
        db.deploy(DEPOT_LITTLE)
    with serving(place) as running, client(running) as http:
        assert any("token create" in line for line in running.lines)
        problem(run(http, "Add", {"key": "k", "id": fresh()}), 401, "unauthenticated")
    with serving(place, "--insecure-loopback") as running, client(running) as http:
        assert run(http, "Add", {"key": "k", "id": fresh()}).json()["outcome"] == "Added"
        assert http.get("/v1/log").json()["records"][-1]["principal"] == "owner"
        with client(running, "A" * 43) as wrong:
            problem(wrong.get("/v1/contract"), 401, "unauthenticated")


# Who may call at all.


@pytest.mark.parametrize(
    "host, status",
    [
        ("localhost", 200), ("LOCALHOST:80", 200), ("127.0.0.1:7480", 200), ("[::1]:1", 200),
        ("evil.example", 403), ("localhost.evil.example", 403), ("127.0.0.1.evil.example", 403), ("", 403),
        ("localhost:x", 403), ("evil@localhost", 403), ("localhost/evil", 403), ("localhost, evil", 403),
        ("169.254.169.254", 403), ("0.0.0.0", 403), ("[::1", 403), ("löcalhost", 403),
    ],
)  # fmt: skip
def test_on_loopback_a_server_answers_to_its_own_names(
    server: Running, tokens: dict[str, str], host: str, status: int
) -> None:
    with Raw(server.port) as raw:
        wanted = head("/v1/contract", tokens["all"], "connection: close", method="GET", host="HOST")
        raw.send(wanted.replace(b"HOST", host.encode("latin-1")))
        assert raw.status() == status


def test_a_request_with_no_host_or_two(server: Running, tokens: dict[str, str]) -> None:
    for more, wanted in ((b"", 400), (b"host: localhost\r\nhost: localhost\r\n", 400)):
        with Raw(server.port) as raw:
            raw.send(b"GET /health HTTP/1.1\r\n" + more + b"connection: close\r\n\r\n")
            assert raw.status() == wanted


@pytest.mark.parametrize(
    "origin, status",
    [
        ("SELF", 200), ("http://evil.example", 403), ("null", 403), ("http://localhost", 403), ("", 403),
        ("https://evil.example:443", 403), ("file://", 403),
    ],
)  # fmt: skip
def test_pages_of_other_origins_may_not_call(
    server: Running, tokens: dict[str, str], origin: str, status: int
) -> None:
    with client(server, tokens["all"]) as http:
        wanted = f"http://127.0.0.1:{server.port}" if origin == "SELF" else origin
        assert http.get("/v1/contract", headers={"origin": wanted}).status_code == status


def test_an_origin_that_is_listed_may_call(place: Path) -> None:
    tokens = depot(place)
    page = "https://ops.example.org"
    words = ("--set", f"server.origins={page}", "--set", "server.hosts=proxy.example.org")
    with serving(place, *words) as running, client(running, tokens["all"]) as http:
        asked = {"origin": page, "access-control-request-method": "POST"}
        preflight = http.options("/v1/commands/AddItem", headers=asked)
        assert preflight.status_code == 204 and preflight.headers["access-control-allow-origin"] == page
        assert "authorization" in preflight.headers["access-control-allow-headers"]
        answer = run(http, "AddItem", item(), headers={"origin": page})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, page)
        refused = http.options("/v1/commands/AddItem", headers=asked | {"origin": "https://evil.example"})
        assert refused.status_code == 403 and "access-control-allow-origin" not in refused.headers
        assert http.get("/health", headers={"host": "proxy.example.org"}).status_code == 200


def test_the_instance_is_recorded_and_not_compared(http: httpx2.Client) -> None:
    given = item()
    first = run(http, "AddItem", given, headers={"treadle-instance": "host-7/4242"}).json()
    assert run(http, "AddItem", given, headers={"treadle-instance": "host-8/1"}).json()["replayed"]
    entry = http.get(f"/v1/log/{first['commit']}").json()
    assert (entry["principal"], entry["role"], entry["instance"]) == ("all-service", "all", "host-7/4242")
    problem(run(http, "AddItem", item(), headers={"treadle-instance": "x" * 129}), 400, "malformed")


def test_tokens_made_while_it_runs_work_at_once(place: Path) -> None:
    depot(place)
    with serving(place) as running, treadle.open(place) as db:
        found: list[int] = []

        def one(number: int) -> None:
            granted = db.tokens.create(f"service-{number}", role="all")
            with client(running, granted.text) as http:
                found.append(run(http, "AddItem", item()).status_code)

        threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [200] * 6
