"""C037 and C038: the evidence of a transition or lease operation is an input itself, never computed.

Generated clients then make it a parameter that the caller must state.
"""

from __future__ import annotations

from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.expressions import check_expression
from treadle.riff.scopes import CommandScope
from treadle.riff.symbols import BlockSymbol, CommandSymbol, Unit, direct_input


def direct(
    unit: Unit,
    command: CommandSymbol,
    block: BlockSymbol,
    code: str,
    what: str,
    node: s.Expression,
    kind: t.Type,
) -> None:
    """Refuse anything but a direct input of this type."""
    check_expression(CommandScope(unit, command, block), node)
    name = direct_input(node, command)
    if name is None:
        message = f"the {what} is a direct input of {kind}; declare `input {what}: {kind}` and name it here"
        unit.report.add(code, node.at, message)
        return
    declared, found = command.inputs[name]
    if found not in (None, kind):
        message = f"the {what} is an input of {kind}; `{name}` is {found}"
        unit.report.add(code, node.at, message, related=[("the input is here", declared.name.at)])
