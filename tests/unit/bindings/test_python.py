"""What a generated Python module says, beside what type checkers and the conformance suite hold it to."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import Any

import pytest

from tests.support.clients import WORK, interface, names_module, python_text
from tests.support.shared import ROOT
from treadle.client.interface import decode, encode

TEXT = python_text()


def test_the_same_contract_gives_the_same_bytes() -> None:
    assert python_text() == TEXT == python_text(decode(encode(interface())))
    program = "from tests.support.clients import python_text; print(python_text(), end='')"
    other = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert other.stdout == TEXT, "another process, another hash seed"


def test_the_contract_is_named_in_it() -> None:
    assert f'CONTRACT = "{interface().identity}"' in TEXT
    assert "contract names_of_all, version 3" in TEXT


def test_every_name_that_gave_way_has_a_comment() -> None:
    tree = ast.parse(TEXT)
    lines = TEXT.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call):
            assert "in the contract" in lines[node.lineno - 1] or "repr=False" in lines[node.lineno - 1]
        if isinstance(node, ast.ClassDef) and node.name.endswith("_"):
            assert "in the contract" in lines[node.lineno - 1]


def test_classes_are_frozen_slotted_and_keyword_only() -> None:
    classes = [node for node in ast.walk(ast.parse(TEXT)) if isinstance(node, ast.ClassDef)]
    records = [node for node in classes if not node.bases]
    assert len(records) > 20
    for node in records:
        (decorator,) = node.decorator_list
        assert ast.unparse(decorator) == "_dataclass(frozen=True, slots=True, kw_only=True)"
        assert ast.get_docstring(node)


def test_a_secret_is_not_shown_where_a_row_is() -> None:
    assert "    token: str | None = _field(default=None, repr=False)  # optional<string<20>>" in TEXT
    assert "hush" not in repr(_row(token="hush")) and _row(token="hush") != _row(token="other")


def _row(**given: Any) -> Any:
    names = names_module().Str.__slots__
    return names_module().Str(**(dict.fromkeys(names) | given))


def test_public_functions_say_what_they_do() -> None:
    for node in ast.walk(ast.parse(TEXT)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name


NOTHING: dict[str, Any] = {"commands": (), "named": (), "events": ()}


@pytest.mark.parametrize("only", [*({name: ()} for name in NOTHING), NOTHING])
def test_a_part_of_a_contract_is_a_module_too(only: dict[str, Any]) -> None:
    text = python_text(interface(**only))
    ast.parse(text)
    for name in ("_StrEnum", "_TypeAlias", "_field", "_dataclass"):
        assert text.count(name) != 1, f"{name} is imported and not used"
    assert ("read_event" in text) == ("events" not in only)


def test_evidence_is_a_required_parameter() -> None:
    """Concurrency evidence (owner, duration, revision, token) is never optional in a generated method."""
    tree = ast.parse(python_text(interface(WORK, "")))
    client = next(
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "WorkItemsClient"
    )
    claim = next(
        node for node in client.body if isinstance(node, ast.FunctionDef) and node.name == "claim_work"
    )
    required = {
        argument.arg
        for argument, default in zip(claim.args.kwonlyargs, claim.args.kw_defaults, strict=True)
        if default is None
    }
    assert required == {
        "request_key",
        "organization_id",
        "work_id",
        "owner_id",
        "duration",
        "expected_revision",
    }
