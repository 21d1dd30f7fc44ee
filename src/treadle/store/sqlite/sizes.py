"""How much room the parts of a file take (see `treadle.ports.sizes`), from SQLite's table of its pages."""

from __future__ import annotations

from typing import Any, Final

from treadle.ports.sizes import Sizes

_PARTS: Final = {
    "treadle_log": "log",
    "treadle_receipts": "receipts",
    "treadle_events": "events",
    "treadle_entries": "entries",
    "treadle_quads": "graph",
    "treadle_graphs": "graph",
}
_OWN: Final = ("treadle_", "sqlite_")


def sizes(connection: Any) -> Sizes:
    """Bytes by what they hold; an index counts as its table."""
    found = dict.fromkeys(Sizes._fields, 0)
    text = (
        "SELECT s.tbl_name, sum(d.pgsize) FROM dbstat AS d LEFT JOIN sqlite_schema AS s ON s.name = d.name "
        "WHERE d.aggregate = TRUE GROUP BY 1"
    )
    for name, size in connection.execute(text):
        own = name is None or name.startswith(_OWN)
        found[_PARTS.get(name, "other" if own else "rows")] += size
    found["free"] = int(connection.pragma("freelist_count")) * int(connection.pragma("page_size"))
    return Sizes(**found)
