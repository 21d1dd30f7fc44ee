"""Syntax to a checked migration: what it names, what is missing, and the types of what fields begin with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from treadle.model import contract as m
from treadle.model import types as t
from treadle.model.migration import Fill, Migration, Need
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent, Report
from treadle.riff.expressions import check_expression
from treadle.riff.migrating import syntax
from treadle.riff.scopes import date_part
from treadle.riff.symbols import Typed, Unit


@dataclass(frozen=True)
class Change:
    """The contract that is in force, the one that shall follow it, and what of it needs a migration."""

    before: m.Contract
    after: m.Contract
    needs: Collection[Need]

    @cached_property
    def owners(self) -> dict[str, dict[str, m.Entity]]:
        """Entities by name, before and after."""
        return {
            "before": {entity.name: entity for entity in self.before.entities},
            "after": {entity.name: entity for entity in self.after.entities},
        }


def check_migration(
    node: syntax.Migration, change: Change, report: Report, text: str, identity: str
) -> Migration | None:
    """The checked migration, or None where something was reported."""
    _versions(node, change, report)
    seen: dict[Need, s.Node] = {}
    fills: list[Fill] = []
    unit = Unit(_NO_TREE, report)
    for item in node.items:
        need = Need("field" if isinstance(item, syntax.Fill) else item.kind, item.owner.text, item.name.text)
        first = seen.setdefault(need, item)
        if first is not item:
            message = f"`{need}` stands twice; remove one"
            report.add("M003", item.at, message, related=[("the first is here", first.at)])
        elif isinstance(item, syntax.Fill):
            fills += _fill(item, change, unit)
        elif need not in change.needs:
            _unneeded(item, need, change, report)
    _missing(node, change, seen, report)
    if report.failed():
        return None
    needs = tuple((need.kind, need.owner, need.name) for need in seen)
    return Migration(identity, text, node.before.value, node.after.value, tuple(fills), needs)


def _versions(node: syntax.Migration, change: Change, report: Report) -> None:
    for written, version, whose in (
        (node.before, change.before.version, "version {} is in force"),
        (node.after, change.after.version, "the contract has version {}"),
    ):
        if written.value != version:
            message = f"{whose.format(version)}; write `{version}`"
            report.add("M001", written.at, message)


def _unneeded(item: syntax.Named, need: Need, change: Change, report: Report) -> None:
    known = sorted({str(each) for each in change.needs if each.kind != "field"})
    message = f"`{need}` is not among what needs a migration; remove it"
    report.add("M002", item.at, message, misspelt=str(need), known=known)


def _missing(node: syntax.Migration, change: Change, seen: Mapping[Need, s.Node], report: Report) -> None:
    missing = [need for need in change.needs if need not in seen]
    if missing:
        lines = ", ".join(f"`{line_of(need)}`" for need in missing)
        message = f"live rows must be brought to more than this names; write also {lines}"
        report.add("M004", node.at, message)


def line_of(need: Need) -> str:
    """What a migration says of a member; a field's value is left to the author."""
    return f"{need} = …" if need.kind == "field" else str(need)


def _fill(item: syntax.Fill, change: Change, unit: Unit) -> list[Fill]:
    """The fill, or nothing where it was refused."""
    report = unit.report
    owner = change.owners["after"].get(item.owner.text)
    known = change.owners["before"].get(item.owner.text)
    if owner is None or known is None:
        both = change.owners["after"].keys() & change.owners["before"].keys()
        message = f"no entity `{item.owner.text}` has rows that a field could be added to"
        report.add("M002", item.owner.at, message, misspelt=item.owner.text, known=both)
        return []
    added = {field.name: field for field in owner.fields if field.name not in _names(known)}
    field = added.get(item.name.text)
    if field is None:
        message = f"{owner.name} has no new field `{item.name.text}`"
        if item.name.text in _names(known):
            message = (
                f"{owner.name}.{item.name.text} is there already, and a migration fills new fields only; "
                "change rows by commands"
            )
        report.add("M002", item.name.at, message, misspelt=item.name.text, known=added)
        return []
    scope = OwnScope(unit, known, {enum.name: enum for enum in change.after.enums})
    value = check_expression(scope, item.value, field.type, scope.public_for(field))
    return [] if value is None else [Fill(owner.name, field.name, value)]


def _names(entity: m.Entity) -> set[str]:
    return {member.name for member in entity.members}


@dataclass(slots=True)
class OwnScope:
    """Names in a fill: the row's fields as they are now, `Enum.Variant`, and `tx.time`."""

    unit: Unit
    entity: m.Entity
    enums: Mapping[str, m.EnumDecl]
    policy: bool = False

    def resolve(self, node: s.Path) -> m.Expr | None:
        first, *rest = node.parts
        fields = {member.name: member for member in self.entity.members}
        found: m.Expr | None
        if first.text in fields:
            found = m.OwnField(self.entity.name, first.text, fields[first.text].type)
        elif first.text == "tx":
            found = self._time(node, rest)
        elif first.text in self.enums and rest:
            found = self._variant(self.enums[first.text], rest.pop(0))
        else:
            message = f"{self.entity.name} has no field `{first.text}` in its rows"
            self.unit.report.add("C004", first.at, message, misspelt=first.text, known=fields)
            return None
        for part in rest:
            found = date_part(self.unit, found, part)
        return found

    def _time(self, node: s.Path, rest: list[s.Name]) -> m.Expr | None:
        if not rest or rest.pop(0).text != "time":
            message = "`tx` has one value, the time at which the migration began: write `tx.time`"
            self.unit.report.add("C004", node.at, message)
            return None
        return m.TxTime(t.TIMESTAMP)

    def _variant(self, enum: m.EnumDecl, name: s.Name) -> m.Expr | None:
        if name.text in enum.variants:
            return m.Variant(enum.name, name.text, t.Enum(enum.name))
        message = f"enum {enum.name} has no variant `{name.text}`"
        self.unit.report.add("C004", name.at, message, misspelt=name.text, known=enum.variants)
        return None

    def public_for(self, field: m.Field) -> Secrecy:
        """What refuses a secret in a field that is none."""
        return Secrecy(self, field)


@dataclass(frozen=True, slots=True)
class Secrecy:
    """C046: a field that is not secret must not begin with what a secret one says."""

    scope: OwnScope
    field: m.Field

    def __call__(self, typed: Typed) -> bool:
        secret = {member.name for member in self.scope.entity.members if member.secret}
        if self.field.secret:
            return True
        found = [use for use in typed.uses if isinstance(use.expr, m.OwnField) and use.expr.field in secret]
        for use in found:
            message = (
                f"{self.field.name} is not secret and would tell a secret field; declare it `secret` too"
            )
            self.scope.unit.report.add("C046", use.at, message)
        return not found


_NOWHERE: Final = Extent(0, 0)
_NO_TREE: Final = s.Contract(_NOWHERE, s.Name(_NOWHERE, ""), s.Integer(_NOWHERE, "1"), ())
"""What a unit is of, where there is no contract's text."""
