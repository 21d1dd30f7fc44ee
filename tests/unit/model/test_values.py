"""The codec: what comes out, and the encoders by name."""

from __future__ import annotations

import datetime
import threading
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from tests.unit.model.everything import AT, AT_CELL, CELLS, CONTRACT, JSON, PYTHON, SHOP, STATE, THING, codec
from treadle.errors import DatabaseCorrupt, InvalidInput, InvariantBroken
from treadle.model import canonical
from treadle.model import types as t
from treadle.model.values import Codec, datetime_of, parse_word, timestamp_text

CODEC = codec()


def test_a_row_comes_out_as_python_values() -> None:
    found = CODEC.python(THING)(CELLS)
    assert found == {**PYTHON, "tags": ["a", "b"]}
    assert list(found) == list(PYTHON)
    assert found["at"].tzinfo is datetime.UTC
    assert isinstance(found["shop_id"], UUID)
    assert str(found["price"]) == "12.50"


def test_a_row_comes_out_as_json_values_that_go_in_again() -> None:
    found = CODEC.json(THING)(CELLS)
    assert found == JSON
    assert CODEC.reader(THING)(found, "x") == CELLS


def test_integers_as_strings_where_asked() -> None:
    found = CODEC.json(THING, integers_as_strings=True)(CELLS)
    assert (found["number"], found["balance"], found["open"]) == ("18446744073709551615", str(-(2**63)), True)
    assert CODEC.reader(THING)(found, "x") == CELLS


