"""What can be written at a place of a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from treadle.lsp.items import Item, fields, names
from treadle.lsp.query_place import QueryPlace, query_place
from treadle.lsp.query_words import QUERY_FORMS, QUERY_WORDS
from treadle.lsp.snippets import TYPES
from treadle.model import types as t
from treadle.riff.diagnostics import Extent
from treadle.riff.symbols import EntitySymbol, Unit
from treadle.riffql.names import REVISION
from treadle.riffql.parse import Parsed

_COMPARED: Final = "(EQUAL|UNEQUAL|LESS|AT_MOST|MORE|AT_LEAST|PREFIX|IN LPAR)"
_OPERANDS: Final = ("true", "false", "null")


def query_suggestions(parsed: Parsed, unit: Unit, offset: int) -> tuple[Extent, list[Item]]:
    """What can be written at an offset of a text of queries about a contract, and what it would replace."""
    here = query_place(parsed, offset)
    if here is None:
        return Extent(offset, offset), []
    found: dict[str, Item] = {}
    for item in _all(here, unit):
        found.setdefault(item.label, item)
    return here.word, sorted(found.values(), key=lambda item: item.rank)


def _all(here: QueryPlace, unit: Unit) -> Iterator[Item]:
    if here.path:
        yield from _parts(here, unit)
        return
    if "PARAMETER" in here.expected and here.parameters and not here.ends("LPAR|COMMA"):
        yield from (Item(f"${name}", "parameter", rank=0) for name in here.parameters)
    if here.ends("FROM"):
        yield from names("entity", unit.entities)
    elif "BOOL" in here.expected:
        yield from _types(unit)
    elif "IDENT" in here.expected:
        yield from _names(here, unit)
    yield from _words(here)


def _parts(here: QueryPlace, unit: Unit) -> Iterator[Item]:
    """What may follow a name and its dot."""
    row = _entity(here, unit, here.path)
    if here.path == "tx":
        yield Item("time", "builtin", "timestamp")
    elif row is not None:
        yield from _members(row)
    elif here.path in unit.enums:
        yield from names("variant", unit.enums[here.path].variants, here.path)
    elif here.path in unit.entities:
        yield from fields(unit.entities[here.path].fields)


def _entity(here: QueryPlace, unit: Unit, row: str) -> EntitySymbol | None:
    return unit.entities.get(here.rows[row]) if row in here.rows else None


def _members(entity: EntitySymbol) -> Iterator[Item]:
    yield from fields(entity.fields)
    if REVISION not in entity.fields:
        yield Item(REVISION, "builtin", "u64", QUERY_WORDS[REVISION], rank=2)


def _types(unit: Unit) -> Iterator[Item]:
    for name in unit.entities:
        yield Item(name, "entity", "the type of one of its fields", rank=0)
    yield from names("enum", unit.enums)


def _names(here: QueryPlace, unit: Unit) -> Iterator[Item]:
    shaped = _entity(here, unit, here.shaped)
    if here.answering and shaped is not None and not here.ends("COLON"):
        yield from _members(shaped)
        return
    if here.ends("ONE|MAYBE|MANY|QUERY|RETURN|ELSE|OUTCOMES|BAR") or (here.answering and not here.begun):
        return
    own = _entity(here, unit, here.own)
    compared = here.ends(_COMPARED)
    for name, entity in here.rows.items():
        yield Item(name, "row", f"a row of {entity}", rank=2 if compared else 0)
    if compared:
        yield Item("tx.time", "builtin", "timestamp", QUERY_WORDS.get("tx.time", ""), rank=3)
        for name, enum in unit.enums.items():
            for variant in enum.variants:
                yield Item(f"{name}.{variant}", "variant", rank=1)
    elif own is not None and not here.answering:
        yield from fields(own.fields, t.BOOL)


def _words(here: QueryPlace) -> Iterator[Item]:
    for kind in here.keywords:
        text = here.driver.table.texts[kind]
        rank = 7 if text in _OPERANDS else 5
        form = TYPES.get(text) or QUERY_FORMS.get(text, "")
        yield Item(text, "word", "", QUERY_WORDS.get(text, ""), rank, form)
