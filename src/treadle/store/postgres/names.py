"""Names in PostgreSQL: quoted, short enough, and none that the system keeps for itself."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

MOST_BYTES: Final = 63
"""PostgreSQL cuts longer names silently."""

_HASH_DIGITS: Final = 10

_SYSTEM_COLUMNS: Final = frozenset(("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"))


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def fitted(name: str) -> str:
    """The name, or its beginning and a hash of the whole where it is too long for PostgreSQL."""
    raw = name.encode()
    if len(raw) <= MOST_BYTES:
        return name
    kept = raw[: MOST_BYTES - _HASH_DIGITS - 1].decode(errors="ignore")
    return f"{kept}~{sha256(raw).hexdigest()[:_HASH_DIGITS]}"


def column_name(name: str) -> str:
    """A column's name; every table has a few that are PostgreSQL's own, and no field is called with a ~."""
    return f"{name}~" if name in _SYSTEM_COLUMNS else name
