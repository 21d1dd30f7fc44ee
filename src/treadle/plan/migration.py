"""A migration made ready to run: what becomes of each row, and what must hold of it. Pure.

An entity's work makes a row's image under the successor and says what the successor demands of that image:
its size, the entity's new invariants, new unique entries, new references, and the new invariants that a
root shares with a child. Whoever runs it has the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, NamedTuple

from treadle import limits
from treadle.model import contract as c
from treadle.model.facts import Cells, Key
from treadle.model.migration import Migration, Need
from treadle.plan.aggregates import SharedInvariant
from treadle.plan.entities import Data, EntityPlan, InvariantPlan, UniquePlan, data_of
from treadle.plan.expressions import Function, OutOfRange, compile_expr, constant, misplaced
from treadle.plan.positions import picker, positions_of
from treadle.ports.store import IndexSpec, Table

REFERENCE: Final = "reference:"
"""What the name of an index begins with that a table has only while it is built; no declared name does."""


class Unfit(Exception):
    """A row that cannot be brought under the successor; the message says why, without values."""


class ReferenceWork(NamedTuple):
    """A new reference: the complete key of `target`, taken out of an image from `positions`."""

    name: str
    target: str
    positions: tuple[int, ...]
    key_of: Callable[[Sequence[object]], Key]

    @property
    def lookup(self) -> IndexSpec:
        """The index by which, while the table is built, the rows that name a key are found."""
        return IndexSpec(REFERENCE + self.name, self.positions)


class SharedWork(NamedTuple):
    """New invariants of an aggregate, looked at for rows of `entity`: a child, or the root by itself."""

    root: str
    root_key_count: int
    entity: str
    invariants: tuple[SharedInvariant, ...]

    def check(self, root: Cells, own: Cells) -> None:
        """Raise `Unfit` unless they hold of the images of a root and of one of its rows."""
        rows = {self.root: root, self.entity: own}
        for invariant in self.invariants:
            _hold(invariant.name, invariant.holds, rows)


@dataclass(frozen=True)
class EntityWork:
    """What a migration does with the rows of one entity.

    `parts` makes each cell of an image, by its field's name. `writes`: rows get fields, so their images are
    other ones; `anew`: their table is built anew beside the one that is there.
    """

    entity: str
    parts: tuple[tuple[str, Function], ...]
    writes: bool
    anew: bool
    oversize: Callable[[Cells], bool] | None
    invariants: tuple[InvariantPlan, ...]
    uniques: tuple[UniquePlan, ...]
    references: tuple[ReferenceWork, ...]
    shared: tuple[SharedWork, ...]

    def image(self, cells: Cells) -> Cells:
        """A row's cells under the successor; raises `Unfit` where a field's value cannot be computed."""
        image = []
        for name, part in self.parts:
            try:
                image.append(part(cells))
            except OutOfRange:
                raise Unfit(f"field {name} cannot be computed: a result is out of its type's range") from None
        return tuple(image)

    def check(self, image: Cells) -> None:
        """Raise `Unfit` where the image by itself breaks a rule."""
        if self.oversize is not None and self.oversize(image):
            raise Unfit("the row would pass one mebibyte")
        for invariant in self.invariants:
            _hold(invariant.name, invariant.holds, image)

    def entries(self, image: Cells) -> list[tuple[str, Cells]]:
        """The new unique entries of an image, each with its unique's name."""
        return [(unique.name, unique.values_of(image)) for unique in self.uniques]


def _hold(name: str, holds: Function, frame: object) -> None:
    try:
        if not holds(frame):
            raise Unfit(f"invariant {name} does not hold")
    except OutOfRange:
        raise Unfit(f"invariant {name} cannot be computed: a result is out of its type's range") from None


