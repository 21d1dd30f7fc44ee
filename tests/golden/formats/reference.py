"""Canonical bytes a second time, written from docs/formats alone and for no speed at all.

It shares nothing with the package: what both agree on is what the page says.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import uuid
from pathlib import Path
from typing import Any

from tests.support.shared import ROOT

PAGES = Path(ROOT) / "docs" / "formats"


def page(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def blocks(name: str) -> list[list[dict[str, Any]]]:
    """The JSON blocks of a page, in order."""
    return [json.loads(found) for found in re.findall(r"^```json\n(.*?)^```$", page(name), re.M | re.S)]


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big", signed=value < 0)


def counted(size: int, data: bytes) -> bytes:
    return number(len(data), size) + data


def value(notation: list[Any]) -> bytes:
    """The bytes of a value in the page's notation: the type's name, then what its body says."""
    kind, rest = notation[0], notation[1:]
    match kind:
        case "null" | "false" | "true":
            return number(["null", "false", "true"].index(kind), 1)
        case "i64" | "u64" | "timestamp":
            return number({"i64": 3, "u64": 4, "timestamp": 5}[kind], 1) + number(int(rest[0]), 8)
        case "date":
            return b"\x06" + number(int(rest[0]), 4)
        case "uuid":
            return b"\x07" + uuid.UUID(rest[0]).bytes
        case "decimal":
            return b"\x08" + number(rest[0], 1) + number(int(rest[1]), 16)
        case "money":
            return b"\x09" + rest[0].encode() + number(int(rest[1]), 16)
        case "string":
            return b"\x0a" + counted(4, rest[0].encode())
        case "bytes":
            return b"\x0b" + counted(4, bytes.fromhex(rest[0]))
        case "enum":
            return b"\x0c" + counted(2, rest[0].encode())
        case "list":
            return b"\x0d" + number(len(rest[0]), 4) + b"".join(map(value, rest[0]))
        case "record":
            fields = sorted((name.encode(), value(item)) for name, item in rest[0].items())
            return b"\x0e" + number(len(fields), 2) + b"".join(counted(2, name) + raw for name, raw in fields)
        case "enclosed":
            return b"\x0f" + counted(4, value(rest[0]))
    raise AssertionError(kind)


def digest(domain: str, data: bytes) -> bytes:
    return hashlib.sha256(b"TREADLE\x00" + counted(1, domain.encode()) + data).digest()


def keyed(key: bytes, domain: str, data: bytes) -> bytes:
    return hmac.new(key, b"TREADLE\x00" + counted(1, domain.encode()) + data, hashlib.sha256).digest()
