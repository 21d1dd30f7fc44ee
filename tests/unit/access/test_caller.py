"""Who acts is text that a record can hold, wherever it is said."""

from __future__ import annotations

from typing import Any

import pytest

import treadle
from tests.support.engines import SOURCE, create
from treadle.access.caller import stated
from treadle.errors import InvalidInput
from treadle.limits import NAME_BYTES

WRONG = [3, b"printer", ["printer"], "a\0b", "\ud800", "x" * (NAME_BYTES + 1), "ä" * (NAME_BYTES // 2 + 1)]


@pytest.mark.parametrize("wrong", [None, "", *WRONG], ids=lambda value: repr(value)[:12])
def test_a_principal_that_cannot_be_recorded(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="name the service") as caught:
        stated(wrong)
    assert caught.value.path == "principal"


@pytest.mark.parametrize("member", ["role", "instance", "tenant"])
@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: repr(value)[:12])
def test_what_else_cannot_be_recorded(member: str, wrong: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        stated("printer-service", **{member: wrong})
    assert caught.value.path == member


def test_the_longest_name_is_recorded() -> None:
    longest = "x" * NAME_BYTES
    with treadle.open(":memory:") as db:
        db.deploy(SOURCE)
        assert db.acting_as(longest, instance=longest).run(*create(0)).ok
        assert [entry.principal for entry in db.log() if entry.kind == "command"] == [longest]
        assert db.verify().ok


def test_every_way_in_names_its_caller(tmp_path: Any) -> None:
    wrong: Any = 7
    with treadle.open(":memory:") as db:
        db.deploy(SOURCE)
        for act in (
            lambda: db.run(*create(0), principal=wrong),
            lambda: db.deploy(SOURCE, principal=wrong),
            lambda: db.compare(SOURCE, principal=wrong),
            lambda: db.tokens.create(wrong, role="none"),
            lambda: db.graph.update("CLEAR ALL", principal=wrong),
            lambda: db.streams(principal=wrong),
            lambda: db.export(tmp_path / "out", principal=wrong),
        ):
            with pytest.raises(InvalidInput):
                act()
        assert len(list(db.log())) == 1
