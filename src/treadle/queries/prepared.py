"""A checked query made ready to run under one contract: names become positions, conditions functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from treadle.engine.state import Deployed
from treadle.errors import check
from treadle.model import query as q
from treadle.model import types as t
from treadle.model.coders import Encode
from treadle.model.facts import Cell, Cells, Row
from treadle.model.ranges import Filter, Fold
from treadle.model.types import Type
from treadle.plan.entities import EntityPlan
from treadle.plan.positions import picker
from treadle.ports.queries import Walk
from treadle.ports.store import IndexSpec, Table
from treadle.queries.frame import Absent, Filters, Frame, entries_of, filters_of

Positions: TypeAlias = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """One statement. `fixed` gives, for each leading field, its possible values; `order` are positions.

    `ranges` bound the first field after those. `folds` are the aggregates that the answer asks of it, each
    made in a frame, since `any` and `all` have conditions of their own.
    """

    statement: q.Statement
    entity: EntityPlan
    table: Table
    along: IndexSpec | None
    fixed: tuple[Callable[[Frame], Cells], ...]
    ranges: Filters
    rest: Filters
    order: tuple[int, ...]
    group: tuple[int, ...]
    folds: tuple[Callable[[Frame], Fold], ...]
    fold_types: tuple[Type, ...]

    @property
    def name(self) -> str:
        return self.statement.row

    def walk(self, filters: tuple[Filter, ...]) -> Walk:
        """The walk that the statement makes, before its leading fields are known."""
        return Walk(self.table, self.along, descending=self.statement.access.descending, filters=filters)


class Plain(NamedTuple):
    """A shape of a row's own fields alone: the whole record at once, and which of its values vary in size."""

    record: Callable[[Row], tuple[Cell, ...]]
    wide: tuple[int, ...]
    width: int


@dataclass(frozen=True)
class Prepared:
    """A query ready to run. `under` are the statements that run for each row of a many row ('' for once)."""

    query: q.Query
    deployed: Deployed
    statements: Mapping[str, PreparedStatement]
    under: Mapping[str, tuple[PreparedStatement, ...]]
    places: Mapping[int, int]
    """Where each aggregate of the answer stands among its statement's folds, by `id` of its node."""
    plain: Mapping[int, Plain]
    """The shapes that are only a row's own fields, by `id` of their node."""
    encode_parameters: Encode


def prepare(query: q.Query, deployed: Deployed) -> Prepared:
    """Make a query ready; the contract is one that it was compiled against."""
    entities = deployed.plan.entities
    positions = {one.row: entities[one.entity].positions for one in query.statements}
    flags = frozenset(one.name for one in query.parameters if one.type == t.BOOL)
    aggregates = list(_aggregates(query.members))
    places: dict[int, int] = {}
    statements: dict[str, PreparedStatement] = {}
    for statement in query.statements:
        own = [node for node in aggregates if node.row == statement.row]
        places.update((id(node), place) for place, node in enumerate(own))
        statements[statement.row] = _statement(statement, deployed, own, positions, flags)
    under: dict[str, tuple[PreparedStatement, ...]] = {}
    for name in ("", *statements):
        nested = [one for one in statements.values() if (one.statement.parent or "") == name]
        under[name] = tuple(nested)
    encode = deployed.codec.fields_encoder(query.parameters)
    plain = dict(_plain_shapes(query.members, positions))
    return Prepared(query, deployed, statements, under, places, plain, encode)


def _plain_shapes(members: Sequence[q.Member], positions: Positions) -> Iterator[tuple[int, Plain]]:
    for member in members:
        shape = member.value
        if isinstance(shape, q.ShapeResult):
            yield from _plain_shapes(shape.members, positions)
            found = _plain(shape, positions[shape.row])
            if found is not None:
                yield id(shape), found


def _plain(shape: q.ShapeResult, positions: Mapping[str, int]) -> Plain | None:
    """How to take a record out of its row, where nothing else is in it."""
    places: list[int] = []
    kinds: list[Type] = []
    for member in shape.members:
        value = member.value
        if isinstance(value, q.FieldResult) and value.row == shape.row:
            places.append(positions[value.field])
        elif isinstance(value, q.RevisionResult) and value.row == shape.row:
            places.append(-1)
        else:
            return None
        kinds.append(t.required(value.type))
    wide = tuple(place for place, kind in enumerate(kinds) if isinstance(kind, t.String | t.Bytes | t.List))
    pick = picker([place + 1 for place in places])  # the revision stands before the cells
    return Plain(lambda row: pick((row.revision, *row.cells)), wide, len(places))


def _aggregates(members: Sequence[q.Member]) -> list[q.AggregateResult]:
    found: list[q.AggregateResult] = []
    for member in members:
        if isinstance(member.value, q.AggregateResult):
            found.append(member.value)
        elif isinstance(member.value, q.ShapeResult):
            found += _aggregates(member.value.members)
    return found


def _statement(
    statement: q.Statement,
    deployed: Deployed,
    aggregates: Sequence[q.AggregateResult],
    positions: Positions,
    flags: frozenset[str],
) -> PreparedStatement:
    entity = deployed.plan.entities[statement.entity]
    table = deployed.tables[statement.entity]
    access = statement.access
    along = None
    if access.kind == "index" and access.name:
        along = next((spec for spec in table.indexes if spec.name == access.name), None)
        check(along is not None, f"the contract has index {access.name}")
    return PreparedStatement(
        statement=statement,
        entity=entity,
        table=table,
        along=along,
        fixed=tuple(entries_of(one, positions) for one in access.fixed),
        ranges=filters_of(access.ranges, entity, positions, flags),
        rest=filters_of(access.rest, entity, positions, flags),
        order=entity.at(access.order),
        group=entity.at(statement.group),
        folds=tuple(_fold(node, entity, positions, flags) for node in aggregates),
        fold_types=tuple(node.type for node in aggregates),
    )


def _fold(
    node: q.AggregateResult, entity: EntityPlan, positions: Positions, flags: frozenset[str]
) -> Callable[[Frame], Fold]:
    if node.op in ("any", "all"):
        filters = filters_of(node.conditions, entity, positions, flags)

        def asked(frame: Frame) -> Fold:
            try:
                return Fold(node.op, None, filters(frame))
            except Absent:
                return Fold(node.op, None, (_NEVER,))

        return asked
    fold = Fold(node.op, None if node.field is None else entity.positions[node.field])
    return lambda frame: fold


_NEVER: Final = Filter(0, "in", ())
