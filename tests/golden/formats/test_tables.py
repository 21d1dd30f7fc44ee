"""The page on tables says what the SQLite store writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.tables import created
from treadle.model import types
from treadle.model.types import Type
from treadle.ports.store import Column, Table
from treadle.store.sqlite import open_database, schema
from treadle.store.sqlite.cells import column_type

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "tables.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


KINDS: dict[str, Type] = {
    str(kind): kind
    for kind in (
        types.BOOL,
        types.I64_,
        types.U64_,
        types.TIMESTAMP,
        types.DATE,
        types.UUID,
        types.Decimal(38, 2),
        types.Money("EUR"),
        types.String(9),
        types.Bytes(9),
        types.Enum("Colour"),
        types.List(types.U64_, 0, 9),
        types.List(types.UUID, 0, 9),
        types.List(types.Money("EUR"), 0, 9),
        types.List(types.String(9), 0, 9),
        types.Optional(types.U64_),
    )
}


def cell(kind: Type, written: Any) -> Any:
    """The cell that a vector writes down."""
    bare = types.required(kind)
    if written is None:
        return None
    if isinstance(bare, types.List):
        return tuple(cell(bare.item, item) for item in written)
    if isinstance(bare, types.Uuid | types.Bytes):
        return bytes.fromhex(written)
    if isinstance(bare, types.String | types.Enum):
        return written
    return written if isinstance(written, bool) else int(written)


@pytest.mark.parametrize("vector", json.loads(block("json")), ids=lambda vector: vector["type"])
def test_vectors(tmp_path, vector):
    kind = KINDS[vector["type"]]
    table = Table("E", "E", (Column("id", "id", types.U64_), Column("cell", "cell", kind)), 1, False)
    store = open_database(str(tmp_path / "work.db"))
    with store.write() as tx:
        tx.create_table(table)
        written = cell(kind, vector["cell"])
        change = created(table, (1, written))
        tx.write_rows(table, [change], [1])
        assert tx.rows(table, [(1,)])[0].cells == (1, written)  # type: ignore[union-attr]
        tx.commit()
    assert store._writer.execute("SELECT quote(cell) FROM E").fetchall() == [(vector["sql"],)]
    store.close()


def test_every_kind_of_column_is_on_the_page():
    rows = dict(re.findall(r"^\| ([a-z0-9, ]+) \| ([A-Z]+) \|", PAGE, re.MULTILINE))
    named = {name: column for names, column in rows.items() for name in names.split(", ")}
    for spelled, kind in KINDS.items():
        bare = types.required(kind)
        name = "enum" if isinstance(bare, types.Enum) else re.split(r"[<(]", str(bare))[0]
        assert named[name] == column_type(kind), spelled
    assert len(named) == 13 - 1


def test_the_tables_are_those_of_the_page():
    assert block("sql").split() == schema.TABLES.split()


def test_the_marks_are_those_of_the_page():
    assert f"`0x{schema.APPLICATION_ID:X}`" in PAGE
    assert f"format version {schema.FORMAT} " in PAGE
