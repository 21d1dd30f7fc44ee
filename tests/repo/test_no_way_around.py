"""No way around: whatever can change a database passes access and leaves its record in the log.

Three walls, each of which fails when something new is not on its list. A store's write transaction is opened
in one place, by the engine, for jobs. Every job enters a batch by one of a few gates, and each gate is shown
to look at the token and the role inside the batch. And every route, verb and method of the handle is listed
as reading or writing; those that write are tried without a token, in a role that allows nothing, and in one
that allows it, with the log's head compared.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

import treadle
from tests.repo.sources import python
from tests.support.graphs import insert
from tests.support.server import DEPOT, DEPOT_QUERIES, DEPOT_SOURCE, ROLES
from tests.support.workflows import Release
from treadle.access.caller import Caller
from treadle.access.roles import Role
from treadle.asynchronous import AsyncActing, AsyncDatabase, AsyncGraph, AsyncTokens
from treadle.cli import main
from treadle.cli.verbs import VERBS
from treadle.database import Acting, Database
from treadle.engine import grants
from treadle.engine.acts import ActJob, ConfirmClock
from treadle.engine.command import CommandJob
from treadle.engine.deployment import DeployJob
from treadle.engine.grants import Tokens
from treadle.engine.job import Job
from treadle.engine.reimport import ReimportJob
from treadle.engine.request import Request
from treadle.graph.live.bringing import BringHistory
from treadle.graph.live.jobs import GraphJob
from treadle.graph.live.surface import Graph
from treadle.server.app import create_app, endpoints
from treadle.server.endpoint import OPEN, Endpoint
from treadle.server.options import Options
from treadle.streams.jobs import StreamJob

WRITERS = {"src/treadle/engine/core.py"}
"""Where a store's write transaction is opened; stores themselves and the wrapper for tests apart."""


def opens_a_write(node: ast.AST) -> bool:
    """`with x.write(…) as y`: the only form in which a write transaction is opened."""
    return isinstance(node, ast.With | ast.AsyncWith) and any(
        isinstance(item.context_expr, ast.Call)
        and isinstance(item.context_expr.func, ast.Attribute)
        and item.context_expr.func.attr == "write"
        for item in node.items
    )


def test_only_the_engine_opens_a_write_transaction() -> None:
    found = {
        source.path
        for source in python("src/treadle/")
        if not source.path.startswith(("src/treadle/store/", "src/treadle/testing/"))
        for node in ast.walk(source.tree)
        if opens_a_write(node)
    }
    assert found == WRITERS


# Jobs.


@pytest.fixture
def db() -> Iterator[Database]:
    with treadle.open(":memory:") as opened:
        opened.deploy(DEPOT_SOURCE, queries=DEPOT_QUERIES, roles=ROLES)
        yield opened


def caller_of(db: Database, role: str, tenant: str = "") -> tuple[Caller, str]:
    """A caller with a new token, and the token's id."""
    granted = db.tokens.create(f"{role}-service", role=role, tenant=tenant)
    with db._engine.store.read() as tx:
        return grants.authenticate(tx, db._engine.refresh(), granted.text, "test"), granted.token.id


def item(number: int) -> dict[str, Any]:
    given = {"depot": str(DEPOT), "item": str(UUID(int=number)), "title": "Crate"}
    return {"key": f"key-{number}"} | given


def command(db: Database, caller: Caller) -> Callable[[], Any]:
    job = db._engine.command_job(Request("AddItem", item(1), caller))
    return lambda: db._one(job, None)


def deploy(db: Database, caller: Caller) -> Callable[[], Any]:
    proposal = db._proposal(DEPOT_SOURCE.replace("version 1", "version 2"), 1, None, None, caller)
    return lambda: db._one(DeployJob(proposal), None)


def act(db: Database, caller: Caller) -> Callable[[], Any]:
    return lambda: db._one(ConfirmClock(caller), None)


def stream(db: Database, caller: Caller) -> Callable[[], Any]:
    return lambda: Acting(db, caller).consumer("ItemAdded", "watcher").pull(wait=0)


def graph(db: Database, caller: Caller) -> Callable[[], Any]:
    surface = Graph(db.graph_core(), caller)
    return lambda: surface.update("INSERT DATA { <urn:a> <urn:b> <urn:c> }")


def reimport(db: Database, caller: Caller) -> Callable[[], Any]:
    nothing: Any = None  # refused before the chunk is looked at
    return lambda: db._one(ReimportJob(caller, nothing, 0), None)


