"""What a migration makes of a row, and what it demands of the result."""

from __future__ import annotations

import pytest

from tests.support.depot import SOURCE, compiled, edited
from treadle import limits
from treadle.model.facts import Cells
from treadle.plan import build, evolution
from treadle.plan.migration import MigrationPlan, Unfit, hidden
from treadle.riff.migrating import Change, compile_migration

TIME = 1_900_000_000_000_000
STORE, BOX, LABEL = b"s" * 16, b"b" * 16, b"l" * 16


def plan(migration: str, *edits: tuple[str, str]) -> MigrationPlan:
    before, after = compiled(SOURCE), compiled(edited(*edits))
    change = Change(before, after, evolution.needs(before, after))
    found = compile_migration(f"migrate 1 to 2 {{ {migration} }}", change)
    assert found.migration is not None, found.render()
    return MigrationPlan(before, after, found.migration, TIME)


def box(weight: int = 7, note: str | None = None) -> Cells:
    """A box of the first version: store, box, state, kind, weight, pin, note, holder, held_until, fence."""
    return (STORE, BOX, "New", "Odd", weight, None, note, None, None, 0)


SIZE = ("field weight: u64", "field size: u64\n    field weight: u64")
MADE = ("set box.weight = weight", "set box.size = 1 set box.weight = weight")


def test_an_image_has_the_successors_fields_in_its_order() -> None:
    at = ("field note", "field at: optional<timestamp>\n    field note")
    work = plan("field Box.size = weight * 2 field Box.at = tx.time", SIZE, MADE, at).works["Box"]
    assert work.image(box()) == (STORE, BOX, "New", "Odd", 14, 7, None, TIME, None, None, None, 0)
    assert (work.writes, work.anew, work.uniques, work.references) == (True, True, (), ())
    with pytest.raises(Unfit, match="field size cannot be computed: a result is out of its type's range"):
        work.image(box(2**63))


def test_only_what_is_named_is_looked_at() -> None:
    made = plan("invariant Stores.Fits", ("invariant Fits: weight <= most", "invariant Fits: weight < most"))
    assert list(made.works) == ["Box"]
    work = made.works["Box"]
    assert not work.writes and not work.anew and made.anew == ()
    (shared,) = work.shared
    shared.check((STORE, "depot", 8), box(7))
    with pytest.raises(Unfit, match="invariant Fits does not hold"):
        shared.check((STORE, "depot", 7), box(7))
    assert [work.entity for work in made.children("Store")] == ["Box"] and not list(made.children("Box"))


def test_an_invariant_of_the_root_alone_is_asked_of_roots() -> None:
    fits = "invariant Fits: weight <= most"
    made = plan("invariant Stores.Some", (fits, f"{fits}\n    invariant Some: most > 5"))
    assert list(made.works) == ["Store"]
    with pytest.raises(Unfit, match="Some"):
        made.works["Store"].shared[0].check((STORE, "depot", 5), (STORE, "depot", 5))


def test_an_invariant_that_cannot_be_computed_is_not_held() -> None:
    heavy = "invariant Heavy: weight >= 1"
    work = plan("invariant Box.Twice", (heavy, f"{heavy}\n    invariant Twice: weight * 2 > 1")).works["Box"]
    work.check(box(1))
    with pytest.raises(Unfit, match="invariant Twice cannot be computed"):
        work.check(box(2**63))


def test_entries_and_references_are_taken_from_the_image() -> None:
    unique = "unique by_weight (store_id, weight)"
    made = plan(
        "field Box.size = weight + 1 unique Box.one reference Box.of_store",
        SIZE,
        MADE,
        (
            unique,
            f"{unique} unique one (store_id, size) reference of_store (store_id) -> Store (store_id)",
        ),
    )
    work = made.works["Box"]
    image = work.image(box(3))
    assert work.entries(image) == [("one", (STORE, 4))]
    (reference,) = work.references
    assert (reference.target, reference.key_of(image)) == ("Store", (STORE,))
    assert [found.name for _, found in made.targets("Store")] == ["of_store"] and not list(
        made.targets("Box")
    )
    (table,) = [one for one in build(compiled(edited(SIZE, MADE))).tables if one.entity == "Box"]
    built = hidden(table, 2, work)
    assert built.name == "treadle_build_2" and not built.tombstones
    assert built.indexes[-1].name == "reference:of_store", "no declared index can be called so"


def test_a_row_that_would_be_too_large() -> None:
    """Fields may hold a mebibyte each, and a row no more than that in all."""
    most = limits.STRING_BYTES
    note = ("field note", f"field long: optional<string<{most}>>\n    field note")
    before = edited(note, version=1)
    after = edited(note, ("field long", f"field copy: optional<string<{most}>>\n    field long"), version=2)
    contracts = compiled(before), compiled(after)
    change = Change(*contracts, evolution.needs(*contracts))
    found = compile_migration("migrate 1 to 2 { field Box.copy = long }", change)
    assert found.migration is not None, found.render()
    work = MigrationPlan(*contracts, found.migration, TIME).works["Box"]
    row = (*box()[:6], "x" * (most // 2), *box()[6:])
    with pytest.raises(Unfit, match="the row would pass one mebibyte"):
        work.check(work.image(row))
    small = (*box()[:6], "x", *box()[6:])
    work.check(work.image(small))
