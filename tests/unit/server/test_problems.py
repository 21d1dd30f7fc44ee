"""Problem documents: their members, and what is never in them."""

from __future__ import annotations

import json

import pytest

from treadle.errors import (
    CODES,
    ContractError,
    InvalidInput,
    OverCapacity,
    Refused,
    SparqlSyntax,
    TerminalFailure,
    TreadleError,
)
from treadle.riff import compile_contract
from treadle.server import problems
from treadle.server.answers import problem_answer


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_document(code: str) -> None:
    body = problems.problem(TreadleError("what to do", code=code), "ab" * 16)
    assert (body["code"], body["status"], body["recovery"]) == (code, *CODES[code])
    assert body["type"] == f"urn:treadle:error:{code}" and body["title"][0].isupper() and body["trace_id"]
    assert json.loads(problems.encoded(TreadleError("x", code=code)))["detail"] == "x"


def test_what_an_error_knows_stands_in_its_document() -> None:
    assert problems.problem(InvalidInput("no", path="input.x"))["path"] == "input.x"
    failure = TerminalFailure("no", code="unique_conflict", constraint="slug", commit=7, replayed=True)
    body = problems.problem(failure)
    assert (body["constraint"], body["commit"], body["replayed"]) == ("slug", 7, True)
    refused = problems.problem(Refused("no", reason="stale", entity="run", remedy="read"))
    assert (refused["reason"], refused["entity"], refused["remedy"]) == ("stale", "run", "read")
    assert "field" not in refused
    syntax = problems.problem(SparqlSyntax("no", line=3, column=4))
    assert (syntax["line"], syntax["column"]) == (3, 4)


def test_diagnostics_have_their_places() -> None:
    compiled = compile_contract("contract X version 1 { enum }")
    body = problems.problem(ContractError("no", diagnostics=compiled.diagnostics))
    assert body["diagnostics"][0]["span"]["start"]["line"] == 1


def test_headers_say_when_to_come_again_and_with_what() -> None:
    assert (b"retry-after", b"1") in problem_answer(OverCapacity("full")).headers
    assert dict(problem_answer(TreadleError("x", code="unauthenticated")).headers)[b"www-authenticate"]
    assert problem_answer(TreadleError("x", code="disk_full")).headers == ()


def test_what_never_becomes_a_request_has_a_document_too() -> None:
    body = json.loads(problems.bare(431, "malformed", "too large"))
    assert (body["status"], body["code"], body["recovery"]) == (431, "malformed", "correct_request")