def history(db: Database, caller: Caller) -> Callable[[], Any]:
    live = db.graph_core().live
    nothing: Any = None  # refused before what is brought is looked at
    return lambda: db._one(BringHistory(caller, live, nothing), None)


GATES: dict[type[Job], Callable[[Database, Caller], Callable[[], Any]]] = {
    CommandJob: command,
    DeployJob: deploy,
    ActJob: act,
    StreamJob: stream,
    GraphJob: graph,
    ReimportJob: reimport,
    BringHistory: history,
}
"""The classes by whose `step` a job enters a batch, and an attempt for each."""


def subclasses(kind: type[Job]) -> Iterator[type[Job]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def jobs() -> list[type[Job]]:
    """Every kind of job of the package."""
    for found in pkgutil.walk_packages(treadle.__path__, "treadle."):
        if not found.name.endswith("__main__") and ".scaffold.project" not in found.name:
            importlib.import_module(found.name)
    return [kind for kind in subclasses(Job) if kind.__module__.startswith("treadle.")]


def test_every_job_enters_by_one_of_the_gates() -> None:
    around = [
        f"{kind.__module__}.{kind.__name__} overrides {name}"
        for kind in jobs()
        for name in ("step", "announce", "_step")
        if kind not in GATES and name in vars(kind)
    ]
    assert not around, "a job must not override its gate; a new gate goes into GATES, with an attempt"
    gated = [kind for kind in jobs() if not issubclass(kind, tuple(GATES))]
    assert not gated, "a new kind of job needs a gate in GATES, with an attempt that shows what it checks"


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.__name__)
def test_a_gate_looks_at_the_token_in_the_batch(gate: type[Job], db: Database) -> None:
    caller, token = caller_of(db, "all")
    attempt = GATES[gate](db, caller)  # prepared while the token was valid
    db.tokens.revoke(token)
    before = db.head
    with pytest.raises(treadle.Denied) as error:
        attempt()
    assert error.value.code == "unauthenticated" and db.head == before


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.__name__)
def test_a_gate_looks_at_the_role_in_the_batch(gate: type[Job], db: Database) -> None:
    caller, _ = caller_of(db, "all")
    attempt = GATES[gate](db, caller)  # prepared while the role allowed it
    db.deploy(DEPOT_SOURCE, roles=[Role("all")])
    before = db.head
    with pytest.raises(treadle.Denied) as error:
        attempt()
    assert error.value.code == "denied" and db.head == before


RECORDED = (CommandJob, DeployJob, ActJob, GraphJob)
"""A pull is bookkeeping of its consumer and no record; what the others bring is made by their own tests."""


@pytest.mark.parametrize("gate", RECORDED, ids=lambda gate: gate.__name__)
def test_what_passes_a_gate_is_in_the_log_under_its_principal(gate: type[Job], db: Database) -> None:
    caller, _ = caller_of(db, "all")
    before = db.head[0]
    GATES[gate](db, caller)()
    after = list(db.log(before + 1))
    assert after and {entry.principal for entry in after} == {"all-service"}
    assert {entry.role for entry in after} == {"all"}


# Routes.

READS = {
    "GET /v1/log", "GET /v1/log/{number}", "GET /v1/why/{row:path}", "GET /v1/why", "GET /v1/contract",
    "GET /v1/contract/interface", "GET /v1/contract/skeleton", "POST /v1/receipts/{command}",
    "GET /v1/workflows", "GET /v1/workflows/{name}", "POST /v1/queries/{name}", "GET /health", "GET /ready",
    "GET /version",
    "GET /metrics", "GET /openapi.json", "GET /docs", "GET /query", "POST /query", "GET /sparql",
    "GET /rdf-graph-store", "GET /graphs", "GET /workflow/capabilities", "GET /v1/streams",
    "GET /v1/streams/{event}/{consumer}/dead-letters", "GET /v1/streams/{event}/tail",
}  # fmt: skip
"""Routes that change nothing."""
ENDLESS = {"GET /v1/streams/{event}/tail"}
"""Of these the ones that go on for as long as somebody listens: tests/server/test_streams.py ends them."""

