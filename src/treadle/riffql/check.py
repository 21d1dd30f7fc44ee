"""Syntax to a checked query: parameters, statements in order, the answer, outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from treadle.limits import PAGE_ROWS, QUERY_NESTING, QUERY_ROWS, QUERY_STATEMENTS
from treadle.model import contract as m
from treadle.model import query as o
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Report
from treadle.riff.typenames import resolve_type
from treadle.riffql import syntax as q
from treadle.riffql.access import Chooser, Order, check_filters, refuse
from treadle.riffql.conditions import Conditions
from treadle.riffql.names import NOWHERE, ParameterSymbol, QueryUnit, RowSymbol, contract_names
from treadle.riffql.results import Results, usages

CURSOR: Final = "cursor"
"""The type of a parameter that `take … after` names."""


def check_query(
    node: q.Query, contract: m.Contract, report: Report, text: str, identity: str
) -> o.Query | None:
    """The checked query, or None where something was reported. `text` is its source in the one layout."""
    errors = report.errors
    unit = QueryUnit(node, contract, contract_names(contract, report), report)
    _name(report, node.name, "a query")
    _cursor(unit)
    _parameters(unit)
    used = usages(node)
    if len(node.statements) > QUERY_STATEMENTS:
        at = node.statements[QUERY_STATEMENTS].at
        report.add("Q009", at, f"a query has at most {QUERY_STATEMENTS} statements; split it")
        return None
    for statement in node.statements:
        _statement(unit, statement, used)
    members = Results(unit).members(node.answer.members, None, None)
    failures = _outcomes(unit)
    _unanswered(unit)
    if report.errors > errors:
        return None
    _unused(unit)
    fields = [
        m.Field(name, symbol.type) for name, symbol in unit.parameters.items() if symbol.type is not None
    ]
    return o.Query(
        name=node.name.text,
        identity=identity,
        text=text,
        parameters=tuple(fields),
        statements=tuple(row.statement for row in unit.rows.values() if row.statement is not None),
        outcome=node.answer.outcome.text,
        members=members,
        failures=failures,
        cursor=unit.cursor,
    )


def _name(report: Report, name: s.Name, what: str) -> None:
    if name.text == "tx":
        report.add("Q001", name.at, f"`tx` always means the snapshot; call {what} something else")


# Parameters.


def _cursor(unit: QueryUnit) -> None:
    """The cursor is the parameter of that type, or the name that `after` uses where none is declared."""
    for statement in unit.node.statements:
        if statement.take is not None and statement.take.after is not None:
            unit.cursor = unit.cursor or statement.take.after.name


def _parameters(unit: QueryUnit) -> None:
    for node in unit.node.parameters:
        name = node.name.text
        first = unit.parameters.get(name)
        if first is not None:
            message = f"`${name}` is declared twice; rename or remove one"
            unit.report.add(
                "Q001", node.name.at, message, related=[("the first is here", first.node.name.at)]
            )
            continue
        if _is_cursor(unit, node.type):
            unit.parameters[name] = ParameterSymbol(node, None, cursor=True)
        else:
            unit.parameters[name] = ParameterSymbol(node, _type(unit, node.type))


def _is_cursor(unit: QueryUnit, node: q.ParameterType) -> bool:
    inner = node.item if isinstance(node, s.OptionalType) else node
    return isinstance(inner, s.NamedType) and inner.name.text == CURSOR and CURSOR not in unit.unit.enums


def _type(unit: QueryUnit, node: Any) -> t.Type | None:
    """A written type; `Entity.field` stands wherever a type does."""
    match node:
        case q.FieldType():
            return _field_type(unit, node)
        case s.OptionalType() if not isinstance(node.item, s.OptionalType):
            item = _type(unit, node.item)
            return t.Optional(t.required(item)) if item is not None else None
        case s.ListType() if isinstance(node.item, q.FieldType):
            item = _field_type(unit, node.item)
            bounds = resolve_type(unit.unit, s.ListType(node.at, _ANY, node.minimum, node.maximum))
            known = item is not None and isinstance(bounds, t.List)
            return t.List(t.required(item), bounds.minimum, bounds.maximum) if known else None
        case _:
            return resolve_type(unit.unit, node)


_ANY: Final = s.PlainType(NOWHERE, "bool")


def _field_type(unit: QueryUnit, node: q.FieldType) -> t.Type | None:
    entity = unit.entity(node.entity)
    if entity is None:
        return None
    for field in entity.members:
        if field.name == node.field.text:
            return field.type
    message = f"no field of {entity.name} is called `{node.field.text}`"
    known = [field.name for field in entity.members]
    unit.report.add("Q002", node.field.at, message, misspelt=node.field.text, known=known)
    return None


def _unused(unit: QueryUnit) -> None:
    for name, symbol in unit.parameters.items():
        if not symbol.used and not symbol.cursor:
            unit.report.add("W015", symbol.node.name.at, f"`${name}` is never used; remove it")


def _unanswered(unit: QueryUnit) -> None:
    """Lists that are read and not answered, and cursors that nothing uses."""
    for name, symbol in unit.parameters.items():
        if symbol.cursor and name != unit.cursor:
            unit.report.add(
                "Q010", symbol.node.name.at, f"`${name}` is a cursor; write `take 100 after ${name}`"
            )
    for row in unit.rows.values():
        if row.many and not row.returned and row.entity is not None:
            message = f"`{row.name}` is never answered; write `rows: {row.name} {{ … }}`, or remove it"
            unit.report.add("Q011", row.node.row.at, message)


# Statements.


def _statement(unit: QueryUnit, node: q.Statement, used: Mapping[str, str]) -> None:
    name = node.row
    _name(unit.report, name, "a row")
    first = unit.rows.get(name.text)
    if first is not None:
        message = f"row `{name.text}` is read twice; rename one"
        unit.report.add("Q001", name.at, message, related=[("the first is here", first.node.row.at)])
        return
    if name.text in unit.unit.enums:
        unit.report.add("Q001", name.at, f"row `{name.text}` is called like an enum; rename it")
    reads = "groups" if node.group else used.get(name.text, "rows") if node.kind == "many" else "rows"
    row = RowSymbol(node, unit.entity(node.entity), reads)
    conditions = Conditions(unit, row)
    errors = unit.report.errors
    found = conditions.read(node.where)
    row.parent = _parent(unit, row, conditions)
    unit.rows[name.text] = row
    readable = unit.report.errors == errors
    access = (_many if row.many else _single)(unit, row, found, readable)
    take = _take(unit, row)
    _otherwise(unit, row)
    if access is not None and row.entity is not None:
        row.statement = o.Statement(
            kind=_KINDS[node.kind],
            row=row.name,
            entity=row.entity.name,
            access=access,
            parent=row.parent.name if row.parent else None,
            reads=_READS[reads],
            take=take,
            pages=node.take is not None and node.take.after is not None,
            group=tuple(path.parts[-1].text for path in node.group),
            otherwise=_failure(unit, row),
        )


_KINDS: Final[dict[str, o.Kind]] = {"one": "one", "maybe": "maybe", "many": "many"}
_READS: Final[dict[str, o.Reads]] = {"rows": "rows", "groups": "groups", "totals": "totals"}


def _parent(unit: QueryUnit, row: RowSymbol, conditions: Conditions) -> RowSymbol | None:
    """The innermost many row among those that the conditions name; all have to lie on one line."""
    parent: RowSymbol | None = None
    for used, at in conditions.uses:
        owner = used.owner
        if owner is None or (parent is not None and owner in parent.lineage):
            continue
        if parent is not None and parent not in owner.lineage:
            message = f"`{parent.name}` and `{owner.name}` are separate lists; a row is nested in one of them"
            unit.report.add("Q016", at, message)
            continue
        parent = owner
    if parent is not None and row.node.kind == "one":
        message = (
            f"`{row.name}` is read for each `{parent.name}`, where it may be absent; write `maybe {row.name}`"
        )
        unit.report.add("Q016", row.node.row.at, message)
    if row.many and parent is not None and len(parent.lineage) >= QUERY_NESTING:
        message = f"lists nest {QUERY_NESTING} deep at most; read `{row.name}` by a query of its own"
        unit.report.add("Q016", row.node.row.at, message)
    return parent


def _single(
    unit: QueryUnit, row: RowSymbol, conditions: list[o.Condition], readable: bool
) -> o.Access | None:
    node = row.node
    for clause, at in (
        ("group by", node.group[0].at if node.group else None),
        ("order by", node.order[0].at if node.order else None),
    ):
        if at is not None:
            unit.report.add("Q008", at, f"`{node.kind}` reads one row; remove `{clause}`, or write `many`")
    if row.entity is None or not readable:
        return None
    chooser = Chooser(row.entity, conditions)
    access = chooser.single()
    if access is None:
        missing = " && ".join(f"{row.name}.{name} == …" for name in chooser.lacking())
        what = f"a complete key or unique of {row.entity.name}"
        message = f"`{node.kind}` reads {what}; add `{missing}`, or write `many`"
        unit.report.add("Q006", node.row.at, message)
    return access


def _many(unit: QueryUnit, row: RowSymbol, conditions: list[o.Condition], readable: bool) -> o.Access | None:
    """The index; `readable` is false where a condition was refused, so that nothing more can be said."""
    order = _order(unit, row)
    if row.entity is None or order is None or not readable:
        return None
    check_filters(unit.report, row.entity, conditions, row.node.row.at)
    chooser = Chooser(row.entity, conditions)
    access = chooser.many(order)
    if access is None:
        refuse(unit.report, chooser, order, row.node.row.at)
    return access


def _order(unit: QueryUnit, row: RowSymbol) -> Order | None:
    node = row.node
    if row.reads != "rows" and node.order:
        what = "groups come in the order of `group by`" if node.group else "totals have no order"
        unit.report.add("Q008", node.order[0].at, f"{what}; remove `order by`")
        return None
    terms: list[str] = []
    good = True
    for path in [*node.group, *(term.path for term in node.order)]:
        field = _ordered(unit, row, path)
        if field is None:
            good = False
        elif field.name in terms:
            unit.report.add("Q008", path.at, f"`{path.text}` stands twice; list it once")
        else:
            terms.append(field.name)
    directions = {term.descending for term in node.order}
    if len(directions) > 1:
        odd = next(term for term in node.order if term.descending != node.order[0].descending)
        message = "an index is read in one direction; make all of `order by` asc, or all desc"
        unit.report.add("Q008", odd.at, message)
        return None
    return Order(tuple(terms), directions == {True}, row.reads) if good else None


def _ordered(unit: QueryUnit, row: RowSymbol, path: s.Path) -> m.Field | None:
    """The field of `order by` or `group by`, or None and why not."""
    own = path.parts[0].text == row.name
    parts = path.parts[1:] if own and len(path.parts) > 1 else path.parts
    if len(parts) != 1:
        message = f"rows of `{row.name}` come in the order of its own fields, as in `{row.name}.field`"
        unit.report.add("Q008", path.at, message)
        return None
    field = unit.field(row, parts[0])
    if field is None:
        return None
    if field.secret:
        unit.report.add("Q013", path.at, f"`{path.text}` is secret; an order would show it")
        return None
    if isinstance(t.required(field.type), t.List):
        unit.report.add("Q008", path.at, f"`{path.text}` is a list, which has no order")
        return None
    return field


def _take(unit: QueryUnit, row: RowSymbol) -> int | None:
    node, take = row.node, row.node.take
    if take is None:
        if row.many and row.reads != "totals":
            message = f"say how many at most, as in `take 100` (1 to {PAGE_ROWS:,})"
            unit.report.add("Q009", node.row.at, message)
        return None
    if not row.many or row.reads == "totals":
        why = f"`{node.kind}` reads one row" if not row.many else "an aggregate is over all rows"
        unit.report.add("Q009", take.at, f"{why}; remove `take`")
        return None
    count = take.count.value
    if not 1 <= count <= PAGE_ROWS:
        unit.report.add("Q009", take.count.at, f"a list holds 1 to {PAGE_ROWS:,} rows; write such a number")
        return None
    total = count
    for outer in row.lineage[1:]:
        total *= outer.node.take.count.value if outer.node.take else 1
    if total > QUERY_ROWS:
        message = f"nested lists hold {QUERY_ROWS:,} rows at most, these {total:,}; lower a `take`"
        unit.report.add("Q009", take.count.at, message)
    _after(unit, row, take)
    return count


def _after(unit: QueryUnit, row: RowSymbol, take: q.Take) -> None:
    if take.after is None:
        return
    name, at = take.after.name, take.after.at
    declared = unit.parameters.get(name)
    if declared is not None and not declared.cursor:
        message = f"`${name}` is no cursor; declare it as `${name}: cursor`, or leave it undeclared"
        unit.report.add("Q010", at, message)
    elif row.parent is not None:
        unit.report.add(
            "Q010", at, "a nested list has no pages; remove `after`, or read it by a query of its own"
        )
    elif any(other.node.take and other.node.take.after for other in unit.rows.values() if other is not row):
        unit.report.add("Q010", at, "one list of a query has pages; remove one `after`")


# Outcomes.


def _otherwise(unit: QueryUnit, row: RowSymbol) -> None:
    node = row.node
    if node.otherwise is None:
        if node.kind == "one" and _failure(unit, row) is None:
            message = "say what an absent row answers, as in `else Missing`, or write `maybe`"
            unit.report.add("Q012", node.row.at, message)
        return
    if node.kind != "one":
        absent = "is null in the answer" if node.kind == "maybe" else "is an empty list"
        unit.report.add(
            "Q012", node.otherwise.at, f"what `{node.kind}` does not find {absent}; remove `else`"
        )
    elif node.otherwise.text == unit.node.answer.outcome.text:
        message = f"`{node.otherwise.text}` is what `return` answers; name an outcome of its own"
        unit.report.add("Q012", node.otherwise.at, message)


def _failure(unit: QueryUnit, row: RowSymbol) -> str | None:
    """The outcome of an absent row: named by `else`, or the only other one of `outcomes`."""
    if row.node.kind != "one":
        return None
    if row.node.otherwise is not None:
        return row.node.otherwise.text
    others = [name.text for name in unit.node.outcomes if name.text != unit.node.answer.outcome.text]
    return others[0] if len(others) == 1 else None


def _outcomes(unit: QueryUnit) -> tuple[str, ...]:
    """The outcomes of absent rows; `outcomes`, where it is written, lists exactly what can be answered."""
    node = unit.node
    found = dict.fromkeys(name for row in unit.rows.values() if (name := _failure(unit, row)))
    if not node.outcomes:
        return tuple(found)
    answered = {node.answer.outcome.text, *found}
    seen: dict[str, s.Name] = {}
    for listed in node.outcomes:
        first = seen.setdefault(listed.text, listed)
        if first is not listed:
            message = f"outcome `{listed.text}` stands twice; list it once"
            unit.report.add("Q001", listed.at, message, related=[("the first is here", first.at)])
        elif listed.text not in answered:
            message = f"nothing answers `{listed.text}`; remove it, or name it after the `else` of a `one`"
            unit.report.add("W012", listed.at, message)
    missing = [name for name in (node.answer.outcome.text, *found) if name not in seen]
    if missing:
        message = f"`outcomes` leaves out `{missing[0]}`; list everything that can be answered"
        unit.report.add("Q012", node.outcomes[0].at, message)
    return tuple(found)
