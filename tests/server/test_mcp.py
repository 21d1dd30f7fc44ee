"""The Model Context Protocol, asked by the official SDK's own client over HTTP and over standard streams."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jsonschema_rs
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import treadle
from tests.support.clients import NAMES, NAMES_QUERIES, SCOPE
from tests.support.serving import serving
from treadle.access.roles import Role
from treadle.server.mcp_tools import tool_name

ROLES = [
    Role(
        "all",
        commands=("return_all", "ReturnAll", "run", "Bulk", "Copy"),
        queries=("class", "Counted"),
        operations=("admin",),
    ),
    Role("reader", commands=("ReturnAll",), queries=("Counted",)),
    Role("nothing"),
]
ROW = {
    "str": str(SCOPE),
    "id": 1,
    "int": -5,
    "class": "Title",
    "Lambda": "x",
    "day": "2030-01-01",
    "amount": "1.5",
    "price": "0.10",
    "blob": "AAE=",
    "flag": True,
    "tags": ["a"],
    "many": [],
}

Work = Callable[[Client], Awaitable[Any]]


class Place:
    """A database file, served over HTTP; and what speaks to it either way."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "names.db"
        self.db = treadle.open(self.path)
        self.db.deploy(NAMES, queries=NAMES_QUERIES, roles=ROLES)
        self.tokens = {role.name: self.db.tokens.create(role.name, role=role.name) for role in ROLES}
        self.url = ""

    @asynccontextmanager
    async def client(self, transport: str, role: str = "all", mode: str = "auto") -> AsyncIterator[Client]:
        async with AsyncExitStack() as stack:
            if transport == "http":
                headers = {"authorization": f"Bearer {self.tokens[role].text}"}
                http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=30))
                server: Any = streamable_http_client(f"{self.url}/mcp", http_client=http)
            else:
                words = ["-m", "treadle.cli", "mcp", "-d", str(self.path), "--as", role, "--role", role]
                server = StdioServerParameters(command=sys.executable, args=words)
            yield await stack.enter_async_context(Client(server, mode=mode))

    def ask(self, work: Work, transport: str = "http", role: str = "all", mode: str = "auto") -> Any:
        async def run() -> Any:
            with anyio.fail_after(60):
                async with self.client(transport, role, mode) as client:
                    return await work(client)

        return anyio.run(run)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory):
    made = Place(tmp_path_factory.mktemp("mcp"))
    with made.db, serving(made.db) as made.url:
        yield made


async def listed(client: Client) -> dict[str, Any]:
    return {tool.name: tool for tool in (await client.list_tools()).tools}


def fits(value: Any, schema: dict[str, Any]) -> bool:
    return jsonschema_rs.validator_for(schema).is_valid(value)


def told(result: Any) -> dict[str, Any]:
    """The one text of a result, as JSON."""
    (content,) = result.content
    found: dict[str, Any] = json.loads(content.text)
    return found


ALL = {"return_all", "ReturnAll", "run", "Bulk", "Copy", "class", "Counted"}


def test_there_is_a_tool_for_each_command_and_query_that_the_role_allows(place: Place) -> None:
    assert set(place.ask(listed)) == ALL
    assert set(place.ask(listed, role="reader")) == {"ReturnAll", "Counted"}
    assert place.ask(listed, role="nothing") == {}
    assert set(place.ask(listed, "stdio", "reader")) == {"ReturnAll", "Counted"}


def test_tools_say_what_they_take_answer_and_do(place: Place) -> None:
    tools = place.ask(listed)
    hints = {
        name: (tool.annotations.read_only_hint, tool.annotations.idempotent_hint)
        for name, tool in tools.items()
    }
    assert hints["ReturnAll"] == hints["Counted"] == hints["class"] == (True, True)
    assert hints["run"] == (False, True) and tools["run"].annotations.open_world_hint is False
    assert "Missing or TooMuch" in tools["run"].description and "key" in tools["run"].description
    for tool in tools.values():
        for schema in (tool.input_schema, tool.output_schema):
            assert schema["type"] == "object"
            jsonschema_rs.meta.validate(schema)
    assert fits({"from": "k", **ROW}, tools["return_all"].input_schema)
    assert not fits({"from": "", **ROW}, tools["return_all"].input_schema)
    assert "after" in tools["class"].input_schema["properties"]


