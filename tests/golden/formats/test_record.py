"""docs/formats/record.md: its vectors and its table of fields against the package."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.golden.formats import reference
from treadle.model import canonical, record
from treadle.model.facts import RevisionFact
from treadle.model.record import EventImage, LogRecord, RowImage

(RECORDS,) = reference.blocks("record.md")
TABLE = re.findall(
    r"^\| `(\w+)` \| `(\w+)` \| ([a-z0-9, ]+) \| (yes)? ?\|", reference.page("record.md"), re.M
)
BYTES = {
    "previous", "request", "tenant", "facts", "services", "contract", "identity", "input_hash", "input",
    "fields", "body",
}  # fmt: skip


def attribute(name: str, value: Any) -> Any:
    """An attribute of LogRecord from the page's JSON."""
    if name in BYTES:
        return bytes.fromhex(value)
    match name:
        case "revisions":
            return tuple(RevisionFact(**item) for item in value)
        case "changes":
            return tuple(RowImage(**{key: unhex(key, item[key]) for key in item}) for item in value)
        case "events":
            return tuple(EventImage(**{key: unhex(key, item[key]) for key in item}) for item in value)
        case "quads_removed" | "quads_added":
            return tuple(tuple(quad) for quad in value)
        case _:
            return tuple(value) if isinstance(value, list) else value


def unhex(key: str, value: Any) -> Any:
    return (
        bytes.fromhex(value)
        if key in ("key", "image", "partition", "fields") and value is not None
        else value
    )


def of(vector: dict[str, Any]) -> LogRecord:
    return LogRecord(**{name: attribute(name, value) for name, value in vector["attributes"].items()})


@pytest.mark.parametrize("vector", RECORDS, ids=lambda vector: str(vector["attributes"]["name"] or "update"))
def test_a_record_has_the_bytes_of_the_page(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    assert record.encode(of(vector)) == data
    assert record.decode(data) == of(vector)
    assert canonical.render(canonical.parse(data)) == data
    assert record.receipt_bytes(of(vector)).hex() == vector["receipt"]


def test_the_records_follow_each_other() -> None:
    previous = record.GENESIS
    for number, vector in enumerate(RECORDS, start=1):
        data = bytes.fromhex(vector["hex"])
        assert (of(vector).number, of(vector).previous) == (number, previous)
        assert reference.digest("treadle.log/v1", previous + data).hex() == vector["hash"]
        previous = record.chain(previous, data)
        assert previous.hex() == vector["hash"]


NOTATION = {"u64": "u64", "timestamp": "timestamp", "string": "string", "uuid": "uuid"}


def spelled(name: str, kind: str, value: Any) -> bytes:
    """A field's bytes as the page's table says, by the second implementation."""
    if kind == "true":
        return reference.value(["true"])
    if kind == "bytes, 32":
        return reference.value(["bytes", value.hex()])
    if kind == "enclosed":
        return b"\x0f" + reference.counted(4, value)
    if kind == "uuid":
        return b"\x07" + bytes(value)
    if kind == "list":
        return b"\x0d" + reference.number(len(value), 4) + b"".join(entry(name, item) for item in value)
    return reference.value([kind, str(value)])


def entry(name: str, item: Any) -> bytes:
    if isinstance(item, str):
        return reference.value(["string", item])
    if not hasattr(item, "_asdict"):
        return reference.value(["list", [["string", text] for text in item]])
    kinds = {str: "string", int: "u64", bytes: "enclosed"}
    fields = {
        key: spelled(key, kinds[type(value)], value)
        for key, value in item._asdict().items()
        if value is not None
    }
    return record_of(fields)


def record_of(fields: dict[str, bytes]) -> bytes:
    ordered = sorted((name.encode(), raw) for name, raw in fields.items())
    return (
        b"\x0e"
        + reference.number(len(ordered), 2)
        + b"".join(reference.counted(2, name) + raw for name, raw in ordered)
    )


@pytest.mark.parametrize("vector", RECORDS, ids=lambda vector: str(vector["attributes"]["name"] or "update"))
def test_the_table_alone_gives_the_bytes(vector: dict[str, Any]) -> None:
    stored = of(vector)
    fields = {}
    for name, attribute_name, kind, always in TABLE:
        value = getattr(stored, attribute_name)
        if always or (value is not None and value is not False and value != ()):
            fields[name] = spelled(name, kind, value)
    assert record_of(fields).hex() == vector["hex"]


def test_the_table_lists_every_attribute_and_the_vectors_use_them() -> None:
    assert {name for _, name, _, _ in TABLE} == set(LogRecord._fields)
    assert set(LogRecord._fields) == {name for vector in RECORDS for name in vector["attributes"]}
