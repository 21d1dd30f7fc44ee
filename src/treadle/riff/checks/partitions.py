"""C017: a command stays within one partition, its events too."""

from __future__ import annotations

from treadle.model import contract as m
from treadle.riff import syntax as s
from treadle.riff.expressions import children
from treadle.riff.symbols import BindingSymbol, CommandSymbol, Unit, substitute
from treadle.riff.walk import arguments, known


def partitions(unit: Unit) -> None:
    for command in unit.commands:
        first: BindingSymbol | None = None
        for binding in command.bindings:
            found = _partition(binding)
            if found is None:
                continue
            if _of_element(found):
                message = (
                    "each element would be in a partition of its own; use an input that all elements share"
                )
                unit.report.add("C017", binding.node.entity.at, message)
            elif first is None:
                first, command.partition = binding, found
            elif found != command.partition:
                message = f"this row is in another partition than `{first.name}`; a command stays within one"
                related = [(f"`{first.name}` is bound here", first.at)]
                unit.report.add("C017", binding.node.entity.at, message, related=related)
        for effect, _ in command.effects():
            if isinstance(effect, s.Emit):
                _emit(unit, command, effect)


def _partition(binding: BindingSymbol) -> m.Expr | None:
    """The partition of a binding's row, over the command's inputs."""
    held = arguments(binding)
    partition = binding.entity.partition() if binding.entity else None
    return substitute(partition, held) if partition is not None and held is not None else None


def _of_element(expr: m.Expr) -> bool:
    return isinstance(expr, m.Element | m.ElementField) or any(map(_of_element, children(expr)))


def _emit(unit: Unit, command: CommandSymbol, node: s.Emit) -> None:
    event = unit.events.get(node.event.text)
    if event is None or command.partition is None:
        return
    values = {entry.name.text: entry.value for entry in node.payload.entries}
    for name in event.node.partition_by:
        found = unit.expr(values[name.text]) if name.text in values else None
        if found is not None and known(command, found) != command.partition:
            message = f"the event's partition `{name.text}` is not the command's; give it the same value"
            related = [(f"`{name.text}` is given here", values[name.text].at)]
            unit.report.add("C017", node.event.at, message, related=related)