async def commands(client: Client, number: int) -> Any:
    tools = await listed(client)
    given = {"from": f"mcp-{number}", **ROW, "id": number}
    first, again = [await client.call_tool("return_all", given) for _ in range(2)]
    assert fits(first.structured_content, tools["return_all"].output_schema)
    lost = await client.call_tool("run", {"key": f"r-{number}", "str": str(SCOPE), "id": 99, "by": 1})
    assert not first.is_error and told(first) == first.structured_content
    assert first.structured_content["outcome"] == "class"
    assert again.structured_content == first.structured_content | {"replayed": True}
    assert not lost.is_error and lost.structured_content["outcome"] == "Missing"
    return first.structured_content["commit"]


async def pages(client: Client, first: int) -> None:
    for number in range(first, first + 3):
        await client.call_tool("return_all", {"from": f"q-{number}", **ROW, "id": number})
    asked = {"str": str(SCOPE), "self": first, "at_least": first}
    one = (await client.call_tool("class", asked)).structured_content
    two = (await client.call_tool("class", asked | {"after": one["next"]})).structured_content
    ids = [row["id"] for page in (one, two) for row in page["fields"]["page"]]
    assert ids[:3] == [first, first + 1, first + 2] and one["fields"]["it"]["id"] == first


async def refusals(client: Client) -> None:
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("run", {"key": "x", "str": "no uuid", "id": 1, "by": 1}, "invalid_input"),
        ("run", {"key": "x", "str": str(SCOPE), "id": 1.5, "by": 1}, "invalid_input"),
        ("run", {"key": "", "str": str(SCOPE), "id": 1, "by": 1}, "malformed"),
        ("run", {"key": "x", "id": 1, "by": 1, "more": 2}, "invalid_input"),
        ("Counted", {}, "invalid_input"),
        ("nothing_of_the_kind", {}, "denied"),
    ]
    for name, given, code in wrong:
        result = await client.call_tool(name, given)
        problem = told(result)
        assert result.is_error and problem["code"] == code and result.structured_content == problem
        assert problem["recovery"] == ("obtain_permission" if code == "denied" else "correct_request")
    assert told(await client.call_tool("run", wrong[0][1]))["path"] == "input.str"


def test_a_command_answers_its_outcome_and_is_recorded(place: Place) -> None:
    commit = place.ask(lambda client: commands(client, 10))
    entry = next(place.db.log(commit, commit))
    assert (entry.name, entry.principal, entry.role) == ("return_all", "all", "all")


def test_a_query_is_read_page_by_page(place: Place) -> None:
    place.ask(lambda client: pages(client, 20))


def test_errors_are_results_that_say_what_to_do(place: Place) -> None:
    place.ask(refusals)

    async def denied(client: Client) -> Any:
        return await client.call_tool("run", {"key": "x", "str": str(SCOPE), "id": 1, "by": 1})

    result = place.ask(denied, role="reader")
    assert result.is_error and told(result)["code"] == "denied"


def test_standard_streams_do_the_same(place: Place) -> None:
    async def work(client: Client) -> Any:
        assert set(await listed(client)) == ALL
        await pages(client, 200)
        await refusals(client)
        return await commands(client, 11)

    commit = place.ask(work, "stdio")
    assert next(place.db.log(commit, commit)).principal == "all"


def test_a_result_that_is_too_large_is_cut_but_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.server.mcp_tools.RESULT_BYTES", 300)

    async def work(client: Client) -> Any:
        tools = await listed(client)
        result = await client.call_tool("return_all", {"from": "large", **ROW, "id": 60})
        assert fits(result.structured_content, tools["return_all"].output_schema)
        return result

    result = place.ask(work)
    assert not result.is_error and result.structured_content["outcome"] == "class"
    assert set(result.structured_content) == {"outcome", "commit", "too_large"}
    assert place.db.row("Str", (SCOPE, 60)) is not None


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_older_clients_are_served_too(place: Place, transport: str) -> None:
    assert "run" in place.ask(listed, transport, mode="legacy")


