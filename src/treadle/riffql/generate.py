"""Make the parse table from the grammar: `python -m treadle.riffql.generate`. Only this needs Lark."""

from __future__ import annotations

from treadle.riff import generate
from treadle.riffql.language import GRAMMAR, TABLE

START = "module"


def make() -> bytes:
    """The bytes of the table file."""
    return generate.make(GRAMMAR, START)


if __name__ == "__main__":
    TABLE.write_bytes(make())
    print(f"wrote {TABLE.name}: {TABLE.stat().st_size} bytes")
