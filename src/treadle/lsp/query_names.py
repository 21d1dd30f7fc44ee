"""The names in texts of queries: parameters and rows of their own, and the contract's entities and fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle.lsp.collector import Collector
from treadle.lsp.names import Names, Symbol
from treadle.riff import syntax as s
from treadle.riff.symbols import EntitySymbol, Unit
from treadle.riffql import syntax as q
from treadle.riffql.names import REVISION

OWN = ("query", "parameter", "row", "outcome", "answer")
"""Kinds of symbols that a query declares itself; the others are the contract's."""


def query_names(queries: Sequence[q.Query], unit: Unit) -> Names:
    """The names of some queries about a contract whose checks have run."""
    collector = Collector(unit)
    for query in queries:
        _Query(collector, query).walk()
    return Names(collector.found)


class _Query:
    """Walks one query. A row is known from its statement on; a name stands for the first that has it."""

    def __init__(self, into: Collector, query: q.Query) -> None:
        self.into = into
        self.query = query
        self.owner = query.name.text
        self.rows: dict[str, q.Statement] = {}
        self.outcomes: dict[str, Symbol] = {}

    def walk(self) -> None:
        into, query = self.into, self.query
        into.declare(query.name, "query")
        for parameter in query.parameters:
            into.add(parameter.name, self.parameter(parameter.name.text))
            self.type(parameter.type)
        for statement in query.statements:
            self.statement(statement)
        self.outcome(query.answer.outcome)
        self.members(query.answer.members, None)
        for statement in query.statements:
            if statement.otherwise is not None:
                self.outcome(statement.otherwise)
        for name in query.outcomes:
            self.outcome(name)

    # Symbols.

    def parameter(self, name: str) -> Symbol | None:
        """A parameter; the cursor is declared where `after` names it."""
        for declared in self.query.parameters:
            if declared.name.text == name:
                return Symbol("parameter", name, self.owner, declared.name.at)
        for statement in self.query.statements:
            after = statement.take.after if statement.take is not None else None
            if after is not None and after.name == name:
                return Symbol("parameter", name, self.owner, after.at)
        return None

    def row(self, name: str) -> Symbol | None:
        statement = self.rows.get(name)
        return Symbol("row", name, self.owner, statement.row.at) if statement is not None else None

    def entity(self, row: str) -> EntitySymbol | None:
        statement = self.rows.get(row)
        return self.into.unit.entities.get(statement.entity.text) if statement is not None else None

    def outcome(self, name: s.Name) -> None:
        symbol = Symbol("outcome", name.text, self.owner, name.at)
        self.into.add(name, self.outcomes.setdefault(name.text, symbol))

    # Parts.

    def type(self, node: Any) -> None:
        while isinstance(node, s.OptionalType | s.ListType):
            node = node.item
        if isinstance(node, q.FieldType):
            self.into.entity(node.entity)
            self.into.field(self.into.unit.entities.get(node.entity.text), node.field)
        elif node is not None:
            self.into.type(node)

    def statement(self, node: q.Statement) -> None:
        self.rows.setdefault(node.row.text, node)
        self.into.add(node.row, self.row(node.row.text))
        self.into.entity(node.entity)
        self.term(node.where, node.row.text)
        for path in node.group:
            self.path(path, node.row.text)
        for each in node.order:
            self.path(each.path, node.row.text)
        if node.take is not None and node.take.after is not None:
            self.use(node.take.after)

    def use(self, node: q.ParameterUse) -> None:
        self.into.add(s.Name(node.at, node.name), self.parameter(node.name))

    def term(self, node: Any, own: str) -> None:
        """The names of a condition over the row `own`."""
        waiting = [node]
        while waiting:
            here = waiting.pop()
            match here:
                case s.Path():
                    self.path(here, own)
                case q.ParameterUse():
                    self.use(here)
                case q.InList():
                    waiting.extend(here.entries)
                case q.When():
                    self.use(here.parameter)
                    waiting.append(here.body)
                case s.Not() | s.Negate():
                    waiting.append(here.operand)
                case s.Chain():
                    waiting += [here.first, *(step.operand for step in here.steps)]
                case _:
                    pass

    def path(self, path: s.Path, own: str) -> None:
        first, *rest = path.parts
        into = self.into
        if first.text == "tx":
            into.add(first, Symbol("builtin", "tx"))
            if rest and rest[0].text == "time":
                into.add(rest[0], Symbol("builtin", "tx.time"))
        elif first.text in self.rows and (rest or not self._has(own, first.text)):
            into.add(first, self.row(first.text))
            for part in rest[:1]:
                self.field(first.text, part)
        elif rest and first.text in into.unit.enums:
            into.enum_path(path.parts)
        else:
            self.field(own, first)

    def _has(self, row: str, name: str) -> bool:
        entity = self.entity(row)
        return entity is not None and name in entity.fields

    def field(self, row: str, name: s.Name) -> None:
        entity = self.entity(row)
        if entity is not None and name.text == REVISION and REVISION not in entity.fields:
            self.into.add(name, Symbol("builtin", REVISION))
        else:
            self.into.field(entity, name)

    def members(self, members: Sequence[q.Member], row: str | None) -> None:
        """The members of the answer (`row` None) or of a row's shape."""
        for member in members:
            if member.value is None and row is not None:
                self.field(row, member.name)
            else:
                self.into.declare(member.name, "answer", self.owner)
            match member.value:
                case q.Shape():
                    self.path(member.value.path, row or "")
                    self.members(member.value.members or (), member.value.path.parts[0].text)
                case q.Aggregate():
                    self.term(member.value.operand, row or "")
                case None:
                    pass
            for path in member.reveals:
                self.path(path, row or "")
