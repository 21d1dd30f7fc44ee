"""C002 for an enum's variants."""

from __future__ import annotations

from treadle.riff.names import declare
from treadle.riff.symbols import Unit


def enums(unit: Unit) -> None:
    for enum in unit.enums.values():
        for name in enum.node.variants:
            declare(unit.report, enum.variants, name, f"variant of {enum.name}")
