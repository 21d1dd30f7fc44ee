"""Which rows a caller sees: those that row policies let it read, of its own tenant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

from treadle.access.caller import Caller
from treadle.engine.state import Deployed
from treadle.model import contract as c
from treadle.model.facts import Cells, Key, Range, Row, Sealed, UniqueRef
from treadle.plan.entities import EntityPlan
from treadle.plan.expressions import Function, OutOfRange, compile_expr, misplaced
from treadle.ports.store import ReadTx, Table

Sees: TypeAlias = Callable[[Cells], bool]


class SnapshotView:
    """A snapshot as row policies ask it."""

    def __init__(self, tx: ReadTx, tables: Mapping[str, Table]) -> None:
        self._tx = tx
        self._tables = tables

    def row(self, entity: str, key: Key) -> Row | None:
        return self._tx.rows(self._tables[entity], [key])[0]

    def last_revision(self, entity: str, key: Key) -> int:
        return self._tx.last_revisions(self._tables[entity], [key])[0]

    def holder(self, unique: UniqueRef) -> Key | None:
        return self._tx.holders([unique])[0]

    def probe(self, range_: Range) -> Sequence[Key]:
        return self._tx.probe(self._tables[range_.entity], range_)


def sees(deployed: Deployed, entity: EntityPlan, caller: Caller, sealed: Sealed, tx: ReadTx) -> Sees | None:
    """Whether the caller sees a row of an entity; None where it sees all of them."""
    tests: list[Sees] = []
    if caller.tenant:
        tests.append(_own_tenant(deployed, entity, caller.tenant))
    policy = entity.policy
    if policy is not None and sealed.policed:
        view = SnapshotView(tx, deployed.tables)
        tests.append(lambda cells: policy.read(cells, sealed, view))
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else lambda cells: all(test(cells) for test in tests)


def _own_tenant(deployed: Deployed, entity: EntityPlan, tenant: str) -> Sees:
    """Whether a row's partition is the caller's. A row of no aggregate is in no partition."""
    aggregate = entity.aggregate
    if aggregate is None:
        return lambda cells: False
    root = deployed.plan.entities[aggregate.root]
    expression = aggregate.declaration.partition_by
    partition = compile_expr(expression, _key_leaf(root))
    show = deployed.codec.json(expression.type, True)

    def own(cells: Cells) -> bool:
        try:
            return bool(show(partition(cells)) == tenant)
        except OutOfRange:
            return False

    return own


def _key_leaf(root: EntityPlan) -> Callable[[c.Expr], Function]:
    """The root's key fields; a child's key begins with them, so they stand at the same places."""

    def leaf(node: c.Expr) -> Function:
        if isinstance(node, c.OwnField):
            return itemgetter(root.positions[node.field])
        raise misplaced(node)

    return leaf
