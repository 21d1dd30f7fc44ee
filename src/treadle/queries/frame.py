"""What a running query knows: the parameters, the rows read so far, the time; and conditions over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from treadle.errors import InvariantBroken
from treadle.model import contract as c
from treadle.model import query as q
from treadle.model import types as t
from treadle.model.facts import Cell, Cells, Row
from treadle.model.ranges import Filter
from treadle.plan.entities import EntityPlan
from treadle.ports.queries import Group


class Absent(Exception):
    """A condition names a field of a row that is not there: nothing can pass it."""


class Frame:
    """Values by name. A nested list makes an inner frame for each row, which sees the outer one's."""

    __slots__ = ("groups", "parameters", "rows", "time", "totals")

    def __init__(self, parameters: Mapping[str, Cell], time: int) -> None:
        self.parameters = parameters
        self.time = time
        self.rows: dict[str, Row | None] = {}
        self.groups: dict[str, Group] = {}
        self.totals: dict[str, Sequence[Cell]] = {}

    def inner(self) -> Frame:
        """A frame that begins with the same values."""
        frame = Frame(self.parameters, self.time)
        frame.rows = dict(self.rows)
        frame.groups = dict(self.groups)
        frame.totals = dict(self.totals)
        return frame


Value: TypeAlias = Callable[[Frame], Cell]
Filters: TypeAlias = Callable[[Frame], tuple[Filter, ...]]


def value_of(operand: q.Operand, positions: Mapping[str, Mapping[str, int]]) -> Value:
    """The function of an operand; `positions` has, for each row, where its fields stand."""
    match operand:
        case c.Literal():
            cell = operand.cell
            return lambda frame: cell
        case c.Variant():
            name = operand.name
            return lambda frame: name
        case c.TxTime():
            return lambda frame: frame.time
        case q.Parameter():
            parameter = operand.name
            return lambda frame: frame.parameters[parameter]
        case q.RowField():
            return _field(operand.row, positions[operand.row][operand.field])
        case _:
            raise InvariantBroken(f"internal invariant broken: {type(operand).__name__} is no operand")


def _field(row: str, position: int) -> Value:
    def field(frame: Frame) -> Cell:
        found = frame.rows[row]
        if found is None:
            raise Absent
        return found.cells[position]

    return field


def active(condition: q.Condition, flags: frozenset[str]) -> Callable[[Frame], bool] | None:
    """Whether a condition is asked; None for always. `flags` are the parameters that are plain bools."""
    if not condition.when:
        return None
    names = condition.when

    def asked(frame: Frame) -> bool:
        for name in names:
            value = frame.parameters[name]
            if value is None or (name in flags and value is False):
                return False
        return True

    return asked


def entries_of(
    condition: q.Condition, positions: Mapping[str, Mapping[str, int]]
) -> Callable[[Frame], Cells]:
    """The values of a condition's right side: one, several for `in`, None for the tests for null."""
    if condition.op in ("is null", "is not null"):
        return lambda frame: (None,)
    values = [value_of(operand, positions) for operand in condition.operands]
    if condition.op == "in" and isinstance(condition.operands[0].type, t.List):
        listed: Callable[[Frame], Any] = values[0]
        return lambda frame: tuple(listed(frame))
    return lambda frame: tuple(value(frame) for value in values)


def filters_of(
    conditions: Sequence[q.Condition],
    entity: EntityPlan,
    positions: Mapping[str, Mapping[str, int]],
    flags: frozenset[str],
) -> Filters:
    """The conditions that are asked in a frame, as filters of the entity's rows."""
    made = [
        (active(one, flags), entity.positions[one.field], one.op, entries_of(one, positions))
        for one in conditions
    ]
    if not made:
        return lambda frame: ()

    def filters(frame: Frame) -> tuple[Filter, ...]:
        found = []
        for asked, position, op, entries in made:
            if asked is None or asked(frame):
                values = entries(frame)
                found.append(Filter(position, op, values if op == "in" else values[0]))
        return tuple(found)

    return filters
