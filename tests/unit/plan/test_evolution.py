"""What a successor may change, row by row of the table in docs/explain/evolution.md."""

from __future__ import annotations

import tomllib
from typing import Any, NamedTuple

import pytest

from tests.support.depot import SOURCE, Edit, compiled, edited, without
from tests.support.shared import ROOT
from treadle.model.migration import Need
from treadle.plan import evolution
from treadle.plan.evolution import Change


class Row(NamedTuple):
    """Edits of the contract, and the differences they make: class, place, and on what a refusal depends."""

    what: str
    edits: tuple[Edit, ...]
    found: tuple[str, ...]


DATA: dict[str, Any] = tomllib.loads((ROOT / "tests/data/successors.toml").read_text(encoding="utf-8"))


def edit_of(entry: dict[str, str]) -> Edit:
    return without(entry["from"], entry["to"]) if "from" in entry else (entry["old"], entry["new"])


def rows(*classes: str) -> list[Row]:
    listed = [entry for each in classes for entry in DATA[each]]
    return [Row(one["what"], tuple(map(edit_of, one["edits"])), tuple(one["found"])) for one in listed]


ROWS = rows("compatible", "needed", "refused")


def named(row: Row) -> str:
    return row.what.replace(" ", "-")


def described(change: Change) -> str:
    depends = f" ({change.use.kind})" if change.kind == "refused" and change.use is not None else ""
    return f"{change.kind}: {change.where}{depends}"


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_every_difference_has_its_class(row: Row) -> None:
    found = evolution.changes(compiled(SOURCE), compiled(edited(*row.edits)))
    assert tuple(map(described, found)) == row.found


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_what_nothing_depends_on_is_compatible(row: Row) -> None:
    """All but what no database could make possible: its name and its version."""
    for change in evolution.changes(compiled(SOURCE), compiled(edited(*row.edits))):
        if change.use is not None:
            assert change.settled(()).kind == "compatible"
            assert change.settled(("x",)).kind == change.kind
        elif change.kind != "compatible":
            assert change.where.startswith(("contract", "version"))


@pytest.mark.parametrize("row", rows("needed", "refused"), ids=named)
def test_a_sentence_says_what_would_make_it_possible(row: Row) -> None:
    for change in evolution.changes(compiled(SOURCE), compiled(edited(*row.edits))):
        if change.kind == "compatible":
            assert str(change) == f"{change.where}: {change.what}"
        else:
            assert change.remedy and str(change).endswith(f"; {change.remedy}")
            used = str(change.settled(("Box(1)", "record 3")))
            assert change.kind == "migration" or " (used by Box(1), record 3); " in used


def test_a_contract_is_its_own_successor() -> None:
    assert evolution.changes(compiled(SOURCE), compiled(SOURCE)) == [
        Change(
            "refused",
            "version 1",
            "version 1 is active and this text differs from it",
            "give it version 2 or higher",
        )
    ]
    assert evolution.changes(compiled(SOURCE), compiled(edited())) == []


@pytest.mark.parametrize("version", [1, 0])
def test_the_version_rises(version: int) -> None:
    before = compiled(edited(version=2))
    found = evolution.changes(before, compiled(edited(version=version or 1)))
    assert [change.where for change in found] == ["version 1"]


def test_what_a_migration_names() -> None:
    edits = [edit for row in rows("needed") for edit in row.edits if "invariant" in edit[1]][:1]
    fields = ("field weight: u64", "field weight: u64 field size: optional<u64> field most: u64")
    successor = edited(*edits, fields, ("set box.fence = 0", "set box.fence = 0 set box.most = 1"))
    assert set(evolution.needs(compiled(SOURCE), compiled(successor))) == {
        Need("field", "Box", "most"),
        Need("invariant", "Box", "Light"),
    }
