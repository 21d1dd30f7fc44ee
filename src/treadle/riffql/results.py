"""What a query answers: fields, shapes of rows, aggregates (Q011, Q013, Q014)."""

from __future__ import annotations

from typing import Any, Final

from treadle.model import contract as m
from treadle.model import query as o
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riffql import syntax as q
from treadle.riffql.conditions import Conditions
from treadle.riffql.names import REVISION, QueryUnit, RowSymbol

_SUMMED: Final = (t.U64, t.I64, t.Decimal, t.Money)
_ORDERED: Final = (*_SUMMED, t.Timestamp, t.Date)


def usages(node: q.Query) -> dict[str, str]:
    """Row names to how the answer uses them first: `rows` in a shape or path, `totals` in an aggregate."""
    found: dict[str, str] = {}
    rows = {statement.row.text for statement in node.statements}

    def visit(members: tuple[q.Member, ...]) -> None:
        for member in members:
            match member.value:
                case q.Shape():
                    found.setdefault(member.value.path.parts[0].text, "rows")
                    visit(member.value.members or ())
                case q.Aggregate():
                    for name in _named(member.value.operand):
                        if name in rows:
                            found.setdefault(name, "totals")
                case None:
                    pass

    visit(node.answer.members)
    return found


def _named(node: q.Term) -> list[str]:
    """The first names of the paths in an aggregate's operand, in source order."""
    match node:
        case s.Path():
            return [node.parts[0].text]
        case s.Chain():
            parts: list[Any] = [node.first, *(step.operand for step in node.steps if step.operand)]
            return [name for part in parts for name in _named(part)]
        case s.Not() | s.Negate():
            return _named(node.operand)
        case q.When():
            return _named(node.body)
        case q.InList():
            return [name for entry in node.entries for name in _named(entry)]
        case _:
            return []


