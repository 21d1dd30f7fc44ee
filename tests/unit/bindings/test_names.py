"""Names in generated modules: no keywords, told apart without case, as close to the contract as can be."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.bindings.names import Scope, camel, pascal, snake, words

IDENTIFIER = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


@pytest.mark.parametrize(
    "name, parts",
    [
        ("ClaimWork", ["claim", "work"]),
        ("claim_work", ["claim", "work"]),
        ("HTTPJob", ["http", "job"]),
        ("JobsOfHTTP2Server", ["jobs", "of", "http", "2", "server"]),
        ("X", ["x"]),
        ("_hidden", ["hidden"]),
        ("__", ["underscore"]),
    ],
)
def test_words(name: str, parts: list[str]) -> None:
    assert words(name) == parts
    assert snake(name) == "_".join(parts)
    assert pascal(name) == "".join(part.capitalize() for part in parts)
    assert camel(name).casefold() == pascal(name).casefold() and camel(name)[0].islower()


def test_a_name_that_must_give_way_says_so() -> None:
    scope = Scope(keyword.kwlist)
    assert [scope.take(name)[2] for name in ("job", "Job", "class", "class_", "_job", "__x", "_", "_1")] == [
        "job", "Job_", "class_", "class__", "job__", "x_", "underscore_", "n1_",
    ]  # fmt: skip
    assert Scope().take("job").note == "" and Scope(["job"]).take("job").note == "job in the contract"
    assert Scope().take("ClaimWork", "claim_work").note == "", "as one expects"
    assert Scope(["claim_work"]).take("ClaimWork", "claim_work").note == "ClaimWork in the contract"


@given(st.lists(IDENTIFIER, unique=True), st.booleans())
def test_names_of_a_scope_are_different_valid_and_not_private(names: list[str], snaked: bool) -> None:
    scope = Scope(keyword.kwlist)
    shown = [scope.take(name, snake(name) if snaked else None).shown for name in names]
    assert len({one.casefold() for one in shown}) == len(names)
    assert all(one.isidentifier() and not keyword.iskeyword(one) and one[0] != "_" for one in shown)
