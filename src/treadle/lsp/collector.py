"""Looks names up in a checked contract and notes where each stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treadle.lsp.names import Kind, Occurrence, Symbol
from treadle.riff import syntax as s
from treadle.riff.symbols import EntitySymbol, EnumSymbol, EventSymbol, Unit, WorkflowSymbol

Item = s.Index | s.Unique | s.Reference | s.Invariant | s.Transition


class Collector:
    """What was found so far. A name that means nothing is left out."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.found: list[Occurrence] = []

    def add(self, name: s.Name, symbol: Symbol | None) -> None:
        if symbol is not None:
            self.found.append(Occurrence(name.at, symbol))

    def declare(self, name: s.Name, kind: Kind, owner: str = "") -> None:
        self.add(name, Symbol(kind, name.text, owner, name.at))

    # What names stand for.

    def entity(self, name: s.Name) -> None:
        found = self.unit.entities.get(name.text)
        if found is not None:
            self.add(name, Symbol("entity", name.text, "", found.node.name.at))

    def event(self, name: s.Name) -> EventSymbol | None:
        found = self.unit.events.get(name.text)
        if found is not None:
            self.add(name, Symbol("event", name.text, "", found.node.name.at))
        return found

    def field(self, owner: EntitySymbol | EventSymbol | None, name: s.Name) -> None:
        member = owner.fields.get(name.text) if owner is not None else None
        if owner is not None and member is not None:
            kind: Kind = "field" if isinstance(owner, EntitySymbol) else "event field"
            self.add(name, Symbol(kind, name.text, owner.name, member.node.name.at))

    def fields(self, owner: EntitySymbol | EventSymbol | None, names: Sequence[s.Name]) -> None:
        for name in names:
            self.field(owner, name)

    def variant(self, enum: EnumSymbol | None, name: s.Name) -> None:
        found = enum.variants.get(name.text) if enum is not None else None
        if enum is not None and found is not None:
            self.add(name, Symbol("variant", name.text, enum.name, found.at))

    def item(self, kind: Kind, owner: str, table: Mapping[str, Item], name: s.Name) -> None:
        """A named part of an entity, aggregate or workflow."""
        found = table.get(name.text)
        if found is not None:
            self.add(name, Symbol(kind, name.text, owner, found.name.at))

    def lease(self, workflow: WorkflowSymbol | None, name: s.Name) -> None:
        lease = workflow.node.lease if workflow is not None else None
        if workflow is not None and lease is not None and lease.name.text == name.text:
            self.add(name, Symbol("lease", name.text, workflow.name, lease.name.at))

    def type(self, node: s.TypeNode) -> None:
        """The enum or entity that a type names."""
        while isinstance(node, s.OptionalType | s.ListType):
            node = node.item
        if isinstance(node, s.NamedType):
            enum = self.unit.enums.get(node.name.text)
            if enum is not None:
                self.add(node.name, Symbol("enum", enum.name, "", enum.node.name.at))
            else:
                self.entity(node.name)

    def enum_path(self, parts: Sequence[s.Name]) -> None:
        """`Enum.Variant`."""
        enum = self.unit.enums[parts[0].text]
        self.add(parts[0], Symbol("enum", enum.name, "", enum.node.name.at))
        self.variant(enum, parts[1])

    def date(self, parts: Sequence[s.Name]) -> None:
        """What may follow a value: `.date` of a timestamp."""
        for part in parts:
            if part.text == "date":
                self.add(part, Symbol("builtin", ".date"))


def paths(node: s.Expression | None) -> list[s.Path | s.Exists]:
    """The paths and probes of an expression, in source order."""
    found: list[s.Path | s.Exists] = []
    waiting: list[s.Expression | None] = [node]
    while waiting:
        here = waiting.pop()
        match here:
            case s.Path():
                found.append(here)
            case s.Exists():
                found.append(here)
                waiting.extend(reversed(here.args))
            case s.Not() | s.Negate():
                waiting.append(here.operand)
            case s.Chain():
                waiting.extend(step.operand for step in reversed(here.steps))
                waiting.append(here.first)
            case _:
                pass
    return found
