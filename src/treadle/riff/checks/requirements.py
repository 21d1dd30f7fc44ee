"""C004, C006, C007 for requirements: conditions."""

from __future__ import annotations

from treadle.model import types as t
from treadle.riff.expressions import check_expression
from treadle.riff.scopes import CommandScope
from treadle.riff.symbols import Unit


def requirements(unit: Unit) -> None:
    for command in unit.commands:
        for block in command.blocks:
            scope = CommandScope(unit, command, block)
            for node in block.requires:
                check_expression(scope, node.expression, t.BOOL)
