"""Random named queries, as text and as what they mean: evaluation over lists of rows that knows no index."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.support.query_contract import TIME, entity, few
from treadle.model import types

Cells = tuple[Any, ...]
Rows = dict[str, list[Cells]]
"""The rows of each entity."""

ORDERED = (types.U64, types.I64, types.Decimal, types.Money, types.Timestamp, types.Date)
SUMMED = ORDERED[:4]


class Overflow(Exception):
    """A sum leaves the range of its type."""


@dataclass
class Condition:
    """`field op entries`; each entry is a cell, or (row, field) of an outer row where `outer`."""

    field: str
    op: str
    entries: Any = ()
    asked: bool = True
    outer: bool = False


@dataclass
class Statement:
    kind: str
    row: str
    entity: str
    conditions: list[Condition] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    descending: bool = False
    take: int | None = None
    pages: bool = False
    group: list[str] = field(default_factory=list)
    text: str = ""


@dataclass
class Form:
    """A query: its text, parameters as cells, and what it means.

    `answer(rows)` is the whole record, all pages in one, and the place in it of the list with pages (of which
    a page holds `take`); None for Missing. It raises `Overflow` where a sum leaves its type's range.
    """

    text: str
    parameters: dict[str, Any]
    answer: Callable[[Rows], tuple[list[Any], int | None] | None]
    take: int


def position(name: str, member: str) -> int:
    return [each.name for each in entity(name).members].index(member)


def kind_of(name: str, member: str) -> types.Type:
    return next(each.type for each in entity(name).members if each.name == member)


def comparable(name: str) -> list[str]:
    """Fields that conditions may name."""
    return [m.name for m in entity(name).members if not m.secret and not isinstance(m.type, types.List)]


# What it means.


def passes(one: Condition, name: str, cells: Cells, outer: dict[str, Any]) -> bool:
    if not one.asked:
        return True
    cell = cells[position(name, one.field)]
    entries = [outer_cell(each, outer) for each in one.entries] if one.outer else list(one.entries)
    match one.op:
        case "is null":
            return cell is None
        case "is not null":
            return cell is not None
        case "in":
            return cell in entries
        case "==":
            return bool(cell == entries[0])
        case "!=":
            return bool(cell != entries[0])
    if cell is None or entries[0] is None:
        return False
    return bool(_TESTS[one.op](cell, entries[0]))


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "prefix": lambda a, b: a.startswith(b),
}


def outer_cell(reference: tuple[str, str], outer: dict[str, Any]) -> Any:
    name, cells = outer[reference[0]]
    return cells[position(name, reference[1])]


def found(one: Statement, rows: Rows, outer: dict[str, Any]) -> list[Cells]:
    """All rows of a statement, in order."""
    kept = [c for c in rows[one.entity] if all(passes(t, one.entity, c, outer) for t in one.conditions)]
    key = [member.name for member in entity(one.entity).key]
    terms = [*one.order, *(name for name in key if name not in one.order)]
    places = [position(one.entity, name) for name in terms]
    kept.sort(key=lambda cells: [(cells[p] is not None, cells[p]) for p in places], reverse=one.descending)
    return kept


def aggregate(op: str, name: str, member: str | None, tests: list[Condition], kept: list[Cells]) -> Any:
    if op == "count":
        return len(kept)
    if op in ("any", "all"):
        return (any if op == "any" else all)(all(passes(t, name, c, {}) for t in tests) for c in kept)
    assert member is not None
    cells = [c[position(name, member)] for c in kept if c[position(name, member)] is not None]
    if op != "sum":
        return (min if op == "min" else max)(cells, default=None)
    kind = types.required(kind_of(name, member))
    total = sum(cells)
    low, high = (-(2**63), 2**63 - 1) if isinstance(kind, types.I64) else (-(10**38) + 1, 10**38 - 1)
    if isinstance(kind, types.U64):
        low, high = 0, 2**64 - 1
    if not low <= total <= high:
        raise Overflow
    return total


# Drawing.


class Writer:
    """Draws one query."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.parameters: dict[str, Any] = {}
        self.declared: list[str] = []
        self.statements: list[str] = []
        self.qualified = False

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def chance(self, of: int) -> bool:
        return bool(self.draw(st.integers(1, of)) == 1)

    def parameter(self, type_text: str, cell: Any) -> str:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = cell
        self.declared.append(f"${name}: {type_text}")
        return f"${name}"

    def term(self, name: str, member: str, cell: Any, equality: bool = False) -> str:
        """A cell on the right side: a constant where one can be written, else a parameter."""
        declared = kind_of(name, member)
        kind = types.required(declared)
        if cell == TIME and isinstance(kind, types.Timestamp) and self.chance(2):
            return "tx.time"
        if cell is not None and self.chance(2):
            if isinstance(kind, types.Bool):
                return "true" if cell else "false"
            if isinstance(kind, types.U64 | types.I64):
                return str(cell)
            if isinstance(kind, types.String):
                return json.dumps(cell)
            if isinstance(kind, types.Enum):
                return f"Colour.{cell}"
        plain = isinstance(declared, types.Optional) and not (equality and self.chance(2))
        return self.parameter(str(kind) if plain else f"{name}.{member}", cell)

    def compared(self, one: Statement, member: str, op: str, cell: Any) -> None:
        left = self.left(one, member)
        equality = op in ("==", "!=")
        if cell is None and self.chance(2):
            op = "is null" if op == "==" else "is not null"
            one.conditions.append(Condition(member, op))
            self.add(one, f"{left} {op}")
            return
        one.conditions.append(Condition(member, op, (cell,)))
        right = (
            self.parameter(f"{one.entity}.{member}", None)
            if cell is None
            else self.term(one.entity, member, cell, equality)
        )
        self.add(one, f"{left} {op} {right}")

    def left(self, one: Statement, member: str) -> str:
        return f"{one.row}.{member}" if self.qualified or self.chance(2) else member

    def add(self, one: Statement, text: str) -> None:
        one.text += (" && " if one.text else "") + text

    def listed(self, one: Statement, member: str, cells: list[Any]) -> None:
        one.conditions.append(Condition(member, "in", tuple(cells)))
        left = self.left(one, member)
        if cells and self.chance(2):
            entries = ", ".join(self.term(one.entity, member, cell) for cell in cells)
            self.add(one, f"{left} in ({entries})")
            return
        type_text = f"list<{one.entity}.{member}, 0..4>"
        self.add(one, f"{left} in {self.parameter(type_text, tuple(cells))}")

    def outer_equal(self, one: Statement, member: str, reference: tuple[str, str]) -> None:
        one.conditions.append(Condition(member, "==", (reference,), outer=True))
        self.add(one, f"{one.row}.{member} == {reference[0]}.{reference[1]}")

    # Conditions.

    def filter(self, one: Statement, fixed: Sequence[str]) -> None:
        """A condition that no index has to serve."""
        member = self.pick(comparable(one.entity))
        kind = kind_of(one.entity, member)
        plain = types.required(kind)
        under = self.chance(3)
        ops = ["!=", "in"]
        if under or member in fixed:
            ops.append("==")
        if isinstance(kind, types.Optional):
            ops += ["is not null", *(["is null"] if under or member in fixed else [])]
        if isinstance(plain, ORDERED):
            ops += ["<", "<=", ">", ">="]
        if member in ("name", "o_name") and under:
            ops.append("prefix")
        op = self.pick(ops)
        if under:
            self.under(one, member, op)
        elif op in ("is null", "is not null"):
            self.compared(one, member, "==" if op == "is null" else "!=", None)
        elif op == "in":
            self.listed(one, member, self.draw(st.lists(st.sampled_from(few(plain)), max_size=3)))
        else:
            self.compared(one, member, op, self.pick(few(plain)))

    def under(self, one: Statement, member: str, op: str) -> None:
        """The same under `when`, whose parameter is there or not."""
        plain = types.required(kind_of(one.entity, member))
        cell = self.pick([None, *few(plain)])
        if op == "in" or op.startswith("is"):
            flag = self.draw(st.booleans())
            name = self.parameter("bool", flag)
            listed = self.pick([[few(plain)[0]], few(plain)[-2:]])
            entries = ", ".join(self.term(one.entity, member, each) for each in listed)
            right = f"in ({entries})" if op == "in" else op
            one.conditions.append(Condition(member, op, tuple(listed), asked=flag))
            self.add(one, f"when {name} {{ {one.row}.{member} {right} }}")
            return
        name = self.parameter(f"optional<{one.entity}.{member}>", cell)
        one.conditions.append(Condition(member, op, (cell,), asked=cell is not None))
        self.add(one, f"when {name} {{ {one.row}.{member} {op} {name} }}")

    def bounds(self, one: Statement, member: str, texts: Sequence[str]) -> None:
        """Conditions on the first free field of an index."""
        kind = types.required(kind_of(one.entity, member))
        if member in texts and self.chance(2):
            self.compared(one, member, "prefix", self.pick(few(kind)))
        if isinstance(kind, ORDERED):
            for op in self.draw(st.lists(st.sampled_from(["<", "<=", ">", ">="]), max_size=2)):
                self.compared(one, member, op, self.pick(few(kind)))
            if self.chance(4):
                self.under(one, member, self.pick(["<", ">="]))

    def indexed(
        self, one: Statement, parent: str | None, order: bool
    ) -> tuple[list[str], list[str], list[str]]:
        """Conditions that some index serves: the fields fixed by `==`, by `in`, and the free ones."""
        declared = entity(one.entity)
        key = [member.name for member in declared.key]
        ways: list[tuple[list[str], tuple[str, ...], tuple[str, ...]]] = [(key, (), ())]
        if parent is None:
            ways += [(list(i.fields), i.presence, i.text_keys) for i in declared.indexes]
        fields, presence, texts = self.pick(ways)
        full = [*fields, *(name for name in key if name not in fields)]
        count = self.draw(st.integers(2 if parent else 0, len(full)))
        equal: list[str] = []
        listed: list[str] = []
        for place, member in enumerate(full[:count]):
            if parent is not None and place < 2:
                self.outer_equal(one, member, (parent, member))
                equal.append(member)
            elif len(listed) < 2 and self.chance(4):
                plain = types.required(kind_of(one.entity, member))
                self.listed(one, member, self.draw(st.lists(st.sampled_from(few(plain)), max_size=3)))
                listed.append(member)
            else:
                self.compared(one, member, "==", self.pick(few(kind_of(one.entity, member))))
                equal.append(member)
        for member in presence:
            one.conditions.append(Condition(member, "is not null"))
            self.add(one, f"{self.left(one, member)} is not null")
        if full[count:]:
            self.bounds(one, full[count], texts)
        for _ in range(self.draw(st.integers(0, 2))):
            self.filter(one, equal)
        return equal, listed, full[count:]

    def ordered(self, one: Statement, equal: list[str], listed: list[str], walk: list[str]) -> None:
        """`order by`: the free fields, those of `in` between them, without what the key adds by itself."""
        terms = list(walk)
        for member in listed:
            if self.chance(2):
                terms.insert(self.draw(st.integers(0, len(terms))), member)
        key = [member.name for member in entity(one.entity).key]
        short = terms[: self.draw(st.integers(0, len(terms)))]
        total = [name for name in dict.fromkeys([*short, *key]) if name not in equal]
        if [name for name in total if name not in listed] == walk:
            terms = short
        one.order = terms
        one.descending = self.draw(st.booleans())

    # Statements. Each gives its source text, its member's text and its value.

    def many(self, row: str, name: str, parent: str | None, pages: bool) -> tuple[Statement, str]:
        one = Statement("many", row, name)
        equal, listed, walk = self.indexed(one, parent, True)
        self.ordered(one, equal, listed, walk)
        one.take = self.draw(st.integers(1, 3 if parent else 6))
        one.pages = pages
        direction = " desc" if one.descending else self.pick(["", " asc"])
        order = ", ".join(f"{self.left(one, term)}{direction}" for term in one.order)
        text = f"  many {row} from {name}{self.where(one)}"
        text += f" order by {order}" if order else ""
        if one.descending and not order:
            one.descending = False
        return one, f"{text} take {one.take}{' after $next' if pages else ''}"

    def where(self, one: Statement) -> str:
        return f" where {one.text}" if one.text else ""

    def totals(self, row: str, name: str, parent: str | None) -> tuple[Statement, str]:
        one = Statement("many", row, name)
        self.indexed(one, parent, False)
        return one, f"  many {row} from {name}{self.where(one)}"

    def groups(self, row: str, pages: bool) -> tuple[Statement, str]:
        one = Statement("many", row, "Item")
        equal, listed, walk = self.indexed(one, None, False)
        fields = walk[: self.draw(st.integers(0, len(walk)))]
        for member in [*equal, *listed]:
            if self.chance(2):
                fields.insert(self.draw(st.integers(0, len(fields))), member)
        if not fields:
            fields = [*(equal or listed or walk)[:1]]
        one.group, one.take, one.pages = fields, self.draw(st.integers(1, 4)), pages
        after = " after $next" if pages else ""
        by = ", ".join(f"{row}.{member}" for member in fields)
        return one, f"  many {row} from Item{self.where(one)} group by {by} take {one.take}{after}"

    def aggregates(self, one: Statement) -> list[tuple[str, Callable[[list[Cells]], Any]]]:
        """Some aggregates of a statement: their text and their value over its rows."""
        chosen: list[tuple[str, Callable[[list[Cells]], Any]]] = []
        for _ in range(self.draw(st.integers(1, 3))):
            op = self.pick(["count", "sum", "min", "max", "any", "all"])
            if op == "count":
                chosen.append((f"count({one.row})", self._computed("count", one.entity, None, [])))
            elif op in ("any", "all"):
                inner = Statement("many", one.row, one.entity)
                member = self.pick(comparable(one.entity))
                self.qualified = True  # an aggregate's row is the one that it names
                self.compared(inner, member, "==", self.pick(few(kind_of(one.entity, member))))
                if self.chance(2):
                    self.filter(inner, comparable(one.entity))
                self.qualified = False
                chosen.append((f"{op}({inner.text})", self._computed(op, one.entity, None, inner.conditions)))
            else:
                wanted = SUMMED if op == "sum" else ORDERED
                able = [
                    name
                    for name in comparable(one.entity)
                    if isinstance(types.required(kind_of(one.entity, name)), wanted)
                ]
                member = self.pick(able)
                chosen.append((f"{op}({one.row}.{member})", self._computed(op, one.entity, member, [])))
        return chosen

    def _computed(
        self, op: str, name: str, member: str | None, tests: list[Condition]
    ) -> Callable[[list[Cells]], Any]:
        return lambda kept: aggregate(op, name, member, tests, kept)

    def shape(self, name: str) -> tuple[str, list[int]]:
        """Some fields of a row: their text and positions; -1 is the revision."""
        members = [m.name for m in entity(name).members if not m.secret]
        shown = self.draw(
            st.lists(st.sampled_from([*members, "revision"]), min_size=1, max_size=4, unique=True)
        )
        return " ".join(shown), [-1 if each == "revision" else position(name, each) for each in shown]

    def show(self, name: str, places: list[int], cells: Cells) -> tuple[Any, ...]:
        return tuple(REVISION if place < 0 else cells[place] for place in places)

    # Members of the answer: text, and value over all rows and the outer row.

    def nested(self, row: str, depth: int) -> list[tuple[str, Member]]:
        """What may stand in the shape of an item."""
        chosen: list[tuple[str, Member]] = []
        if self.chance(3):
            chosen.append(self.looked_up(f"{row}m", row))
        if self.chance(3):
            chosen.append(self.lines(f"{row}l", row))
        if self.chance(3):
            chosen.append(self.counted(f"{row}t", "Line", row))
        return chosen

    def looked_up(self, row: str, parent: str) -> tuple[str, Member]:
        """`maybe` an item whose key stands in the outer row."""
        one = Statement("maybe", row, "Item")
        self.outer_equal(one, "shop", (parent, "shop"))
        self.outer_equal(one, "id", (parent, "signed"))
        if self.chance(2):
            self.filter(one, comparable("Item"))
        self.statements.append(f"  maybe {row} from Item{self.where(one)}")
        text, places = self.shape("Item")

        def value(rows: Rows, outer: dict[str, Any]) -> Any:
            kept = found(one, rows, outer)
            return self.show("Item", places, kept[0]) if kept else None

        return f"{row}: {row} {{ {text} }}", value

    def lines(self, row: str, parent: str) -> tuple[str, Member]:
        one, source = self.many(row, "Line", parent, False)
        self.statements.append(source)
        text, places = self.shape("Line")

        def value(rows: Rows, outer: dict[str, Any]) -> Any:
            return [self.show("Line", places, cells) for cells in found(one, rows, outer)[: one.take]]

        return f"{row}: {row} {{ {text} }}", value

    def counted(self, row: str, name: str, parent: str | None) -> tuple[str, Member]:
        one, source = self.totals(row, name, parent)
        self.statements.append(source)
        (text, computed), *_ = self.aggregates(one)
        return f"{row}: {text}", lambda rows, outer: computed(found(one, rows, outer))

    def items(self, row: str, pages: bool) -> tuple[str, Member, Statement]:
        """A list of items with what is nested in it; the value is of all rows, `take` aside."""
        one, source = self.many(row, "Item", None, pages)
        self.statements.append(source)
        text, places = self.shape("Item")
        inner = self.nested(row, 1)

        def value(rows: Rows, outer: dict[str, Any]) -> Any:
            listed = []
            for cells in found(one, rows, outer):
                here = {**outer, row: ("Item", cells)}
                listed.append((*self.show("Item", places, cells), *(get(rows, here) for _, get in inner)))
            return listed

        members = " ".join([text, *(each for each, _ in inner)])
        return f"{row}: {row} {{ {members} }}", value, one

    def grouped(self, row: str, pages: bool) -> tuple[str, Member, Statement]:
        one, source = self.groups(row, pages)
        self.statements.append(source)
        computed = self.aggregates(one)
        places = [position("Item", member) for member in one.group]

        def value(rows: Rows, outer: dict[str, Any]) -> Any:
            groups: dict[Cells, list[Cells]] = {}
            for cells in found(one, rows, outer):
                groups.setdefault(tuple(cells[place] for place in places), []).append(cells)
            ordered = sorted(groups.items(), key=lambda item: [(cell is not None, cell) for cell in item[0]])
            return [(*key, *(get(kept) for _, get in computed)) for key, kept in ordered]

        parts = [*one.group, *(f"a{place}: {text}" for place, (text, _) in enumerate(computed))]
        return f"{row}: {row} {{ {' '.join(parts)} }}", value, one

    def single(self, row: str, kind: str) -> tuple[str, Member, Statement]:
        one = Statement(kind, row, "Item")
        fields = self.pick([("shop", "id"), ("shop", "who")])
        for member in fields:
            self.compared(one, member, "==", self.pick(few(kind_of("Item", member))))
        if self.chance(3):
            self.filter(one, comparable("Item"))
        self.statements.append(f"  {kind} {row} from Item{self.where(one)}")
        text, places = self.shape("Item")
        below = [self.lines(f"{row}l", row)] if self.chance(2) and kind == "one" else []

        def value(rows: Rows, outer: dict[str, Any]) -> Any:
            kept = found(one, rows, outer)
            if not kept:
                return MISSING if kind == "one" else None
            here = {**outer, row: ("Item", kept[0])}
            return self.show("Item", places, kept[0]), *(get(rows, here) for _, get in below)

        members = ", ".join([f"{row}: {row} {{ {text} }}", *(each for each, _ in below)])
        return members, value, one