JSON = {"content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
SPARQL = {"content-type": "application/sparql-update"}
TURTLE = {"content-type": "text/turtle"}
INSERT = b"INSERT DATA { <urn:s> <urn:p> <urn:o> }"
TRIPLE = b"<urn:s> <urn:p> <urn:o> ."
WATCHER = "/v1/streams/ItemAdded/watcher"
ADDRESSES = {"/rdf-graph-store": "/rdf-graph-store?default", "/query": "/query?query=ASK%7B%7D",
             "/v1/why/{row:path}": f"/v1/why/Item/{DEPOT}/{DEPOT}",
             "/v1/why": f"/v1/why?run={Release().run.value}",
             "/v1/streams/{event}/{consumer}/dead-letters": f"{WATCHER}/dead-letters",
             "/v1/receipts/{command}": "/v1/receipts/AddItem"}  # fmt: skip
LINES = {"content-type": "application/jsonl"}
ADD_ITEM = {"name": "AddItem", "arguments": item(9)}
TOOL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ADD_ITEM}
PLACES = {"number": "1", "name": "WaitingItems"}
WRITES: dict[str, tuple[str, dict[str, str], bytes]] = {
    "POST /v1/commands/{name}": ("/v1/commands/AddItem", JSON, json.dumps({"input": item(7)}).encode()),
    "POST /v1/commands": (
        "/v1/commands", LINES, json.dumps({"command": "AddItem", "input": item(8)}).encode() + b"\n",
    ),
    "PUT /v1/contract": (
        "/v1/contract",
        JSON,
        json.dumps(
            {"source": DEPOT_SOURCE.replace("version 1", "version 2"), "expected_version": 1}
        ).encode(),
    ),
    "POST /mcp": ("/mcp", JSON, json.dumps(TOOL).encode()),
    "POST /update": ("/update", SPARQL, INSERT),
    "POST /sparql": ("/sparql", SPARQL, INSERT),
    "PUT /rdf-graph-store": ("/rdf-graph-store?graph=urn:g", TURTLE, TRIPLE),
    "POST /rdf-graph-store": ("/rdf-graph-store?default", TURTLE, TRIPLE),
    "DELETE /rdf-graph-store": ("/rdf-graph-store?graph=urn:h", {}, b""),
    "POST /knot": ("/knot", JSON, json.dumps({"turtle": TRIPLE.decode()}).encode()),
    **{
        f"POST /v1/streams/{{event}}/{{consumer}}:{verb}": (f"{WATCHER}:{verb}", JSON, b"{}")
        for verb in ("replay", "drop")
    },
}  # fmt: skip
"""Routes that can write, with a request that does."""
CONSUMING = {f"POST /v1/streams/{{event}}/{{consumer}}:{verb}" for verb in ("pull", "ack", "nack", "extend")}
"""Routes that move a consumer on, which is no part of the log; only its creation is."""

ALL = endpoints()


