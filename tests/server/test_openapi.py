"""The OpenAPI document is valid, says what the contract says, and the server does what it says."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.server.conftest import item, run
from tests.server.test_commands import thing
from tests.support.effort import effort
from tests.support.server import COMMANDS, Running, client, depot, serving
from treadle.errors import CODES


@schemathesis.check
def no_error_of_ours(context: Any, response: Any, case: Any) -> None:
    """503 and 504 are answers like others: a commit that does not come, a queue that is full."""
    assert response.status_code != 500


@schemathesis.check
def wrong_data_is_refused(context: Any, response: Any, case: Any) -> None:
    """Every refusal will do: a list that is too long is 413, a token of another history 409."""
    only_address = case.method == "GET" and not case.path_parameters
    if response.status_code < 400 and not (only_address and right_as_text(response, case)):
        negative_data_rejection(context, response, case)


def right_as_text(response: Any, case: Any) -> bool:
    """Whether nothing that was sent is wrong: in an address null is the text null, and [] is nothing."""
    known = {one["name"]: one["schema"] for one in case.operation.definition.raw.get("parameters", [])}
    for name, value in parse_qsl(urlsplit(str(response.request.url)).query, keep_blank_values=True):
        schema = known.get(name, False)
        schema = schema and schema.get("items", schema)
        number = schema and schema.get("type") == "integer" and value.isdecimal()
        if not jsonschema_rs.is_valid(schema, int(value) if number else value):
            return False
    return True


EVERY = [
    no_error_of_ours,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    wrong_data_is_refused,
    unsupported_method,
]


@schemathesis.serializer("application/jsonl")
def lines(context: Any, value: Any) -> bytes:
    """A stream of lines is sent as the text that it is."""
    return value.encode("utf-8", "replace") if isinstance(value, str) else b"\n"


@pytest.fixture(scope="module")
def document(http: httpx2.Client) -> dict[str, Any]:
    found: dict[str, Any] = http.get("/openapi.json").json()
    return found


def resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "components": document["components"]}


def test_it_is_an_openapi_3_1_document_with_valid_schemas(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1") and document["info"]["title"] == "Depot"
    schemas = list(document["components"]["schemas"].values())
    for path, methods in document["paths"].items():
        assert path.startswith("/")
        for operation in methods.values():
            contents = [operation.get("requestBody", {}).get("content", {})]
            contents += [one.get("content", {}) for one in operation["responses"].values()]
            schemas += [media["schema"] for content in contents for media in content.values()]
            schemas += [one["schema"] for one in operation.get("parameters", [])]
    for schema in schemas:
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
        jsonschema_rs.validator_for(resolved(document, schema))  # every reference leads somewhere
    names = [one["operationId"] for methods in document["paths"].values() for one in methods.values()]
    assert len(set(names)) == len(names)


def test_every_command_outcome_and_code_is_in_it(document: dict[str, Any]) -> None:
    for name in COMMANDS:
        answer = document["paths"][f"/v1/commands/{name}"]["post"]["responses"]["200"]
        forms = answer["content"]["application/json"]["schema"]["oneOf"]
        assert all(form["properties"]["outcome"]["const"] for form in forms)
    claim = document["paths"]["/v1/commands/Claim"]["post"]["responses"]["200"]["content"]["application/json"]
    outcomes = {form["properties"]["outcome"]["const"] for form in claim["schema"]["oneOf"]}
    assert outcomes == {"Missing", "Stale", "Taken", "BadDuration", "Exhausted", "Claimed"}
    assert document["components"]["schemas"]["treadle.Problem"]["properties"]["code"]["enum"] == sorted(CODES)
    assert {"/v1/queries/WaitingItems", "/v1/queries/OneThing"} <= set(document["paths"])


@pytest.mark.parametrize("prefer", ["", "integers=string"])
def test_answers_are_of_their_schemas(http: httpx2.Client, document: dict[str, Any], prefer: str) -> None:
    for command, asked_for in (("AddThing", thing(note="x")), ("AddItem", item())):
        for _ in range(2):
            answer = run(http, command, asked_for, headers={"prefer": prefer})
            operation = document["paths"][f"/v1/commands/{command}"]["post"]
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            validator = jsonschema_rs.validator_for(resolved(document, schema), validate_formats=True)
            validator.validate(answer.json())
            body = operation["requestBody"]["content"]["application/json"]["schema"]
            asked = jsonschema_rs.validator_for(resolved(document, body), validate_formats=True)
            asked.validate({"input": asked_for})
            assert not asked.is_valid({"input": asked_for | {"size": 1}})


@pytest.fixture(scope="module")
def playground(folder: Path) -> Iterator[tuple[Running, str]]:
    """A server of its own, since what Schemathesis sends is stored."""
    tokens = depot(folder / "schemathesis.db")
    with serving(folder / "schemathesis.db", "--set", "server.request_seconds=1") as running:
        yield running, tokens["all"]


LINES = "/v1/commands"
"""Each line is answered for itself: a stream of nonsense is answered with problems, and a 200."""


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_schemathesis_finds_nothing(playground: tuple[Running, str], mode: GenerationMode) -> None:
    """Every operation, with data of its schema or data that is not, and no answer that it does not list."""
    running, token = playground
    with client(running, token) as http:
        schema: Any = schemathesis.openapi.from_dict(http.get("/openapi.json").json())
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 15
    for operation in operations:
        refuses = operation.path.startswith("/v1/") and operation.path != LINES
        if mode == GenerationMode.POSITIVE or refuses:
            attempt(operation, mode, running.address, token)
    assert not [line for line in running.log() if line["level"] == "error"]


def attempt(operation: Any, mode: GenerationMode, address: str, token: str) -> None:
    """Send cases of one operation and check every answer."""

    @settings(max_examples=effort(10), deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        headers = {"authorization": f"Bearer {token}"}
        case.call_and_validate(base_url=address, headers=headers, checks=EVERY)

    send()


def test_the_docs_page_stands_alone(server: Running) -> None:
    with client(server) as http:
        answer = http.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy
    for tag in ("script", "style"):
        inner = answer.text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
        assert inner and b64encode(sha256(inner.encode()).digest()).decode() in policy
        assert answer.text.count(f"<{tag}") == 1
    assert "http://" not in answer.text and "https://" not in answer.text
    assert "innerHTML" not in answer.text  # what the document says is text, never markup
