"""Conditions of `where`, `any` and `all`: which forms there are (Q005), of which types (Q004)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from treadle.limits import QUERY_ENTRIES
from treadle.model import contract as m
from treadle.model import query as o
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.expressions import Typer
from treadle.riff.scopes import variant
from treadle.riff.symbols import Unit
from treadle.riffql import syntax as q
from treadle.riffql.names import QueryUnit, RowSymbol, like

_FLIPPED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ORDERED: Final = (t.U64, t.I64, t.Decimal, t.Money, t.Timestamp, t.Date)
_NO_OR: Final = "a query has no `||`; use `in` for values of one field, or write two queries"
_NO_ARITHMETIC: Final = "a query does not calculate; let the caller give the value as a parameter"


@dataclass(slots=True)
class Constants:
    """The scope of constants: no names."""

    unit: Unit
    policy: bool = False

    def resolve(self, node: s.Path) -> m.Expr | None:
        return None


class Conditions:
    """Reads the conditions on one row."""

    def __init__(self, unit: QueryUnit, row: RowSymbol) -> None:
        self._unit = unit
        self._row = row
        self._report = unit.report
        self.uses: list[tuple[RowSymbol, Extent]] = []
        """Earlier rows that the conditions name."""

    def read(self, node: q.Term | None, when: tuple[str, ...] = ()) -> list[o.Condition]:
        """The conditions that all have to hold; what is refused is left out and reported."""
        match node:
            case None:
                return []
            case s.Chain() if node.steps[0].operator == "&&":
                parts = [node.first, *(step.operand for step in node.steps)]
                return [condition for part in parts for condition in self.read(part, when)]
            case s.Chain() if node.steps[0].operator == "||":
                self._report.add("Q005", node.steps[0].at, _NO_OR)
                return []
            case q.When():
                return self._when(node, when)
            case _:
                found = self._one(node)
                return [_under(found, when)] if found else []

    def _when(self, node: q.When, when: tuple[str, ...]) -> list[o.Condition]:
        symbol = self._unit.use(node.parameter)
        if symbol is None or symbol.type is None:
            return []
        if not isinstance(symbol.type, t.Optional | t.Bool):
            name = node.parameter.name
            message = f"`${name}` is always there; declare it optional<{symbol.type}>, or drop `when`"
            self._report.add("Q004", node.parameter.at, message)
            return []
        inner = when if node.parameter.name in when else (*when, node.parameter.name)
        kept, symbol.type = symbol.type, t.required(symbol.type)  # inside, it is there
        try:
            return self.read(node.body, inner)
        finally:
            symbol.type = kept

    def _one(self, node: q.Term) -> o.Condition | None:
        match node:
            case s.Chain() if node.steps[0].operator in ("+", "-", "*", "/"):
                self._report.add("Q005", node.steps[0].at, _NO_ARITHMETIC)
            case s.Chain() if len(node.steps) > 1:
                message = "comparisons do not chain; join two of them with `&&`"
                self._report.add("Q005", node.steps[1].at, message)
            case s.Chain():
                return self._compared(node, node.steps[0])
            case s.Not() if isinstance(node.operand, s.Path):
                return self._flag(node.operand, False)
            case s.Path():
                return self._flag(node, True)
            case _:
                message = "a condition compares a field of the row, as in `job.state == $state`"
                self._report.add("Q005", node.at, message)
        return None

    def _flag(self, node: s.Path, wanted: bool) -> o.Condition | None:
        field = self._own(node)
        if field is None:
            return None
        if field.type != t.BOOL:
            message = f"`{node.text}` is {field.type}, no bool; compare it with a value"
            self._report.add("Q004", node.at, message)
            return None
        return o.Condition(field.name, "==", (m.Literal(wanted, t.BOOL),))

    def _own(self, node: s.Path) -> m.Field | None:
        """The field of this row that a condition is about, not secret and no list; or None and why."""
        field = self._field(node)
        if field is None:
            return None
        if field.secret:
            message = f"`{node.text}` is secret; a condition would let a caller guess it"
            self._report.add("Q013", node.at, message)
            return None
        if isinstance(t.required(field.type), t.List):
            self._report.add("Q004", node.at, f"`{node.text}` is a list; lists are not compared")
            return None
        return field

    def _field(self, node: s.Path) -> m.Field | None:
        parts = list(node.parts)
        if self.is_own(node) and len(parts) > 1:
            parts.pop(0)
        name, *rest = parts
        if rest:
            message = f"a field has no parts; compare `{self._row.name}.{name.text}` itself"
            self._report.add("Q005", rest[0].at, message)
            return None
        return self._unit.field(self._row, name)

    def is_own(self, node: q.Term) -> bool:
        """Whether a path names this row, or one of its fields without it."""
        if not isinstance(node, s.Path):
            return False
        first = node.parts[0].text
        return first == self._row.name or (len(node.parts) == 1 and first in self._row.fields)

    def _compared(self, node: s.Chain, step: s.Step) -> o.Condition | None:
        left: Any = node.first
        right: Any = step.operand
        operator = step.operator
        if not self.is_own(left) and operator in _FLIPPED and self.is_own(right):
            left, right, operator = right, left, _FLIPPED[operator]
        if not isinstance(left, s.Path) or (not self.is_own(left) and len(left.parts) > 1):
            message = f"the left side is a field of the row, as in `{self._row.name}.field {operator} …`"
            self._report.add("Q005", left.at, message)
            return None
        field = self._own(left)
        if field is None:
            return None
        if operator in ("is null", "is not null"):
            return self._null(field, operator, step.at)
        if operator == "in":
            return self._in(field, right)
        if operator == "prefix":
            return self._prefix(field, step, right)
        return self._comparison(field, operator, step, right)

    def _null(self, field: m.Field, operator: Any, at: Extent) -> o.Condition | None:
        if isinstance(field.type, t.Optional):
            return o.Condition(field.name, operator)
        self._report.add("Q004", at, f"`{field.name}` is {field.type}, never null; remove this condition")
        return None

    def _comparison(self, field: m.Field, operator: Any, step: s.Step, right: q.Term) -> o.Condition | None:
        plain = t.required(field.type)
        if operator in ("<", "<=", ">", ">=") and not isinstance(plain, _ORDERED):
            hint = "; use `prefix`" if isinstance(plain, t.String) else "; use `==`, `!=` or `in`"
            self._report.add("Q004", step.at, f"{plain} has no order{hint}")
            return None
        if isinstance(right, s.Constant) and right.kind == "NULL":
            if operator in ("==", "!="):
                return self._null(field, "is null" if operator == "==" else "is not null", right.at)
            self._report.add("Q004", right.at, "null has no order; use `is null` or `is not null`")
            return None
        operand = self._operand(field, right, nullable=operator in ("==", "!="))
        return o.Condition(field.name, operator, (operand,)) if operand else None

    def _prefix(self, field: m.Field, step: s.Step, right: q.Term) -> o.Condition | None:
        if not isinstance(t.required(field.type), t.String):
            self._report.add("Q004", step.at, f"`prefix` needs a string; `{field.name}` is {field.type}")
            return None
        operand = self._operand(field, right, nullable=False)
        return o.Condition(field.name, "prefix", (operand,)) if operand else None

    def _in(self, field: m.Field, right: q.Term) -> o.Condition | None:
        if isinstance(right, q.InList):
            entries = [self._operand(field, entry, nullable=False) for entry in right.entries]
            known = tuple(entry for entry in entries if entry is not None)
            return o.Condition(field.name, "in", known) if len(known) == len(entries) else None
        if not isinstance(right, q.ParameterUse):
            return None
        symbol = self._unit.use(right)
        if symbol is None or symbol.type is None:
            return None
        kind = symbol.type
        if (
            not isinstance(kind, t.List)
            or not like(kind.item, field.type)
            or isinstance(kind.item, t.Optional)
        ):
            wanted = f"list<{t.required(field.type)}, 1..64>"
            message = f"`in` needs a {wanted} here; `${right.name}` is {kind}"
            self._report.add("Q004", right.at, message)
            return None
        if kind.maximum > QUERY_ENTRIES:
            message = f"a list for `in` has at most {QUERY_ENTRIES:,} entries; lower the maximum of {kind}"
            self._report.add("Q003", symbol.node.at, message)
            return None
        return o.Condition(field.name, "in", (o.Parameter(right.name, kind),))

    # Right sides.

    def _operand(self, field: m.Field, node: q.Term, *, nullable: bool) -> o.Operand | None:
        """The value that a field is compared with, of its type; `nullable`: null equals null."""
        found = self._value(field, node)
        if found is None:
            return None
        if not like(found.type, field.type):
            message = f"`{field.name}` is {field.type}; this is {found.type}"
            self._report.add("Q004", node.at, message)
            return None
        may_miss = isinstance(found, o.Parameter) and isinstance(found.type, t.Optional)
        if may_miss and not (nullable and isinstance(field.type, t.Optional)):
            name = found.name if isinstance(found, o.Parameter) else ""
            message = f"`${name}` may be null; write `when ${name} {{ … }}` around the condition"
            self._report.add("Q004", node.at, message)
            return None
        return found

    def _value(self, field: m.Field, node: q.Term) -> o.Operand | None:
        match node:
            case q.ParameterUse():
                symbol = self._unit.use(node)
                return o.Parameter(node.name, symbol.type) if symbol and symbol.type else None
            case s.Constant() | s.Negate():
                return self._constant(field, node)
            case s.Path():
                return self._named(node)
            case s.Chain() if node.steps[0].operator in ("+", "-", "*", "/"):
                self._report.add("Q005", node.at, _NO_ARITHMETIC)
            case _:
                message = "the right side is a parameter, a constant or a field of an earlier row"
                self._report.add("Q005", node.at, message)
        return None

    def _constant(self, field: m.Field, node: s.Constant | s.Negate) -> o.Operand | None:
        if isinstance(node, s.Negate) and not isinstance(node.operand, s.Constant):
            self._report.add("Q005", node.at, _NO_ARITHMETIC)
            return None
        found = Typer(Constants(self._unit.unit)).value(node, t.required(field.type))
        return found if isinstance(found, m.Literal) else None

    def _named(self, node: s.Path) -> o.Operand | None:
        first, *rest = node.parts
        if first.text == "tx":
            if len(rest) == 1 and rest[0].text == "time":
                return m.TxTime(t.TIMESTAMP)
            self._report.add("Q002", node.at, "`tx` has one value, the time of the snapshot: write `tx.time`")
            return None
        if rest and first.text in self._unit.unit.enums and first.text not in self._unit.rows:
            return self._variant(node, first, rest)
        if not rest and first.text in self._unit.parameters and first.text not in self._unit.rows:
            self._unknown(first, rest)
            return None
        if self.is_own(node):
            message = "two fields of one row are not compared; filter where you read the answer"
            self._report.add("Q005", node.at, message)
            return None
        return self._other(node, first, rest)

    def _variant(self, node: s.Path, enum: s.Name, rest: list[s.Name]) -> o.Operand | None:
        if len(rest) > 1:
            self._report.add("Q005", rest[1].at, "a variant has no parts; remove this")
            return None
        found = variant(self._unit.unit, self._unit.unit.enums[enum.text], rest[0])
        return found if isinstance(found, m.Variant) else None

    def _other(self, node: s.Path, first: s.Name, rest: list[s.Name]) -> o.Operand | None:
        """A field of an earlier row."""
        row = self._unit.rows.get(first.text)
        if row is None:
            self._unknown(first, rest)
            return None
        if len(rest) != 1:
            message = f"name one field of `{row.name}`, as in `{row.name}.field`"
            self._report.add("Q005", node.at, message)
            return None
        if row.reads != "rows":
            message = (
                f"`{row.name}` stands for many rows at once here; only a row that is returned has fields"
            )
            self._report.add("Q005", node.at, message)
            return None
        field = self._unit.field(row, rest[0])
        if field is None:
            return None
        if field.secret:
            self._report.add(
                "Q013", node.at, f"`{node.text}` is secret; a condition would let a caller guess it"
            )
            return None
        self.uses.append((row, node.at))
        return o.RowField(row.name, field.name, field.type)

    def _unknown(self, name: s.Name, rest: list[s.Name]) -> None:
        if name.text in self._unit.parameters:
            message = f"a parameter is written with its sign: `${name.text}`"
        elif name.text in self._unit.unit.enums:
            message = f"`{name.text}` is an enum; write one of its variants, as in `{name.text}.Variant`"
        elif not rest and (enum := self._enum_of(name.text)):
            message = f"write `{enum}.{name.text}`"
        else:
            known = self._unit.rows if rest else self._row.fields
            what = "earlier row" if rest else f"field of `{self._row.name}`"
            self._report.add("Q002", name.at, f"no {what} `{name.text}`", misspelt=name.text, known=known)
            return
        self._report.add("Q002", name.at, message)

    def _enum_of(self, variant_name: str) -> str:
        """The enum that has this variant, where there is one only."""
        holders = [name for name, enum in self._unit.unit.enums.items() if variant_name in enum.variants]
        return holders[0] if len(holders) == 1 else ""


def _under(condition: o.Condition, when: tuple[str, ...]) -> o.Condition:
    """The condition under these parameters."""
    return o.Condition(condition.field, condition.op, condition.operands, when)