Member = Callable[[Rows, dict[str, Any]], Any]
REVISION = 3
"""The revision of every row."""
MISSING = object()


@st.composite
def forms(draw: Any) -> Form:
    """A random query that some index serves."""
    writer = Writer(draw)
    paged: int | None = None
    members: list[str] = []
    values: list[tuple[Member, int | None, bool]] = []
    for place in range(draw(st.integers(1, 3))):
        kind = writer.pick(["items", "items", "groups", "totals", "one", "maybe"])
        row = f"r{place}"
        if kind == "totals":
            text, value = writer.counted(row, writer.pick(["Item", "Line"]), None)
            take, wide = None, False
        elif kind in ("one", "maybe"):
            text, value, _ = writer.single(row, kind)
            take, wide = None, True
        else:
            pages = paged is None and writer.chance(2)
            made = writer.items(row, pages) if kind == "items" else writer.grouped(row, pages)
            text, value, one = made
            take, wide = one.take, False
            if pages:
                paged = len(values)
        members.append(text)
        values.append((value, take, wide))
    outcomes = writer.pick(["", "\n  outcomes Found | Missing"])
    header = f"({', '.join(writer.declared)})" if writer.declared or writer.chance(2) else ""
    needs = " else Missing" if not outcomes else ""
    lines = [line + (needs if line.startswith("  one ") else "") for line in writer.statements]
    body = "\n".join(lines)
    source = f"query Random{header} {{\n{body}\n  return Found {{ {', '.join(members)} }}{outcomes}\n}}\n"

    def answer(rows: Rows) -> tuple[list[Any], int | None] | None:
        record: list[Any] = []
        at = None
        for place, (value, most, wide) in enumerate(values):
            got = value(rows, {})
            if got is MISSING:
                return None
            at = len(record) if place == paged else at
            if wide and got is not None:
                record.extend(got)
            else:
                record.append(got if most is None or place == paged else got[:most])
        return record, at

    return Form(source, writer.parameters, answer, (values[paged][1] or 0) if paged is not None else 0)