class Results:
    """Checks the answer of one query."""

    def __init__(self, unit: QueryUnit) -> None:
        self._unit = unit
        self._report = unit.report

    def members(
        self, nodes: tuple[q.Member, ...], context: RowSymbol | None, shape: RowSymbol | None
    ) -> tuple[o.Member, ...]:
        """The members of a payload (`shape` None) or of the shape of a row, under the many row `context`."""
        seen: dict[str, s.Name] = {}
        found: list[o.Member] = []
        for node in nodes:
            first = seen.setdefault(node.name.text, node.name)
            if first is not node.name:
                message = f"`{node.name.text}` is answered twice; rename or remove one"
                self._report.add("Q001", node.name.at, message, related=[("the first is here", first.at)])
            value = self._value(node, context, shape)
            if value is not None:
                found.append(o.Member(node.name.text, value))
        return tuple(found)

    def _value(self, node: q.Member, context: RowSymbol | None, shape: RowSymbol | None) -> o.Result | None:
        reveals = Reveals(self._unit, node, shape)
        if node.value is None:
            path = s.Path(node.name.at, (node.name,))
            value: o.Result | None = self._own(path, shape, reveals) if shape else None
        elif isinstance(node.value, q.Aggregate):
            value = self._aggregate(node.value, context, shape)
        else:
            value = self._shape(node.value, context, shape, reveals)
        reveals.finish()
        return value

    # Fields and rows.

    def _shape(
        self, node: q.Shape, context: RowSymbol | None, shape: RowSymbol | None, reveals: Reveals
    ) -> o.Result | None:
        first, *rest = node.path.parts
        row = self._unit.rows.get(first.text)
        own = shape is not None and not rest and node.members is None and first.text in shape.fields
        if shape is not None and (own or (row is None and not rest)):
            return self._own(node.path, shape, reveals)
        if row is None:
            message = f"no row `{first.text}` is read"
            self._report.add("Q002", first.at, message, misspelt=first.text, known=self._unit.rows)
            return None
        if rest:
            return self._field(node, row, context, reveals)
        return self._rows(node, row, context, reveals)

    def _own(self, path: s.Path, shape: RowSymbol, reveals: Reveals) -> o.Result | None:
        """A field of the shape's own row, or its revision."""
        name = path.parts[0]
        if name.text == REVISION and REVISION not in shape.fields:
            if shape.reads == "groups":
                self._report.add("Q011", name.at, "a group has no revision; only a row has one")
                return None
            return o.RevisionResult(shape.name)
        return self._member(shape, name, reveals)

    def _member(self, row: RowSymbol, name: s.Name, reveals: Reveals) -> o.Result | None:
        field = self._unit.field(row, name)
        if field is None:
            return None
        if row.reads == "groups" and field.name not in [path.parts[-1].text for path in row.node.group]:
            message = f"a group has its `group by` fields and aggregates; `{field.name}` is neither"
            self._report.add("Q011", name.at, message)
            return None
        if field.secret and not reveals.take(row, field):
            message = f"`{field.name}` is secret; write `reveals {row.name}.{field.name}` after it to show it"
            self._report.add("Q013", name.at, message)
            return None
        return o.FieldResult(row.name, field.name, field.type)

    def _field(
        self, node: q.Shape, row: RowSymbol, context: RowSymbol | None, reveals: Reveals
    ) -> o.Result | None:
        """`row.field`, of a row that has one value here."""
        path = node.path
        if len(path.parts) > 2 or node.members is not None:
            self._report.add("Q011", node.at, "a field has no parts; name it alone")
            return None
        within = [context, *context.lineage] if context else []
        if row.many and row not in within:
            message = f"`{row.name}` is a list here; write `{row.name} {{ {path.parts[1].text} }}`"
            self._report.add("Q011", path.at, message)
            return None
        if not self._visible(row, context, path.at):
            return None
        if path.parts[1].text == REVISION and REVISION not in row.fields and row.reads == "rows":
            return o.RevisionResult(row.name)
        found = self._member(row, path.parts[1], reveals)
        if row.node.kind == "maybe" and isinstance(found, o.FieldResult):
            kind = found.type if isinstance(found.type, t.Optional) else t.Optional(found.type)
            return o.FieldResult(found.row, found.field, kind)
        return found

    def _visible(self, row: RowSymbol, context: RowSymbol | None, at: Extent) -> bool:
        """Whether a row has one value for each row of `context`."""
        around = context.lineage if context else []
        if row.parent is None or row.parent in around:
            return True
        outer = row.parent.name
        message = f"`{row.name}` is read once for each `{outer}`; it stands inside `{outer} {{ … }}`"
        self._report.add("Q011", at, message)
        return False

    def _rows(
        self, node: q.Shape, row: RowSymbol, context: RowSymbol | None, reveals: Reveals
    ) -> o.Result | None:
        """`row { … }`, or a whole row."""
        if row.reads == "totals":
            message = f"`{row.name}` is counted or summed here; read its rows by a second statement"
            self._report.add("Q014", node.at, message)
            return None
        if not self._visible(row, context, node.at):
            return None
        if row.many:
            answered, row.returned = row.returned, True
            if row.parent is not context:
                outer = context.name if context else ""
                message = f"`{row.name}` is a list of its own; it does not belong into `{outer}`"
                self._report.add("Q011", node.at, message)
                return None
            if answered:
                self._report.add("Q011", node.at, f"`{row.name}` is answered twice; a list is answered once")
                return None
        inner = row if row.many else context
        kind: Any = row.node.kind
        if node.members is not None:
            return o.ShapeResult(row.name, kind, self.members(node.members, inner, row))
        if row.reads == "groups":
            field = row.node.group[0].parts[-1].text
            message = f"say what a group shows, as in `{row.name} {{ {field} n: count({row.name}) }}`"
            self._report.add("Q011", node.at, message)
            return None
        whole = [self._member(row, s.Name(node.at, name), reveals) for name in row.fields]
        named = zip(row.fields, whole, strict=True)
        return o.ShapeResult(row.name, kind, tuple(o.Member(name, value) for name, value in named if value))

    # Aggregates.

    def _aggregate(
        self, node: q.Aggregate, context: RowSymbol | None, shape: RowSymbol | None
    ) -> o.Result | None:
        names = [name for name in _named(node.operand) if name in self._unit.rows]
        sets = [self._unit.rows[name] for name in names if self._unit.rows[name].reads != "rows"]
        if not sets:
            listed = f"; `{names[0]}` is returned row by row" if names else ""
            message = f"`{node.op}` needs a `many` row that is not returned itself{listed}"
            self._report.add(
                "Q014", node.at, message, help=f"as in `{node.op}(job)` of `many job from Job where …`"
            )
            return None
        row = sets[0]
        row.returned = True
        if row.reads == "groups" and row is not shape:
            message = f"`{row.name}` is grouped; its aggregates stand inside `{row.name} {{ … }}`"
            self._report.add("Q014", node.at, message)
            return None
        if row.reads == "totals" and row.parent is not context and not self._visible(row, context, node.at):
            return None
        if row.entity is None:
            return None
        if node.op == "count":
            return self._count(node, row)
        if node.op in ("any", "all"):
            return self._condition(node, row)
        return self._number(node, row)

    def _count(self, node: q.Aggregate, row: RowSymbol) -> o.Result | None:
        if isinstance(node.operand, s.Path) and len(node.operand.parts) == 1:
            return o.AggregateResult(row.name, "count", t.U64_)
        message = f"`count` takes the row itself: `count({row.name})`; rows of a kind are counted by `where`"
        self._report.add("Q014", node.at, message)
        return None

    def _condition(self, node: q.Aggregate, row: RowSymbol) -> o.Result | None:
        reader = Conditions(self._unit, row)
        conditions = reader.read(node.operand)
        for used, at in reader.uses:
            self._visible(used, row.parent, at)
        op: Any = node.op
        return o.AggregateResult(row.name, op, t.BOOL, conditions=tuple(conditions))

    def _number(self, node: q.Aggregate, row: RowSymbol) -> o.Result | None:
        operand = node.operand
        if not isinstance(operand, s.Path) or len(operand.parts) != 2:
            message = f"`{node.op}` takes one field, as in `{node.op}({row.name}.field)`"
            self._report.add("Q014", node.at, message)
            return None
        field = self._unit.field(row, operand.parts[1])
        if field is None:
            return None
        if field.secret:
            self._report.add("Q013", operand.at, f"`{operand.text}` is secret; it cannot be aggregated")
            return None
        plain = t.required(field.type)
        if not isinstance(plain, _SUMMED if node.op == "sum" else _ORDERED):
            needed = "a number" if node.op == "sum" else "a number, a timestamp or a date"
            self._report.add(
                "Q014", operand.at, f"`{node.op}` needs {needed}; `{operand.text}` is {field.type}"
            )
            return None
        op: Any = node.op
        return o.AggregateResult(row.name, op, o.aggregate_type(op, plain), field=field.name)


class Reveals:
    """The `reveals` of one member: each must name a secret field that is shown."""

    def __init__(self, unit: QueryUnit, node: q.Member, shape: RowSymbol | None) -> None:
        self._unit = unit
        self._shape = shape
        self._waiting = {self._name(path): path for path in node.reveals}
        self._used: set[tuple[str, str]] = set()

    def _name(self, path: s.Path) -> tuple[str, str]:
        if len(path.parts) == 1 and self._shape is not None:
            return self._shape.name, path.text
        row, _, name = path.text.partition(".")
        return row, name

    def take(self, row: RowSymbol, field: m.Field) -> bool:
        """Whether the field may be shown; a `reveals` counts for every mention in its member."""
        self._used.add((row.name, field.name))
        return (row.name, field.name) in self._waiting

    def finish(self) -> None:
        """Report what reveals nothing."""
        for name, path in self._waiting.items():
            if name not in self._used:
                message = f"`{path.text}` is no secret field that is shown here; remove this `reveals`"
                self._unit.report.add("Q013", path.at, message)