class MigrationPlan:
    """The work of a migration: for each entity whose rows it looks at, in the successor's order.

    `time` is when the migration began, in microseconds: what `tx.time` stands for.
    """

    def __init__(self, before: c.Contract, after: c.Contract, migration: Migration, time: int) -> None:
        self._known = {entity.name: entity for entity in before.entities}
        self._data: Data = data_of(after)
        self._migration = migration
        self._time = time
        self.needs = frozenset(Need(*need) for need in migration.needs)
        shared = list(self._shared(after.aggregates))
        self._all = {
            entity.name: self._work(entity, [one for one in shared if one.entity == entity.name])
            for entity in after.entities
            if entity.name in self._known
        }
        owners = {need.owner for need in self.needs if need.kind != "invariant" or need.owner in self._all}
        self.works: Mapping[str, EntityWork] = {
            name: work for name, work in self._all.items() if name in owners or work.shared
        }

    def image(self, entity: str, cells: Cells) -> Cells:
        """A row of any entity under the successor; raises `Unfit`."""
        return self._all[entity].image(cells)

    @property
    def anew(self) -> tuple[str, ...]:
        """The entities whose tables are built anew."""
        return tuple(name for name, work in self.works.items() if work.anew)

    def targets(self, entity: str) -> Iterator[tuple[EntityWork, ReferenceWork]]:
        """The new references to an entity."""
        for work in self.works.values():
            for reference in work.references:
                if reference.target == entity:
                    yield work, reference

    def children(self, root: str) -> Iterator[EntityWork]:
        """The entities whose rows share a new invariant with a root of this entity."""
        for name, work in self.works.items():
            if name != root and any(shared.root == root for shared in work.shared):
                yield work

    def _shared(self, aggregates: Iterable[c.Aggregate]) -> Iterator[SharedWork]:
        for aggregate in aggregates:
            plan = self._data.entities[aggregate.root].aggregate
            if plan is None:
                raise misplaced(aggregate.partition_by)
            new = [
                one for one in plan.invariants if Need("invariant", aggregate.name, one.name) in self.needs
            ]
            for entity in (aggregate.root, *aggregate.children):
                children = () if entity == aggregate.root else (entity,)
                own = tuple(one for one in new if one.entities == children)
                if own:
                    yield SharedWork(aggregate.root, plan.root_key_count, entity, own)

    def _work(self, entity: c.Entity, shared: list[SharedWork]) -> EntityWork:
        plan = self._data.entities[entity.name]
        known = self._known[entity.name]
        fills = {
            fill.field: self._function(known, fill.value) for fill in self._migration.fills_of(entity.name)
        }
        new = {need for need in self.needs if need.owner == entity.name}
        uniques = tuple(one for one in plan.uniques if Need("unique", entity.name, one.name) in new)
        references = tuple(
            _reference(plan, self._data.entities[one.target], one)
            for one in entity.references
            if Need("reference", entity.name, one.name) in new
        )
        return EntityWork(
            entity=entity.name,
            parts=tuple(_parts(entity, positions_of(known), fills)),
            writes=bool(fills),
            anew=bool(fills or uniques or references or any(need.kind == "index" for need in new)),
            oversize=_oversize(plan),
            invariants=tuple(
                one for one in plan.invariants if Need("invariant", entity.name, one.name) in new
            ),
            uniques=uniques,
            references=references,
            shared=tuple(shared),
        )

    def _function(self, known: c.Entity, value: c.Expr) -> Function:
        positions, time = positions_of(known), self._time

        def leaf(expr: c.Expr) -> Function:
            match expr:
                case c.OwnField():
                    return itemgetter(positions[expr.field])
                case c.TxTime():
                    return lambda cells: time
                case _:
                    raise misplaced(expr)

        return compile_expr(value, leaf)


def _parts(
    entity: c.Entity, known: Mapping[str, int], fills: Mapping[str, Function]
) -> Iterator[tuple[str, Function]]:
    """For each field what makes its cell: the one that is there, its fill, or null."""
    for member in entity.members:
        if member.name in known:
            yield member.name, itemgetter(known[member.name])
        else:
            yield member.name, fills.get(member.name, constant(None))


def _reference(plan: EntityPlan, target: EntityPlan, reference: c.Reference) -> ReferenceWork:
    """The fields that hold the target's key, in the order of that key."""
    holders = dict(zip(reference.target_fields, reference.fields, strict=True))
    names = [holders[member.name] for member in target.members[: target.key_count]]
    positions = plan.at(names)
    return ReferenceWork(reference.name, target.name, positions, picker(positions))


def _oversize(plan: EntityPlan) -> Callable[[Cells], bool] | None:
    measure = plan.sizes.row_measure(plan.name)
    return None if measure is None else lambda cells: measure(cells) > limits.ROW_BYTES


def hidden(after: Table, place: int, work: EntityWork) -> Table:
    """The table that is built for `after`, the successor's `place`-th entity, until it takes its place."""
    indexes = (*after.indexes, *(reference.lookup for reference in work.references))
    return after._replace(name=f"treadle_build_{place}", tombstones=False, indexes=indexes)