@pytest.mark.parametrize(
    "cell, text",
    [
        (0, "1970-01-01T00:00:00Z"),
        (-62_135_596_800_000_000, "0001-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (AT_CELL, "2026-11-30T20:15:00.250000Z"),
    ],
)
def test_times_as_text(cell: int, text: str) -> None:
    assert timestamp_text(cell) == text
    assert CODEC.reader(t.TIMESTAMP)(text, "x") == cell
    assert CODEC.reader(t.TIMESTAMP)(datetime_of(cell), "x") == cell


@pytest.mark.parametrize(
    "kind, cell, python, wire",
    [
        (t.Decimal(5, 0), -7, Decimal("-7"), "-7"),
        (t.Decimal(5, 5), -7, Decimal("-0.00007"), "-0.00007"),
        (t.Decimal(38, 38), 0, Decimal("0E-38"), "0." + "0" * 38),
        (t.Money("EUR"), -5, Decimal("-0.05"), "-0.05"),
        (t.Optional(t.DATE), None, None, None),
        (t.Optional(t.DATE), 0, datetime.date(1970, 1, 1), "1970-01-01"),
        (t.List(t.Optional(t.UUID), 0, 9), (None, bytes(16)), [None, UUID(int=0)], [None, str(UUID(int=0))]),
        (t.Bytes(5), b"", b"", ""),
    ],
)
def test_python_and_json_of_a_cell(kind: t.Type, cell: Any, python: Any, wire: Any) -> None:
    assert CODEC.python(kind)(cell) == python
    assert CODEC.json(kind)(cell) == wire
    assert CODEC.reader(kind)(python, "x") == cell
    assert CODEC.reader(kind)(wire, "x") == cell


def test_encoders_by_name_give_what_a_reader_without_schema_sees() -> None:
    image = CODEC.row_encoder("Thing")(CELLS)
    shown = {name: value for name, value in PYTHON.items() if value is not None}
    assert canonical.decode(image) == {**shown, "tags": ["a", "b"]}
    assert CODEC.row_decoder("Thing")(image) == CELLS
    assert CODEC.encoder(THING)(CELLS) == image

    key = CODEC.key_encoder("Thing")(CELLS[:2])
    assert canonical.decode(key) == [SHOP, 2**64 - 1]
    assert CODEC.key_decoder("Thing")(key) == CELLS[:2]

    made = CODEC.outcome_encoder("Make", "Made")((CELLS, None))
    assert canonical.decode(made) == {"thing": canonical.decode(image)}
    assert CODEC.outcome_decoder("Make", "Made")(made) == (CELLS, None)
    assert CODEC.outcome_encoder("Make", "Missing")(()) == b"\x0e\x00\x00"
    assert CODEC.outcome_encoder("RestoreThings", "Restored")(()) == b"\x0e\x00\x00"

    event = CODEC.event_encoder("ThingMade")((AT_CELL, SHOP.bytes))
    assert canonical.decode(event) == {"at": AT, "shop_id": SHOP}
    assert CODEC.event_decoder("ThingMade")(event) == (AT_CELL, SHOP.bytes)
    assert canonical.decode(CODEC.partition_encoder("ThingMade")((SHOP.bytes,))) == [SHOP]
    assert CODEC.partition_decoder("ThingMade")(CODEC.partition_encoder("ThingMade")((SHOP.bytes,))) == (
        SHOP.bytes,
    )

    sealed = CODEC.services_encoder("Make")((SHOP.bytes, AT_CELL))
    assert canonical.decode(sealed) == {"made_id": SHOP, "made_at": AT}
    assert CODEC.services_decoder("Make")(sealed) == (SHOP.bytes, AT_CELL)


def test_facts() -> None:
    facts = CODEC.facts_reader({"team": "blue", "shops": [str(SHOP)]})
    assert facts == {"team": "blue", "shops": (SHOP.bytes,)}
    assert CODEC.facts_decoder(CODEC.facts_encoder(facts)) == facts
    assert CODEC.facts_decoder(CODEC.facts_encoder({"team": "blue"})) == {"team": "blue"}
    assert CODEC.facts_reader({"shops": []}) == {"shops": ()}
    assert CODEC.facts_reader({"team": None}) == {}
    with pytest.raises(InvalidInput, match=r"facts\.tem"):
        CODEC.facts_reader({"tem": "blue"})
    with pytest.raises(InvalidInput, match=r"facts\.shops\[0\]"):
        CODEC.facts_reader({"shops": ["x"]})


def test_fields_of_ones_own_choosing() -> None:
    fields = CONTRACT.entities[0].fields[-2:]
    encode, decode = CODEC.fields_encoder(fields), CODEC.fields_decoder(fields)
    for cells in ((None, None), ("n", None), (None, SHOP.bytes), ("n", SHOP.bytes)):
        assert decode(encode(cells)) == cells


def test_what_does_not_exist_is_an_error_of_ours() -> None:
    for ask in (
        lambda: CODEC.row_encoder("Nothing"),
        lambda: CODEC.key_encoder("Nothing"),
        lambda: CODEC.event_encoder("Nothing"),
        lambda: CODEC.outcome_encoder("Make", "Nothing"),
        lambda: CODEC.outcome_encoder("Nothing", "Made"),
    ):
        with pytest.raises(InvariantBroken):
            ask()


def test_a_decoder_refuses_the_bytes_of_another_type() -> None:
    data = CODEC.encoder(t.U64_)(5)
    for kind in (
        t.I64_,
        t.TIMESTAMP,
        t.BOOL,
        t.DATE,
        t.UUID,
        t.String(9),
        t.Bytes(9),
        STATE,
        THING,
        t.Decimal(9, 2),
    ):
        with pytest.raises(DatabaseCorrupt):
            CODEC.decoder(kind)(data)
    with pytest.raises(DatabaseCorrupt):
        CODEC.decoder(t.Decimal(9, 2))(CODEC.encoder(t.Decimal(9, 3))(5))
    with pytest.raises(DatabaseCorrupt):
        CODEC.decoder(t.Money("EUR"))(CODEC.encoder(t.Money("USD"))(5))


@pytest.mark.parametrize(
    "kind, text, value",
    [
        (t.BOOL, "true", True),
        (t.BOOL, "false", False),
        (t.U64_, "7", 7),
        (t.String(9), "null", "null"),
        (t.Optional(t.String(9)), "null", "null"),
        (t.Optional(t.U64_), "null", None),
        (t.Optional(t.U64_), "7", 7),
        (STATE, "Done", "Done"),
        (t.DATE, "1970-01-02", 1),
        (t.Bytes(4), "AP8=", b"\x00\xff"),
    ],
)
def test_words_of_a_command_line(kind: t.Type, text: str, value: Any) -> None:
    assert CODEC.reader(kind)(parse_word(kind, text), "x") == value


@pytest.mark.parametrize("kind", [t.List(t.U64_, 0, 3), THING, t.Optional(t.List(t.U64_, 0, 3))])
def test_compounds_have_no_bare_word(kind: t.Type) -> None:
    with pytest.raises(InvalidInput, match="write name:=JSON"):
        parse_word(kind, "[1]")


@pytest.mark.parametrize("word", ["True", "1", "yes", ""])
def test_only_true_and_false_are_bools(word: str) -> None:
    with pytest.raises(InvalidInput, match="write true or false"):
        parse_word(t.BOOL, word)


@pytest.mark.parametrize(
    "kind, cell, text",
    [
        (t.U64_, 5, "5"),
        (t.BOOL, True, "true"),
        (t.Optional(t.U64_), None, "null"),
        (t.String(99), "plain né", "plain né"),
        (t.String(99), "", '""'),
        (t.String(99), "a\x1b[31m\u202eb\n", "a\\x1b[31m\\u202eb\\n"),
        (t.List(t.String(9), 0, 9), ("a", "\x1b"), '["a", "\\u001b"]'),
        (t.UUID, SHOP.bytes, str(SHOP)),
    ],
)
def test_cells_on_a_terminal(kind: t.Type, cell: Any, text: str) -> None:
    assert CODEC.format_cell(kind, cell) == text
    assert CODEC.format_cell(kind, cell).isprintable()


def test_a_codec_may_be_used_by_many_threads_at_once() -> None:
    fresh = Codec(CONTRACT)
    found: list[Any] = []

    def work() -> None:
        data = fresh.row_encoder("Thing")(fresh.reader(THING)(JSON, "x"))
        found.append(fresh.row_decoder("Thing")(data))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [CELLS] * 8
