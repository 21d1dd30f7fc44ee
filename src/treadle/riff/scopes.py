"""What a name means in a place: in an invariant or policy, in a command's clauses.

A name that cannot be resolved is reported here (C004, C007), with the nearest one that could.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from treadle.model import contract as m
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.symbols import BindingSymbol, BlockSymbol, CommandSymbol, EntitySymbol, EnumSymbol, Unit

Level: TypeAlias = Literal["value", "key", "payload"]


def variant(unit: Unit, enum: EnumSymbol, name: s.Name) -> m.Expr | None:
    """`Enum.name`."""
    if name.text in enum.variants:
        return m.Variant(enum.name, name.text, t.Enum(enum.name))
    message = f"enum {enum.name} has no variant `{name.text}`"
    unit.report.add("C004", name.at, message, misspelt=name.text, known=enum.variants)
    return None


def date_part(unit: Unit, operand: m.Expr | None, part: s.Name) -> m.Expr | None:
    """`.date` of a timestamp: its day in UTC. Anything else after a plain value is refused."""
    if operand is None:
        return None
    if part.text == "date" and isinstance(operand.type, t.Timestamp):
        return m.DatePart(operand, t.DATE)
    message = f"{operand.type} has no part `{part.text}`"
    if part.text == "date":
        message = f"`.date` is the day of a timestamp that is never null; this is {operand.type}"
    unit.report.add("C004", part.at, message)
    return None


def unknown(unit: Unit, name: s.Name, known: Iterable[str], what: str) -> None:
    """Report a name that means nothing here."""
    if name.text in unit.enums:
        message = f"`{name.text}` is an enum; write one of its variants, as in `{name.text}.Variant`"
        unit.report.add("C004", name.at, message)
    else:
        unit.report.add("C004", name.at, f"no {what} `{name.text}`", misspelt=name.text, known=known)


@dataclass(slots=True)
class RowScope:
    """Names over a row: the owner's fields, other entities' as `Entity.field`, and in policies the facts.

    `place` is how a message calls it, such as `an invariant`.
    """

    unit: Unit
    owner: EntitySymbol
    place: str
    others: Mapping[str, EntitySymbol] = field(default_factory=dict)
    policy: bool = False

    def resolve(self, node: s.Path) -> m.Expr | None:
        first, *rest = node.parts
        if first.text == "tx":
            message = f"{self.place} cannot read the time; it must hold whenever it is checked"
            self.unit.report.add("C007", node.at, message)
            return None
        found, rest = self._head(first, rest)
        for part in rest:
            found = date_part(self.unit, found, part)
        return found

    def _head(self, first: s.Name, rest: list[s.Name]) -> tuple[m.Expr | None, list[s.Name]]:
        unit = self.unit
        if rest and self.policy and first.text == "principal":
            return self._fact(rest[0]), rest[1:]
        if rest and first.text in unit.enums and first.text not in self.owner.fields:
            return variant(unit, unit.enums[first.text], rest[0]), rest[1:]
        if rest and (entity := self._entity(first.text)) is not None:
            return self._field(entity, rest[0]), rest[1:]
        if first.text not in self.owner.fields:
            holders = [other for other in self.others.values() if first.text in other.fields]
            if len(holders) == 1:
                return self._field(holders[0], first), rest
        return self._field(self.owner, first), rest

    def _entity(self, name: str) -> EntitySymbol | None:
        if name in self.owner.fields:
            return None
        return self.owner if name == self.owner.name else self.others.get(name)

    def _field(self, entity: EntitySymbol, name: s.Name) -> m.Expr | None:
        member = entity.fields.get(name.text)
        if member is None:
            unknown(self.unit, name, entity.fields, f"field of {entity.name} is called")
        if member is None or member.type is None:
            return None
        return m.OwnField(entity.name, name.text, member.type)

    def _fact(self, name: s.Name) -> m.Expr | None:
        fact = self.unit.facts.get(name.text)
        if fact is None:
            unknown(self.unit, name, self.unit.facts, "principal fact")
        if fact is None or fact[1] is None:
            return None
        return m.PrincipalFact(name.text, fact[1])


@dataclass(slots=True)
class CommandScope:
    """Names in a command's clause.

    `level`: a key argument and a binding's failure payload see no row and no time. `before`: only bindings
    of a lower order are known yet (None: all that the block knows).
    """

    unit: Unit
    command: CommandSymbol
    block: BlockSymbol
    level: Level = "value"
    before: int | None = None
    policy: bool = False

    def resolve(self, node: s.Path) -> m.Expr | None:
        first, *rest = node.parts
        unit = self.unit
        if first.text == "tx":
            return self._time(node, rest)
        if rest and first.text in unit.enums:
            found = variant(unit, unit.enums[first.text], rest.pop(0))
        else:
            found = self._named(node, first, rest)
        for part in rest:
            found = date_part(unit, found, part)
        return found

    def _time(self, node: s.Path, rest: list[s.Name]) -> m.Expr | None:
        if self.level != "value":
            self._refuse_level(node, "the transaction time")
            return None
        if not rest or rest[0].text != "time":
            self.unit.report.add("C004", node.at, "`tx` has one value, the transaction time: write `tx.time`")
            return None
        found: m.Expr | None = m.TxTime(t.TIMESTAMP)
        for part in rest[1:]:
            found = date_part(self.unit, found, part)
        return found

    def _refuse_level(self, node: s.Path, what: str) -> None:
        if self.level == "key":
            message = f"a key argument cannot be {what}: rows are found from the input alone; use an input"
            self.unit.report.add("C009", node.at, message)
        else:
            message = f"a binding's failure cannot answer {what}: use inputs, loop elements and constants"
            self.unit.report.add("C004", node.at, message)

    def _named(self, node: s.Path, first: s.Name, rest: list[s.Name]) -> m.Expr | None:
        """An element, an input, a service value or a binding; takes from `rest` the field of a row."""
        name = first.text
        command = self.command
        loop = command.loop
        if loop is not None and name == loop.node.element.text:
            return self._element(node, rest)
        if name in command.inputs:
            kind = command.inputs[name][1]
            return m.Input(name, kind) if kind is not None else None
        if name in command.services:
            return self._service(node, name)
        if name in command.by_name:
            return self._binding(node, command.by_name[name], rest)
        known = [*command.inputs, *command.services, *command.by_name]
        unknown(self.unit, first, known, "input, service value or binding")
        return None

    def _element(self, node: s.Path, rest: list[s.Name]) -> m.Expr | None:
        loop = self.command.loop
        if loop is None or loop.item is None:
            return None
        name = loop.node.element.text
        if not self.block.in_loop:
            message = f"`{name}` is the loop's element and known in the loop only"
            self.unit.report.add("C004", node.at, message)
            return None
        if not rest or not isinstance(loop.item, t.Record):
            return m.Element(name, loop.item)
        kind = self._field(self.unit.entities[loop.item.entity], rest[0])
        return m.ElementField(name, rest.pop(0).text, kind) if kind is not None else None

    def _service(self, node: s.Path, name: str) -> m.Expr | None:
        if self.level == "payload":
            self._refuse_level(node, "a service value")
            return None
        kind = t.UUID if self.command.services[name].kind == "uuid_v7" else t.TIMESTAMP
        return m.Service(name, kind)

    def _binding(self, node: s.Path, binding: BindingSymbol, rest: list[s.Name]) -> m.Expr | None:
        if self.level != "value":
            self._refuse_level(node, "a row's field")
            return None
        if not self.block.sees(binding.block):
            place = "loop" if binding.block.kind == "loop" else "arm"
            message = f"`{binding.name}` is bound in the {place} and known in that {place} only"
            self.unit.report.add("C004", node.at, message)
            return None
        before = self.before if self.before is not None else self.block.known
        if before is not None and binding.order >= before:
            message = f"`{binding.name}` is not bound yet; bind it before this clause"
            self.unit.report.add("C004", node.at, message)
            return None
        entity = binding.entity
        if entity is None:
            return None
        if not rest:
            return m.BindingRow(binding.name, t.Record(entity.name))
        kind = self._field(entity, rest[0])
        return m.BindingField(binding.name, rest.pop(0).text, kind) if kind is not None else None

    def _field(self, entity: EntitySymbol, name: s.Name) -> t.Type | None:
        member = entity.fields.get(name.text)
        if member is None:
            unknown(self.unit, name, entity.fields, f"field of {entity.name} is called")
        return member.type if member else None
