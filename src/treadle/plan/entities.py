"""What evaluation needs to know of each entity: positions instead of names, constraints ready to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from treadle.model import contract as c
from treadle.model.facts import Cells
from treadle.plan.aggregates import AggregatePlan, aggregate_plan
from treadle.plan.expressions import Function, compile_expr, misplaced
from treadle.plan.policies import PolicyPlan, policy_plan
from treadle.plan.positions import picker, positions_of
from treadle.plan.sizes import Sizes


class UniquePlan(NamedTuple):
    """A `unique`: `values_of` takes its fields' cells out of a row's."""

    name: str
    fields: tuple[str, ...]
    positions: tuple[int, ...]
    values_of: Callable[[Sequence[Any]], Cells]


class InvariantPlan(NamedTuple):
    """An entity's `invariant`: `holds` over a row's cells."""

    name: str
    holds: Function


class LeasePlan(NamedTuple):
    """A lease: positions of its fields (`attempts` -1 where there is none) and the bounds in seconds."""

    name: str
    owner: int
    expires_at: int
    fencing_token: int
    attempts: int
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class EntityPlan:
    """An entity. `positions` maps each field, key fields first, to its place in a row's cells."""

    declaration: c.Entity
    name: str
    members: tuple[c.Field, ...]
    positions: Mapping[str, int]
    key_count: int
    workflow: c.Workflow | None
    lease: LeasePlan | None
    uniques: tuple[UniquePlan, ...]
    invariants: tuple[InvariantPlan, ...]
    aggregate: AggregatePlan | None
    policy: PolicyPlan | None
    sizes: Sizes

    @property
    def tombstones(self) -> bool:
        """Whether the last revision of a deleted key is kept, so that no old revision matches a new row."""
        return self.workflow is not None

    def key_of(self, cells: Cells) -> Cells:
        """The key of a row."""
        return cells[: self.key_count]

    def at(self, names: Sequence[str]) -> tuple[int, ...]:
        """The positions of these fields."""
        return tuple(self.positions[name] for name in names)


class Data(NamedTuple):
    """A contract's data as its commands see it, by name; made once for all of them."""

    entities: Mapping[str, EntityPlan]
    events: Mapping[str, c.Event]
    sizes: Sizes


def data_of(contract: c.Contract) -> Data:
    """The data of a contract."""
    sizes = Sizes.of(contract)
    return Data(entity_plans(contract, sizes), {event.name: event for event in contract.events}, sizes)


def entity_plans(contract: c.Contract, sizes: Sizes) -> dict[str, EntityPlan]:
    """The plans of a contract's entities, by name."""
    workflows = {workflow.entity: workflow for workflow in contract.workflows}
    declarations = {entity.name: entity for entity in contract.entities}
    aggregates: dict[str, AggregatePlan] = {}
    for aggregate in contract.aggregates:
        plan = aggregate_plan(aggregate, declarations)
        aggregates.update(dict.fromkeys((aggregate.root, *aggregate.children), plan))
    return {
        entity.name: _entity(contract, entity, workflows.get(entity.name), aggregates.get(entity.name), sizes)
        for entity in contract.entities
    }


def _entity(
    contract: c.Contract,
    entity: c.Entity,
    workflow: c.Workflow | None,
    aggregate: AggregatePlan | None,
    sizes: Sizes,
) -> EntityPlan:
    positions = positions_of(entity)
    lease = workflow.lease if workflow is not None else None
    return EntityPlan(
        declaration=entity,
        name=entity.name,
        members=entity.members,
        positions=positions,
        key_count=len(entity.key),
        workflow=workflow,
        lease=_lease(lease, positions) if lease is not None else None,
        uniques=tuple(_unique(unique, positions) for unique in entity.uniques),
        invariants=tuple(_invariant(invariant, positions) for invariant in entity.invariants),
        aggregate=aggregate,
        policy=policy_plan(contract, entity, positions),
        sizes=sizes,
    )


def _lease(lease: c.Lease, positions: Mapping[str, int]) -> LeasePlan:
    return LeasePlan(
        name=lease.name,
        owner=positions[lease.owner],
        expires_at=positions[lease.expires_at],
        fencing_token=positions[lease.fencing_token],
        attempts=-1 if lease.attempts is None else positions[lease.attempts],
        minimum=lease.minimum,
        maximum=lease.maximum,
    )


def _unique(unique: c.Unique, positions: Mapping[str, int]) -> UniquePlan:
    at = tuple(positions[name] for name in unique.fields)
    return UniquePlan(unique.name, unique.fields, at, picker(at))


def _invariant(invariant: c.Invariant, positions: Mapping[str, int]) -> InvariantPlan:
    def leaf(expr: c.Expr) -> Function:
        if isinstance(expr, c.OwnField):
            return itemgetter(positions[expr.field])
        raise misplaced(expr)

    return InvariantPlan(invariant.name, compile_expr(invariant.expr, leaf))
