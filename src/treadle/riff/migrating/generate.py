"""Make the parse table: `python -m treadle.riff.migrating.generate`. Only this needs Lark."""

from __future__ import annotations

from treadle.riff import generate
from treadle.riff.migrating.language import GRAMMAR, TABLE

START = "migration"


def make() -> bytes:
    """The bytes of the table file."""
    return generate.make(GRAMMAR, START)


def files() -> dict[str, bytes]:
    """The table by its path in the repository, for the register of generated files."""
    return {"src/treadle/riff/migrating/migrating.table.json": make()}


if __name__ == "__main__":
    TABLE.write_bytes(make())
    print(f"wrote {TABLE.name}: {TABLE.stat().st_size} bytes")