def named(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def test_every_route_is_listed_as_reading_or_writing() -> None:
    assert {named(one) for one in ALL if not one.writes} == READS, "list the new route in READS or WRITES"
    writing = set(WRITES) | CONSUMING
    assert {named(one) for one in ALL if one.writes} == writing, "list the new route with an attempt"
    assert not [one for one in ALL if one.writes and one.access == OPEN]


def ask(db: Database, token: str | None, method: str, path: str, **request: Any) -> httpx2.Response:
    """Send a request to the application of a database."""

    async def send() -> httpx2.Response:
        app: Any = create_app(db, Options())
        headers = request.pop("headers", {}) | ({"authorization": f"Bearer {token}"} if token else {})
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
            answer = await http.request(method, path, headers=headers, **request)
        await app.service.close()
        return answer

    return asyncio.run(send())


@pytest.mark.parametrize("route", sorted(WRITES))
def test_a_route_that_writes_passes_access_and_log(route: str, db: Database) -> None:
    method = route.partition(" ")[0]
    path, headers, body = WRITES[route]
    tokens = {
        role: db.tokens.create(f"{role}-service", role=role).text for role in ("all", "nothing", "worker")
    }
    if method == "DELETE":
        db.graph.update("CREATE GRAPH <urn:h>", principal="tests")
    if "{consumer}" in route:
        watched(db, failures=10)
    before = db.head
    for token in (None, "A" * 43, tokens["nothing"], tokens["worker"]):
        answer = ask(db, token, method, path, content=body, headers=headers)
        expected = "unauthenticated" if token in (None, "A" * 43) else "denied"
        assert f'"code":"{expected}"' in answer.text and db.head == before
    answer = ask(db, tokens["all"], method, path, content=body, headers=headers)
    assert answer.status_code in (200, 201, 204) and '"code"' not in answer.text
    written = list(db.log(before[0] + 1))
    assert written and {(entry.principal, entry.role) for entry in written} == {("all-service", "all")}


def watched(db: Database, failures: int = 0) -> list[str]:
    """A consumer with one event that failed so often; tokens of the deliveries that it has now."""
    consumer = db.acting_as("tests").consumer("ItemAdded", "watcher")
    db.run("AddItem", item(3), principal="tests")
    for _ in range(failures):
        consumer.nack(*consumer.pull())
    return [one.token for one in consumer.pull()]


@pytest.mark.parametrize("route", sorted(CONSUMING))
def test_a_route_that_moves_a_consumer_passes_access(route: str, db: Database) -> None:
    tokens = {
        role: db.tokens.create(f"{role}-service", role=role).text for role in ("all", "nothing", "worker")
    }
    verb = route.rpartition(":")[2]
    path, held = f"{WATCHER}:{verb}", watched(db)
    body = json.dumps({} if verb == "pull" else {"tokens": held}).encode()

    def state() -> tuple[Any, ...]:
        with db._engine.store.read() as tx:
            return tuple(tuple(tx.entries(space, b"", None, 99)) for space in ("consumer", "delivery", "due"))

    before, head = state(), db.head
    for token in (None, "A" * 43, tokens["nothing"], tokens["worker"]):
        answer = ask(db, token, "POST", path, content=body, headers=JSON)
        expected = "unauthenticated" if token in (None, "A" * 43) else "denied"
        assert f'"code":"{expected}"' in answer.text and state() == before
    db.run("AddItem", item(4), principal="tests")
    head = db.head
    assert ask(db, tokens["all"], "POST", path, content=body, headers=JSON).status_code == 200
    assert state() != before and db.head == head


@pytest.mark.parametrize("route", sorted(READS - ENDLESS))
def test_a_route_that_reads_writes_nothing(route: str, db: Database) -> None:
    method, _, path = route.partition(" ")
    token = db.tokens.create("all-service", role="all").text
    if route == "GET /v1/why":
        db.graph.update(insert(Release().setup()), principal="tests")
    if "{consumer}" in route:
        watched(db)
    before = db.head
    body = {"content": b'{"parameters": {"depot": "%s"}}' % str(DEPOT).encode(), "headers": JSON}
    address = ADDRESSES.get(path) or ("/v1/workflows/Life" if "workflows/" in path else path.format(**PLACES))
    if route == "POST /query":
        address, body = path, {"content": b"query=ASK%7B%7D", "headers": FORM}
    if route == "POST /v1/receipts/{command}":
        body["content"] = b'{"keys": ["one"]}'
    answer = ask(db, token, method, address, **(body if method == "POST" else {}))
    assert answer.status_code == 200 and db.head == before


# The handle.

SURFACE: dict[type, tuple[set[str], set[str]]] = {
    Database: (
        {"close", "history", "version", "head", "compare", "acting_as", "query", "pages", "row", "log",
         "why", "why_run", "verify", "graph", "graph_core", "graph_is_open", "tokens", "backup",
         "backup_into", "export", "plan_import", "streams", "doctor", "retention"},
        {"run", "run_many", "deploy", "abandon_migration", "import_archive", "confirm_clock", "reset_clock"},
    ),
    Acting: (
        {"query", "pages", "why", "why_run", "recall", "graph", "consumer", "tail"}, {"run", "run_many"}
    ),
    Tokens: ({"list"}, {"create", "revoke", "rotate"}),
    AsyncDatabase: (
        {"close", "release", "row", "verify", "log", "tokens", "acting_as", "query", "pages", "why",
         "why_run", "graph"},
        {"run", "deploy", "submit"},
    ),
    AsyncActing: ({"query", "pages", "why", "why_run", "graph"}, {"run", "run_many"}),
    AsyncGraph: ({"query", "export", "graphs", "capabilities"}, {"update", "load"}),
    AsyncTokens: ({"list"}, {"create", "revoke", "rotate"}),
}  # fmt: skip
"""For each class of the handle the methods that read (or lead to others) and those that write, by jobs."""


@pytest.mark.parametrize("kind", SURFACE, ids=lambda kind: kind.__name__)
def test_every_method_is_listed_as_reading_or_writing(kind: type) -> None:
    public = {name for name in vars(kind) if not name.startswith("_")}
    reads, writes = SURFACE[kind]
    assert public == reads | writes and not reads & writes, "list the new method in SURFACE"


def as_nothing(db: Database) -> dict[str, Callable[[], Any]]:
    """Calls that write, by a principal whose role allows nothing."""
    acting = db.acting_as("mallory", role="nothing")
    return {
        "run": lambda: acting.run("AddItem", item(1)),
        "run_many": lambda: _raised(acting.run_many([("AddItem", item(2))])[0]),
        "deploy": lambda: db.deploy(DEPOT_SOURCE.replace("version 1", "version 2"), role="nothing"),
        "confirm_clock": lambda: db.confirm_clock(role="nothing"),
        "reset_clock": lambda: db.reset_clock(role="nothing"),
        "create": lambda: db.tokens.create("x", role="all", operator_role="nothing"),
        "revoke": lambda: db.tokens.revoke(db.tokens.list()[0].id, operator_role="nothing"),
        "rotate": lambda: db.tokens.rotate(db.tokens.list()[0].id, operator_role="nothing"),
        "graph": lambda: acting.graph.update("INSERT DATA { <urn:a> <urn:b> <urn:c> }"),
        "consumer": lambda: acting.consumer("ItemAdded", "watcher").pull(wait=0),
    }


def _raised(answer: Any) -> Any:
    if isinstance(answer, BaseException):
        raise answer
    return answer


def test_a_role_that_allows_nothing_writes_nothing_from_python(db: Database) -> None:
    db.tokens.create("x", role="all")
    before = db.head
    for name, attempt in as_nothing(db).items():
        with pytest.raises(treadle.Denied):
            attempt()
        assert db.head == before, name


# The command line.

READING_VERBS = {"new", "check", "format", "explain", "simulate", "diagram", "schema", "generate", "query",
                 "row", "why", "log", "lsp", "verify", "doctor", "backup", "export", "config"}  # fmt: skip
SERVING_VERBS = {"serve", "dev", "mcp", "worker"}
"""They write what their callers write, over the routes above; `dev` deploys and seeds by the handle."""
WRITING_VERBS: dict[str, list[str]] = {
    "deploy": ["deploy", "next.riff", "--role", "nothing"],
    "run": ["run", "AddItem", "--input", "@item.json", "--as", "mallory", "--role", "nothing"],
    "clock": ["clock", "confirm", "--role", "nothing"],
    "token": ["token", "create", "service", "--role", "no-such-role"],
    "vacuum": ["vacuum", "--role", "nothing"],
    "prune": ["prune", "receipts", "--older-than", "0", "--role", "nothing"],
    "stream": ["stream", "retain", "Packed", "1d", "--as", "mallory", "--role", "nothing"],
    "graph": ["graph", "update", "CLEAR DEFAULT", "--as", "mallory", "--role", "nothing"],
    "restore": ["restore", "no-such-backup.db", "new.db"],
    "import": ["import", "no-such-folder", "--campaign", "c", "--role", "nothing"],
}
"""Verbs that write by the handle, with a call that is refused and must leave the log as it was."""


def test_every_verb_is_listed() -> None:
    listed = READING_VERBS | SERVING_VERBS | set(WRITING_VERBS)
    names = {verb.name for verb in VERBS}
    assert not names - listed, "list the new verb as reading or writing"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "treadle.toml").write_text('[database]\nurl = "depot.db"\n', encoding="utf-8")
    (tmp_path / "next.riff").write_text(DEPOT_SOURCE.replace("version 1", "version 2"), encoding="utf-8")
    (tmp_path / "item.json").write_text(json.dumps(item(1)), encoding="utf-8")
    with treadle.open("depot.db") as opened:
        opened.deploy(DEPOT_SOURCE, roles=ROLES)
    return tmp_path


@pytest.mark.parametrize("verb", sorted(WRITING_VERBS))
def test_a_verb_that_is_refused_writes_nothing(verb: str, project: Path) -> None:
    with treadle.open("depot.db") as opened:
        before = opened.head
        assert main.run(WRITING_VERBS[verb]) != 0
        assert opened.head == before


def test_verbs_that_write_leave_their_record(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with treadle.open("depot.db") as opened:
        for words, kind in (
            (["run", "AddItem", "--input", "@item.json", "--as", "desk", "--role", "all"], "command"),
            (["token", "create", "service", "--role", "worker", "--as", "ann"], "grant"),
            (["clock", "confirm", "--as", "ann"], "clock"),
            (["deploy", "next.riff", "--as", "ann"], "deploy"),
        ):
            before = opened.head[0]
            assert main.run(words) == 0, capsys.readouterr()
            written = list(opened.log(before + 1))
            assert [entry.kind for entry in written] == [kind]
            assert written[0].principal in ("ann", "desk")
