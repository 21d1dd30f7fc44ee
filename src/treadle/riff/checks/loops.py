"""C005 and C020 for bulk commands: one list, never empty, with a bound; so many rows at most."""

from __future__ import annotations

from treadle.limits import BULK_ELEMENTS, BULK_MUTATIONS
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.symbols import BindingSymbol, BlockSymbol, CommandSymbol, Unit


def loops(unit: Unit) -> None:
    for command in unit.commands:
        if command.node.bulk and command.loop is not None:
            _lists(unit, command)
            _mutations(unit, command)


def _lists(unit: Unit, command: CommandSymbol) -> None:
    looped = command.loop.node.input.text if command.loop else ""
    for name, (node, kind) in command.inputs.items():
        if not isinstance(kind, t.List):
            continue
        if name != looped:
            message = f"a bulk command has one list, the one of its `for`; `{name}` is a second"
            unit.report.add("C005", node.name.at, message)
        elif isinstance(node.type, s.ListType):
            _bounds(unit, node.type)


def _bounds(unit: Unit, node: s.ListType) -> None:
    if node.minimum is None:
        message = f"the list of a bulk command has a minimum; write 1..{node.maximum.text}"
        unit.report.add("C005", node.maximum.at, message)
    elif node.minimum.value < 1:
        unit.report.add("C005", node.minimum.at, "the list of a bulk command is never empty; write 1 or more")
    if node.maximum.value > BULK_ELEMENTS:
        message = f"a bulk command takes {node.maximum.text} elements here, at most {BULK_ELEMENTS:,}"
        unit.report.add("C020", node.maximum.at, message)


def _rows(binding: BindingSymbol) -> int:
    """Rows that a binding may write by itself; a cascade takes others along."""
    if binding.kind in ("read", "observe_or_initialize"):
        return 0
    policy = binding.entity.policy if binding.entity and binding.kind == "delete" else None
    return (
        1 + sum(each.maximum.value for each in policy.relationships)
        if isinstance(policy, s.CascadePolicy)
        else 1
    )


def _writes(block: BlockSymbol) -> int:
    """Rows that one run of a block may write: its writing bindings, and the largest arm of each decision."""
    own = sum(map(_rows, block.bindings))
    for decision in block.decisions:
        arms = [_writes(inner) for _, inner in decision.arms if inner is not None]
        own += max(arms, default=0) + (decision.node.observe is not None)
    return own


def _mutations(unit: Unit, command: CommandSymbol) -> None:
    loop = command.loop
    if loop is None or not 1 <= loop.maximum <= BULK_ELEMENTS:
        return
    each, once = _writes(loop.block), _writes(command.block)
    total = each * loop.maximum + once
    if each and total > BULK_MUTATIONS:
        at = Extent(loop.node.at.start, loop.node.at.start + len("for"))
        message = (
            f"this command may write {total:,} rows ({each} for each element), at most {BULK_MUTATIONS:,}"
        )
        help = f"a list of at most {max(0, BULK_MUTATIONS - once) // each:,} elements fits"
        unit.report.add("C020", at, message, help=help)
