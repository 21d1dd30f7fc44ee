"""C024: a command that writes a reference holds the row that it refers to."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.model import contract as m
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.symbols import BindingSymbol, BlockSymbol, CommandSymbol, Unit
from treadle.riff.walk import arguments, known

Key = tuple[str, tuple[m.Expr, ...]]


def reference_targets(unit: Unit) -> None:
    for command in unit.commands:
        held = _held(command)
        for binding in command.bindings:
            if binding.entity is None or binding.kind in ("read", "delete") or not binding.key:
                continue
            for reference in binding.entity.sound:
                for at, block, values in _written(unit, command, binding, reference):
                    _check(unit, binding, reference, at, block, values, held)


def _held(command: CommandSymbol) -> dict[Key, list[BindingSymbol]]:
    """The bindings after which a row is there, by entity and key."""
    found: dict[Key, list[BindingSymbol]] = {}
    for binding in command.bindings:
        held = arguments(binding)
        if held is not None and binding.entity is not None and binding.kind != "delete":
            key = tuple(held[member.name] for member in binding.entity.key)
            found.setdefault((binding.entity.name, key), []).append(binding)
    return found


def _written(
    unit: Unit, command: CommandSymbol, binding: BindingSymbol, reference: s.Reference
) -> Iterator[tuple[Extent, BlockSymbol, list[m.Expr | None]]]:
    """Each place that gives a binding's reference a value: where, in which block, and the target's key.

    A value that the command does not give (a mutate keeps the row's) is None.
    """
    names = [name.text for name in reference.fields]
    own = arguments(binding) or {}
    first = _initial(unit, command, binding, names)
    sets: dict[int, tuple[BlockSymbol, dict[str, tuple[Extent, m.Expr | None]]]] = {}
    for effect, block in command.effects():
        if isinstance(effect, s.Set) and len(effect.target.parts) == 2:
            name, member = (part.text for part in effect.target.parts)
            if name == binding.name and member in names:
                value = unit.expr(effect.value)
                given = known(command, value) if value is not None else None
                sets.setdefault(id(block), (block, {}))[1][member] = effect.target.at, given
    if binding.creates and not sets and (binding.kind == "create" or set(names) <= set(own) | set(first)):
        yield binding.at, binding.block, [own.get(name) or first.get(name) for name in names]
    for block, values in sets.values():
        at = binding.at if binding.kind == "create" else next(iter(values.values()))[0]
        given_here = {name: value for name, (_, value) in values.items()}
        yield at, block, [own.get(name) or given_here.get(name) or first.get(name) for name in names]


def _initial(
    unit: Unit, command: CommandSymbol, binding: BindingSymbol, names: list[str]
) -> dict[str, m.Expr | None]:
    node = binding.node.initialize
    found: dict[str, m.Expr | None] = {}
    for entry in node.entries if node else ():
        if entry.name.text in names:
            value = unit.expr(entry.value)
            found[entry.name.text] = known(command, value) if value is not None else None
    return found


def _check(
    unit: Unit, binding: BindingSymbol, reference: s.Reference, at: Extent, block: BlockSymbol,
    values: list[m.Expr | None], held: dict[Key, list[BindingSymbol]],
) -> None:  # fmt: skip
    target = unit.entities.get(reference.target.text)
    if target is None or len(reference.target_fields) != len(values):
        return
    by_goal = {goal.text: value for goal, value in zip(reference.target_fields, values, strict=True)}
    key = [by_goal.get(member.name) for member in target.key]
    known_key = tuple(value for value in key if value is not None)
    found = held.get((target.name, known_key), ()) if len(known_key) == len(key) else ()
    if any(_there(other, binding, block) for other in found):
        return
    message = (
        f"this gives {reference.name.text} a value, and no earlier binding holds that {target.name};"
        f" add `read {target.name}({', '.join(name.text for name in reference.fields)}) as …` before it"
    )
    related = [("the reference is here", reference.name.at)]
    unit.report.add("C024", at, message, related=related)


def _there(other: BindingSymbol, binding: BindingSymbol, block: BlockSymbol) -> bool:
    """Whether `other` is bound earlier, and its row is sure to be there."""
    if other is binding or not block.sees(other.block):
        return False
    if (
        other.kind == "observe_or_initialize"
    ):  # an absent row stays absent unless an arm of its decision writes
        return block.decision is not None and block.decision is other.decided
    return other.order < binding.order or binding.kind != "create"
