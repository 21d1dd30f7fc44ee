"""The names in declarations of data, workflows and access: all but those inside of commands."""

from __future__ import annotations

from collections.abc import Mapping

from treadle.lsp.collector import Collector, paths
from treadle.lsp.names import Symbol
from treadle.riff import syntax as s
from treadle.riff.symbols import AggregateSymbol, EntitySymbol, EventSymbol, WorkflowSymbol


def declarations(into: Collector) -> None:
    """Every declaration that is no command, with the names that it uses."""
    unit = into.unit
    into.declare(unit.tree.name, "contract")
    for enum in unit.enums.values():
        into.declare(enum.node.name, "enum")
        for name in enum.node.variants:
            into.variant(enum, name)
    for entity in unit.entities.values():
        _entity(into, entity)
    for event in unit.events.values():
        _event(into, event)
    for aggregate in unit.aggregates.values():
        _aggregate(into, aggregate)
    for workflow in unit.workflows.values():
        _workflow(into, workflow)
    for fact, _ in unit.facts.values():
        into.declare(fact.name, "fact")
        into.type(fact.type)
    for policy, owner in unit.policies:
        into.declare(policy.name, "policy", policy.entity.text)
        into.entity(policy.entity)
        for rule in policy.rules:
            _expression(into, rule.expression, owner, {}, policy=True)


def _entity(into: Collector, entity: EntitySymbol) -> None:
    into.declare(entity.node.name, "entity")
    for item in entity.node.items:
        match item:
            case s.Key():
                for member in item.fields:
                    _member(into, entity, member)
            case s.Member():
                _member(into, entity, item)
            case s.Invariant():
                into.item("invariant", entity.name, entity.invariants, item.name)
                _expression(into, item.expression, entity, {})
            case s.Index():
                into.item("index", entity.name, entity.indexes, item.name)
                into.fields(entity, [*item.fields, *(option.field for option in item.options)])
            case s.Unique():
                into.item("unique", entity.name, entity.uniques, item.name)
                into.fields(entity, item.fields)
            case s.Reference():
                into.item("reference", entity.name, entity.references, item.name)
                into.fields(entity, item.fields)
                into.entity(item.target)
                into.fields(into.unit.entities.get(item.target.text), item.target_fields)
            case s.RestrictPolicy():
                into.entity(item.entity)
                _item_of(into, item.entity, item.index)
            case s.CascadePolicy():
                for each in item.relationships:
                    _relationship(into, each)
            case s.NoInbound():
                pass


def _member(into: Collector, owner: EntitySymbol | EventSymbol, member: s.Member) -> None:
    into.field(owner, member.name)
    into.type(member.type)


def _item_of(into: Collector, entity: s.Name, index: s.Name) -> None:
    found = into.unit.entities.get(entity.text)
    if found is not None:
        into.item("index", found.name, found.indexes, index)


def _relationship(into: Collector, node: s.Relationship) -> None:
    into.entity(node.entity)
    found = into.unit.entities.get(node.entity.text)
    if found is not None:
        into.item("reference", found.name, found.references, node.reference)
    into.entity(node.index_entity)
    _item_of(into, node.index_entity, node.index)


def _event(into: Collector, event: EventSymbol) -> None:
    into.declare(event.node.name, "event")
    into.fields(event, event.node.partition_by)
    for member in event.node.fields:
        _member(into, event, member)


def _aggregate(into: Collector, aggregate: AggregateSymbol) -> None:
    into.declare(aggregate.node.name, "aggregate")
    root = aggregate.root
    others = {child.name: child for child in aggregate.children}
    for item in aggregate.node.items:
        match item:
            case s.Root() | s.Child():
                into.entity(item.entity)
            case s.PartitionBy():
                _expression(into, item.expression, root, {})
            case s.ConflictKey():
                for each in item.expressions:
                    _expression(into, each, root, {})
            case s.Invariant():
                into.item("invariant", aggregate.name, aggregate.invariants, item.name)
                _expression(into, item.expression, root, others)


def _workflow(into: Collector, workflow: WorkflowSymbol) -> None:
    node = workflow.node
    entity = workflow.entity or into.unit.entities.get(node.entity.text)
    into.declare(node.name, "workflow")
    into.entity(node.entity)
    into.field(entity, node.state)
    if node.initial is not None:
        into.variant(workflow.enum, node.initial)
    for step in node.transitions:
        into.item("transition", workflow.name, workflow.transitions, step.name)
        for name in (*step.sources, step.destination):
            into.variant(workflow.enum, name)
    lease = node.lease
    if lease is not None:
        into.lease(workflow, lease.name)
        into.fields(entity, [lease.owner, lease.expires_at, lease.fencing_token])
        if lease.attempts is not None:
            into.field(entity, lease.attempts)


def _expression(
    into: Collector,
    node: s.Expression,
    owner: EntitySymbol | None,
    others: Mapping[str, EntitySymbol],
    *,
    policy: bool = False,
) -> None:
    """The names of an expression over a row: the owner's fields, other entities', facts in a policy."""
    for path in paths(node):
        if isinstance(path, s.Exists):
            into.entity(path.entity)
            _item_of(into, path.entity, path.index)
        elif owner is not None:
            _path(into, path, owner, others, policy)


def _path(
    into: Collector,
    path: s.Path,
    owner: EntitySymbol,
    others: Mapping[str, EntitySymbol],
    policy: bool,
) -> None:
    first, *rest = path.parts
    if rest and policy and first.text == "principal":
        fact = into.unit.facts.get(rest[0].text)
        into.add(first, Symbol("builtin", "principal"))
        if fact is not None:
            into.add(rest[0], Symbol("fact", rest[0].text, "", fact[0].name.at))
        into.date(rest[1:])
    elif rest and first.text in into.unit.enums and first.text not in owner.fields:
        into.enum_path(path.parts)
    elif rest and first.text not in owner.fields and first.text in (owner.name, *others):
        into.entity(first)
        into.field(owner if first.text == owner.name else others[first.text], rest[0])
        into.date(rest[1:])
    else:
        holders = [owner] if first.text in owner.fields else list(others.values())
        for holder in holders:
            into.field(holder, first)
        into.date(rest)