def test_tools_are_listed_in_pages(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.server.mcp_protocol.PAGE", 3)

    async def work(client: Client) -> list[int]:
        sizes, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            sizes.append(len(page.tools))
            cursor = page.next_cursor
            if cursor is None:
                return sizes

    assert place.ask(work) == [3, 3, 1]


def test_names_of_tools() -> None:
    assert tool_name("Claim") == "Claim" and tool_name("Claim", {"Claim"}) == "query_Claim"
    long = tool_name("X" * 200)
    assert len(long) == 64 and long != tool_name("X" * 201) and len(tool_name("X" * 64, {"X" * 64})) == 64


# HTTP itself.

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def post(place: Place, token: str | None = None, **headers: str) -> httpx2.Response:
    sent = {"accept": "application/json, text/event-stream", **headers}
    if token is not None:
        sent["authorization"] = f"Bearer {token}"
    return httpx2.post(f"{place.url}/mcp", json=INITIALIZE, headers=sent)


def test_a_token_is_needed_and_counts_at_once(place: Place) -> None:
    assert post(place).status_code == 401
    granted = place.db.tokens.create("brief", role="all")
    answer = post(place, granted.text)
    assert answer.status_code == 200 and answer.json()["result"]["serverInfo"]["name"] == "treadle"
    assert answer.headers["cache-control"] == "no-store" and answer.headers["trace-id"]
    place.db.tokens.revoke(granted.token.id)
    assert post(place, granted.text).status_code == 401


def test_a_server_without_the_extra_says_what_to_install(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> Any:
        raise ImportError("no module named mcp", name="mcp")

    monkeypatch.setattr("treadle.server.mcp.load", load)
    answer = post(place, place.tokens["all"].text)
    assert answer.status_code == 404 and "treadle[mcp]" in answer.json()["detail"]


def test_pages_of_other_origins_and_other_names_are_turned_away(place: Place) -> None:
    token = place.tokens["all"].text
    assert post(place, token, host="evil.example").status_code == 403
    assert post(place, token, origin="https://evil.example").status_code == 403
    assert post(place, token, origin=place.url).status_code == 200


def test_what_is_no_message_is_refused(place: Place) -> None:
    headers = {
        "authorization": f"Bearer {place.tokens['all'].text}",
        "accept": "application/json, text/event-stream",
    }
    for body, status in (
        (b"", 400),
        (b"{", 400),
        (b'{"a": 1, "a": 2}', 400),
        (b"[" * 10_000, 400),
        (b"[]", 400),
    ):
        sent = {**headers, "content-type": "application/json"}
        assert httpx2.post(f"{place.url}/mcp", content=body, headers=sent).status_code == status
    assert httpx2.post(f"{place.url}/mcp", content=b"{}", headers=headers).status_code == 415
    assert httpx2.get(f"{place.url}/mcp", headers=headers).status_code == 405
    assert httpx2.delete(f"{place.url}/mcp", headers=headers).status_code == 405
    large = b'{"a":"' + b"x" * (5 * 1024 * 1024) + b'"}'
    sent = {**headers, "content-type": "application/json"}
    assert httpx2.post(f"{place.url}/mcp", content=large, headers=sent).status_code == 413


# Standard streams themselves.


def test_nothing_but_the_protocol_is_on_standard_output(place: Place) -> None:
    call = {"name": "ReturnAll", "arguments": {"str": str(SCOPE), "id": 1}}
    messages = [
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 4, "method": "no/such/method"},
    ]
    lines = [json.dumps(message) for message in messages]
    lines.insert(2, "this is no JSON")
    process = subprocess.Popen(
        [sys.executable, "-m", "treadle.cli", "mcp", "-d", str(place.path), "--as", "x", "--role", "all"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n".join(lines) + "\n")
    process.stdin.flush()
    seen: dict[Any, Any] = {}
    while not {1, 2, 3, 4} <= set(seen):
        message = json.loads(process.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        seen[message.get("id")] = message
    rest, errors = process.communicate(timeout=30)  # closes its input, which ends it
    assert process.returncode == 0 and rest == "" and "Traceback" not in errors
    assert len(seen[2]["result"]["tools"]) == 7 and "error" in seen[4]
    assert "speaking the Model Context Protocol for x on" in errors


def test_it_says_what_is_missing(place: Place) -> None:
    for words, message in (
        (["--as", "x", "-d", "nowhere.db"], "no database"),
        (["-d", str(place.path)], "--as"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "treadle.cli", "mcp", *words], capture_output=True, text=True, timeout=60
        )
        assert done.returncode != 0 and done.stdout == "" and message in done.stderr
