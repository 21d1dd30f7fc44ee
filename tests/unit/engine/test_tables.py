"""A contract's tables from one version to the next: created, altered, replaced, made anew, dropped."""

from __future__ import annotations

import pytest

from tests.support.depot import SOURCE, compiled, edited, without
from treadle.engine.state import Deployed
from treadle.engine.tables import grows, install, named_anew, successor
from treadle.errors import InvariantBroken
from treadle.model.facts import RowChange
from treadle.ports.store import Store
from treadle.store.memory import MemoryStore

ALL = ("  entity Label", "  bulk command AddLabels", "  reimport command")
LABELS = (*map(without, ALL), without("  aggregate Labels", "}\n"), without("  row policy", "}\n"))
ROW = (b"s" * 16, b"l" * 16, "text")


def deployed(source: str, store: Store, active: Deployed | None = None) -> Deployed:
    with store.write() as tx:
        found = successor(tx, active, compiled(source))
        install(tx, active, found, {})
        tx.commit()
    return found


def with_a_label(store: Store, active: Deployed) -> None:
    with store.write() as tx:
        tx.write_rows(active.tables["Label"], [RowChange("Label", ROW[:2], None, 1, ROW)], [1])
        tx.commit()


def test_names_are_fixed_when_tables_are_made() -> None:
    store = MemoryStore()
    first = deployed(SOURCE, store)
    assert first.tables["Box"].name == "Box" and first.tables["Box"].prefix == ""
    with store.read() as tx:
        again = successor(tx, first, compiled(edited()))
    assert again.tables == first.tables


def test_what_is_built_anew_has_other_names_for_its_indexes() -> None:
    tables = deployed(SOURCE, MemoryStore()).tables
    once = named_anew({}, tables, ["Box"])
    assert once == {"Box:indexes": "Box.2"}
    again = named_anew(once, {"Box": tables["Box"]._replace(prefix="Box.2")}, ["Box"])
    assert again == {"Box:indexes": "Box.3"}


def test_what_grows_is_altered() -> None:
    store = MemoryStore()
    first = deployed(SOURCE, store)
    with_a_label(store, first)
    second = deployed(edited(("field text", "field size: optional<u64>\n    field text")), store, first)
    assert grows(first.tables["Label"], second.tables["Label"])
    with store.read() as tx:
        assert tx.scan(second.tables["Label"], None, 9)[0].cells == (*ROW[:2], None, "text")


@pytest.mark.parametrize(
    "edits",
    [
        (("text: string<20>", "text: string<21>"), ("region: string<20>", "region: string<21>")),
        (
            ("field text", "field size: u64\n    field text"),
            ("set made.text", "set made.size = 1 set made.text"),
        ),
        (("reference of_store", "index by_text (store_id, text)\n    reference of_store"),),
        LABELS,
    ],
)
def test_what_does_not_grow_is_made_anew_only_without_rows(edits: tuple[tuple[str, str], ...]) -> None:
    store = MemoryStore()
    first = deployed(SOURCE, store)
    assert deployed(edited(*edits), store, first).version == 2
    store = MemoryStore()
    first = deployed(SOURCE, store)
    with_a_label(store, first)
    with pytest.raises(InvariantBroken):
        deployed(edited(*edits), store, first)


def test_a_table_that_went_comes_back_under_its_name() -> None:
    store = MemoryStore()
    first = deployed(SOURCE, store)
    second = deployed(edited(*LABELS), store, first)
    assert "Label" not in second.tables
    third = deployed(edited(version=3), store, second)
    with_a_label(store, third)
    with store.read() as tx:
        assert tx.scan(third.tables["Label"], None, 9)[0].cells == ROW


def test_entries_of_a_unique_that_went_are_gone() -> None:
    store = MemoryStore()
    first = deployed(SOURCE, store)
    held = ("Box", "by_weight", (b"s" * 16, 7))
    with store.write() as tx:
        tx.write_uniques([], [(held, (b"s" * 16, b"b" * 16))])
        tx.commit()
    unique = ("    unique by_weight (store_id, weight)\n", "")
    deployed(edited(unique, (" conflict by_weight WeightTaken {}", "")), store, first)
    with store.read() as tx:
        assert tx.holders([held]) == [None]
