"""docs/formats/canonical.md and packing.md: their vectors and tables against the package."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.golden.formats import reference
from treadle.model import canonical, items, packing

VALUES, HASHES = reference.blocks("canonical.md")
(PACKED,) = reference.blocks("packing.md")


@pytest.mark.parametrize("vector", VALUES, ids=lambda vector: str(vector["value"])[:40])
def test_a_value_has_the_bytes_of_the_page(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    assert reference.value(vector["value"]) == data
    item = canonical.parse(data)
    assert canonical.render(item) == data
    assert item.tag == getattr(items, vector["value"][0].upper())


def test_every_tag_has_a_vector_and_a_row() -> None:
    rows = re.findall(r"^\| `([0-9a-f]{2})` \| ([a-z0-9]+) \|", reference.page("canonical.md"), re.M)
    assert {int(tag, 16): name for tag, name in rows} == {
        getattr(items, name.upper()): name for name in {vector["value"][0] for vector in VALUES}
    }
    assert sorted(int(tag, 16) for tag, _ in rows) == list(range(16))


@pytest.mark.parametrize("vector", HASHES, ids=lambda vector: vector["domain"])
def test_hashes(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["data"])
    if "key" in vector:
        key = bytes.fromhex(vector["key"])
        assert reference.keyed(key, vector["domain"], data).hex() == vector["keyed"]
        assert canonical.keyed(key, vector["domain"], data).hex() == vector["keyed"]
    else:
        assert reference.digest(vector["domain"], data).hex() == vector["digest"]
        assert canonical.digest(vector["domain"], data).hex() == vector["digest"]


def cell(value: Any) -> Any:
    if isinstance(value, dict):
        return bytes.fromhex(value["bytes"]) if "bytes" in value else int(value["int"])
    return value


@pytest.mark.parametrize("vector", PACKED, ids=lambda vector: str(vector["cells"])[:40])
def test_packed_tuples(vector: dict[str, Any]) -> None:
    cells = tuple(map(cell, vector["cells"]))
    assert packing.pack(cells).hex() == vector["hex"]
    assert packing.unpack(bytes.fromhex(vector["hex"])) == cells


def test_every_packed_tag_has_a_vector_and_a_row() -> None:
    rows = re.findall(r"^\| `([0-9a-f]{2})` \|", reference.page("packing.md"), re.M)
    assert set(rows) == {vector["hex"][:2] for vector in PACKED if vector["hex"]}
