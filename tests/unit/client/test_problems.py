"""Problem documents become what the embedded handle raises: the same class, code, message and members."""

from __future__ import annotations

import pytest

from treadle import errors
from treadle.client.problems import CLASSES, error_of, is_problem
from treadle.errors import CODES, TreadleError
from treadle.server.problems import FIELDS, problem

SPECIAL = [
    errors.InvalidInput("write a number", path="input.pages"),
    errors.TerminalFailure("taken", code="unique_conflict", constraint="slug", commit=7, replayed=True),
    errors.TerminalFailure("too much", code="arithmetic"),
    errors.Refused("no", reason="illegal_step", entity="http://a", field="toState", graph="g", remedy="do"),
    errors.SparqlSyntax("what", line=3, column=4),
    errors.ContractError("no", code="contract_incompatible"),
    errors.Denied("send a token", code="unauthenticated"),
]


def plain() -> list[TreadleError]:
    """An error for each code whose class takes a message and a code alone."""
    special = {type(error) for error in SPECIAL} | {errors.UnexpectedOutcome}
    return [known("a sentence", code=code) for code, known in CLASSES.items() if known not in special]


@pytest.mark.parametrize("error", [*SPECIAL, *plain()], ids=lambda error: error.code)
def test_an_error_survives_the_wire(error: TreadleError) -> None:
    found = error_of(problem(error, trace="ab" * 16))
    assert (type(found), found.code, str(found)) == (type(error), error.code, str(error))
    assert [getattr(found, name, None) for name in FIELDS] == [getattr(error, name, None) for name in FIELDS]
    assert found.recovery == error.recovery and found.details["trace_id"] == "ab" * 16


def test_every_code_has_its_class() -> None:
    assert set(CODES) == set(CLASSES)
    declared = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    own = [kind for kind in declared if issubclass(kind, TreadleError) and "default" in vars(kind)]
    assert not [kind for kind in own if not issubclass(CLASSES[kind.default], kind)]
    assert CLASSES["malformed"] is errors.Malformed and CLASSES["internal"] is errors.Internal


def test_a_code_of_a_newer_server_is_an_error_that_names_it() -> None:
    found = error_of({"code": "brand_new", "detail": "so it is"})
    assert isinstance(found, errors.Internal) and "brand_new" in str(found) and "so it is" in str(found)


def test_only_a_treadle_server_writes_such_documents() -> None:
    assert is_problem({"code": "busy", "detail": "later"})
    others: list[object] = [None, [], {}, {"code": 5, "detail": "x"}, {"error": "no"}, "text"]
    assert not [other for other in others if is_problem(other)]
