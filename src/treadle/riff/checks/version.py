"""C001: a contract's version is 1 to 2⁶⁴−1."""

from __future__ import annotations

from treadle.limits import U64_MAX
from treadle.riff.symbols import Unit


def version(unit: Unit) -> None:
    number = unit.tree.version
    if not 1 <= number.value <= U64_MAX:
        unit.report.add("C001", number.at, f"a contract's version is a number from 1 to {U64_MAX}")
