"""The language's types as JSON Schema: what the reader takes, the schema takes, and the other way round."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from tests.support.query_contract import contract
from treadle.errors import InvalidInput
from treadle.model import types as t
from treadle.model.values import Codec
from treadle.server.schemas import Schemas

GOOD_AND_BAD: list[tuple[t.Type, list[Any], list[Any]]] = [
    (t.Bool(), [True], [1, "true", None]),
    (t.U64(), [0, 2**64 - 1, "7", "0"], [-1, 2**64, 1.5, "07", "-1", "x", True]),
    (t.I64(), [-(2**63), 2**63 - 1, "-7"], [2**63, "+7", "--1", None]),
    (t.Timestamp(), ["2030-01-01T00:00:00Z", "2030-01-01T00:00:00.123456+02:00"],
     ["2030-01-01T00:00:00", "2030-01-01", "2030-01-01T00:00:00.1234567Z", 7]),
    (t.Date(), ["2030-01-01"], ["2030-1-1", "2030-02-30", 7]),
    (t.Uuid(), ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567", 7]),
    (t.Decimal(5, 2), ["0", "-1.5", "999.99"], ["1.234", "1000", "01", "1e3", 1.5, "+1", ""]),
    (t.Decimal(3, 3), ["0.999", "0"], ["1.0", "0.9999"]),
    (t.Money("EUR"), ["1.50"], ["1.505", 1]),
    (t.String(5), ["", "abcde"], ["abcdef", "a\0", 7]),
    (t.Bytes(3), ["", "AAEC", "AA=="], ["A", "AAECAAEC", "AA", "AA==\n", 7]),
    (t.Optional(t.U64()), [None, 7], ["x"]),
    (t.List(t.U64(), 1, 2), [[1], [1, 2]], [[], [1, 2, 3], ["x"], 7]),
    (t.Enum("Colour"), ["Red"], ["red", "", 7]),
]  # fmt: skip


@pytest.mark.parametrize("kind, good, bad", GOOD_AND_BAD, ids=lambda one: str(one)[:20])
def test_schema_and_reader_agree(kind: t.Type, good: list[Any], bad: list[Any]) -> None:
    schemas = Schemas(contract())
    read = Codec(contract()).reader(kind)
    schema = schemas.schema(kind, out=False) | {"components": {"schemas": schemas.components()}}
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    for value in good:
        read(value, "x")
        assert validator.is_valid(value), value
    for value in bad:
        with pytest.raises(InvalidInput):
            read(value, "x")
        assert not validator.is_valid(value), value


def test_a_record_goes_out_whole_and_comes_in_without_absent_optionals() -> None:
    components = Schemas(contract()).components()
    assert set(components["Item"]["required"]) == set(components["Item"]["properties"])
    assert (
        "o_flag" not in components["Item.input"]["required"]
        and "flag" in components["Item.input"]["required"]
    )
    assert components["Colour"] == {"type": "string", "enum": ["Red", "Green", "Blue"]}
