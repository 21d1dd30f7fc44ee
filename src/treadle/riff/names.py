"""Declared names: each once in its namespace, none of them `tx` (C002)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent, Report
from treadle.riff.symbols import EntitySymbol, FieldSymbol, Unit

Found = TypeVar("Found")


def reserved(report: Report, name: s.Name) -> None:
    """Refuse the one name that nothing can have."""
    if name.text == "tx":
        report.add("C002", name.at, "`tx` always means the transaction; choose another name, such as `tx_`")


def declare(report: Report, seen: dict[str, s.Name], name: s.Name, what: str, code: str = "C002") -> bool:
    """Enter a name into its namespace; false, and a diagnostic, where it is there already."""
    reserved(report, name)
    first = seen.setdefault(name.text, name)
    if first is name:
        return True
    message = f"{what} `{name.text}` is declared twice; rename or remove one"
    report.add(code, name.at, message, related=[("the first is here", first.at)])
    return False


def listed_once(report: Report, names: Iterable[s.Name], what: str) -> None:
    """Refuse a field that stands twice in a key, an index, a unique or a reference."""
    seen: dict[str, s.Name] = {}
    for name in names:
        first = seen.setdefault(name.text, name)
        if first is not name:
            message = f"`{name.text}` stands twice in {what}; list it once"
            report.add("C002", name.at, message, related=[("the first is here", first.at)])


def look_up(report: Report, table: Mapping[str, Found], name: s.Name, what: str) -> Found | None:
    """The declaration of a name, or None and C004."""
    found = table.get(name.text)
    if found is None:
        report.add("C004", name.at, f"no {what} `{name.text}`", misspelt=name.text, known=table)
    return found


def entity(unit: Unit, name: s.Name) -> EntitySymbol | None:
    return look_up(unit.report, unit.entities, name, "entity")


def in_aggregate(unit: Unit, found: EntitySymbol, at: Extent, code: str) -> None:
    """Refuse the use of an entity whose rows no aggregate holds."""
    if found.aggregate is None:
        message = f"{found.name} belongs to no aggregate; add `aggregate … {{ root {found.name} … }}`"
        unit.report.add(code, at, message)


def members(
    report: Report, fields: Mapping[str, FieldSymbol], names: Collection[s.Name], owner: str
) -> list[FieldSymbol] | None:
    """The fields of these names, or None where one is unknown (C004) or its type was refused."""
    found = [look_up(report, fields, name, f"field of {owner} is called") for name in names]
    known = [member for member in found if member is not None and member.type is not None]
    return known if len(known) == len(names) else None
