"""C026 and C036: what a command writes into a unique is known from its input alone.

The entries that a command needs are fetched before it runs, so each part of a new one is an input, a
constant, a loop element or a key; what changes one part of a row's unique gives all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from treadle.model import contract as m
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.expressions import children
from treadle.riff.symbols import BindingSymbol, BlockSymbol, CommandSymbol, EntitySymbol, Unit
from treadle.riff.walk import known


def unique_parts(unit: Unit) -> None:
    for command in unit.commands:
        for binding in command.bindings:
            if (
                binding.entity is not None
                and binding.entity.uniques
                and binding.kind not in ("read", "delete")
            ):
                _binding(unit, command, binding, binding.entity)


Given = dict[str, tuple[Extent, m.Expr | None]]


def _binding(unit: Unit, command: CommandSymbol, binding: BindingSymbol, entity: EntitySymbol) -> None:
    initial: Given = {}
    for entry in binding.node.initialize.entries if binding.node.initialize else ():
        initial[entry.name.text] = entry.name.at, unit.expr(entry.value)
    written = {id(block): given for block, given in _writes(unit, command, binding)}
    top = written.get(id(binding.block), {})
    for unique in entity.uniques.values():
        _values(unit, command, binding, unique, initial)
        for given in written.values():
            _values(unit, command, binding, unique, given)
            if binding.kind != "create":
                _together(unit, entity, unique, {**top, **given})


def _writes(
    unit: Unit, command: CommandSymbol, binding: BindingSymbol
) -> Iterator[tuple[BlockSymbol, Given]]:
    """The fields that a binding's row gets, block by block; a transition and a claim count too."""
    for block in command.blocks:
        given: Given = {}
        for effect in block.effects:
            match effect:
                case s.Set() if len(effect.target.parts) == 2 and effect.target.parts[0].text == binding.name:
                    given[effect.target.parts[1].text] = effect.target.at, unit.expr(effect.value)
                case s.DoTransition() if effect.binding.text == binding.name:
                    given |= _moved(binding, effect)
                case s.DoLease() if effect.binding.text == binding.name and effect.op == "claim":
                    given |= _claimed(binding, effect)
                case _:
                    pass
        if given:
            yield block, given


def _moved(binding: BindingSymbol, effect: s.DoTransition) -> Given:
    workflow = binding.entity.workflow if binding.entity else None
    node = workflow.transitions.get(effect.transition.text) if workflow else None
    if workflow is None or workflow.enum is None or node is None:
        return {}
    name = node.destination.text
    value = m.Variant(workflow.enum.name, name, t.Enum(workflow.enum.name))
    return {workflow.node.state.text: (effect.transition.at, value)}


def _claimed(binding: BindingSymbol, effect: s.DoLease) -> Given:
    """A claim counts fence and attempts up from the row's: no value that the input tells."""
    lease = binding.entity.lease if binding.entity else None
    if lease is None:
        return {}
    counters = [lease.fencing_token, *([lease.attempts] if lease.attempts else [])]
    counted = m.BindingField(binding.name, lease.fencing_token.text, t.U64_)
    return {name.text: (effect.lease.at, counted) for name in counters}


def _values(
    unit: Unit, command: CommandSymbol, binding: BindingSymbol, unique: s.Unique, given: Given
) -> None:
    for name in unique.fields:
        at, value = given.get(name.text, (binding.at, None))
        if value is None:
            continue
        related = [("the unique is here", unique.name.at)]
        found = _unknown(command, known(command, value))
        if isinstance(found, m.Service):
            message = f"unique {unique.name.text} cannot hold the service value `{found.name}`; use an input"
            unit.report.add("C036", at, message, related=related)
        elif found is not None:
            message = (
                f"`{name.text}` is part of unique {unique.name.text}; give it an input, a constant or a key"
            )
            unit.report.add("C026", at, message, related=related)


def _unknown(command: CommandSymbol, expr: m.Expr) -> m.Expr | None:
    """The part of an expression that the input does not tell, or None."""
    if isinstance(expr, m.BindingField | m.BindingRow | m.TxTime | m.Service):
        return expr
    for child in children(expr):
        found = _unknown(command, known(command, child))
        if found is not None:
            return found
    return None


def _together(unit: Unit, entity: EntitySymbol, unique: s.Unique, given: Given) -> None:
    """A changed entry needs all its parts: those that are not given are the row's, and not yet known."""
    parts = (
        [name.text for name in unique.fields if not entity.fields[name.text].key]
        if _sound(entity, unique)
        else []
    )
    changed = [name for name in parts if name in given]
    kept = [name for name in parts if name not in given]
    if changed and kept:
        message = f"this changes part of unique {unique.name.text}; set {', '.join(kept)} too, from inputs"
        related = [("the unique is here", unique.name.at)]
        unit.report.add("C026", given[changed[0]][0], message, related=related)


def _sound(entity: EntitySymbol, unique: s.Unique) -> bool:
    return all(name.text in entity.fields for name in unique.fields)
