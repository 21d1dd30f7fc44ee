"""What a successor contract may change while rows live under the one before it.

Three classes: compatible (applied as it is), in need of a migration (named, with what would make it
possible), and refused. Nothing here looks at rows; `live` says which variants and transitions they use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeVar

from treadle.model.contract import Aggregate, Command, Contract, Entity, Event, Workflow
from treadle.model.types import Optional

Named = TypeVar("Named", bound=Any)


class Change(NamedTuple):
    """One change that is not simply compatible: where it is, what it is, what would make it possible."""

    kind: Literal["migration", "refused"]
    where: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.remedy}"


def changes(before: Contract, after: Contract) -> list[Change]:
    """Every change from `before` to `after` that is not compatible, in source order of `before`."""
    found = list(_header(before, after))
    found += _enums(before, after)
    for one, other in _pairs(before.entities, after.entities, found, "entity"):
        found += _entity(one, other)
    for event, next_event in _pairs(before.events, after.events, found, "event"):
        found += _event(event, next_event)
    for aggregate, next_aggregate in _pairs(before.aggregates, after.aggregates, found, "aggregate"):
        found += _aggregate(aggregate, next_aggregate)
    for workflow, next_workflow in _pairs(before.workflows, after.workflows, found, "workflow"):
        found += _workflow(workflow, next_workflow)
    for command, next_command in _pairs(before.commands, after.commands, found, "command"):
        found += _command(command, next_command)
    found += _late_workflows(before, after)
    return found


def refusals(before: Contract, after: Contract) -> list[str]:
    """The changes as sentences; empty where the successor may simply be deployed."""
    return [str(change) for change in changes(before, after)]


def _refused(where: str, what: str, remedy: str) -> Change:
    return Change("refused", where, what, remedy)


def _header(before: Contract, after: Contract) -> Iterator[Change]:
    if after.name != before.name:
        yield _refused(
            f"contract {after.name}",
            f"this database holds {before.name}",
            "deploy it into a database of its own",
        )
    if after.version <= before.version:
        yield _refused(
            f"version {after.version}",
            f"version {before.version} is active and this text differs from it",
            f"give it version {before.version + 1} or higher",
        )


def _pairs(
    before: Iterable[Named], after: Iterable[Named], found: list[Change], kind: str
) -> Iterator[tuple[Named, Named]]:
    successors = {item.name: item for item in after}
    for item in before:
        successor = successors.get(item.name)
        if successor is None:
            found.append(
                _refused(
                    f"{kind} {item.name}",
                    "it is removed or renamed",
                    "keep it; rows and receipts depend on it",
                )
            )
        else:
            yield item, successor


def _enums(before: Contract, after: Contract) -> list[Change]:
    found: list[Change] = []
    for one, other in _pairs(before.enums, after.enums, found, "enum"):
        if other.variants[: len(one.variants)] != one.variants:
            gone = [variant for variant in one.variants if variant not in other.variants]
            what = f"{', '.join(gone)} removed" if gone else "variants are in another order"
            found.append(
                _refused(f"enum {one.name}", what, "keep the variants and append new ones at the end")
            )
    return found


def _entity(before: Entity, after: Entity) -> Iterator[Change]:
    where = f"entity {before.name}"
    if [(field.name, field.type) for field in before.key] != [
        (field.name, field.type) for field in after.key
    ]:
        yield _refused(where, "its key changes", "declare a new entity with the new key")
    known = {field.name: field for field in after.fields}
    for field in before.fields:
        successor = known.get(field.name)
        if successor is None:
            yield _refused(f"{where}.{field.name}", "the field is removed or renamed", "keep it")
        elif successor.type != field.type:
            remedy = f"keep {field.type}, and add a new field of the new type"
            yield _refused(f"{where}.{field.name}", f"its type changes to {successor.type}", remedy)
        elif field.secret and not successor.secret:
            yield _refused(
                f"{where}.{field.name}",
                "it is no longer secret",
                "keep it secret; use reveals where it may show",
            )
    order = [field.name for field in before.fields]
    if all(name in known for name in order) and [field.name for field in after.fields[: len(order)]] != order:
        yield _refused(
            where, "fields are in another order", "keep the order and append new fields at the end"
        )
    names = {field.name for field in before.fields}
    for field in after.fields:
        if field.name not in names and not isinstance(field.type, Optional):
            yield _migration(
                f"{where}.{field.name}", "a required field is added", f"make it optional<{field.type}>"
            )
    yield from _constraints(where, before, after)


def _migration(where: str, what: str, remedy: str) -> Change:
    return Change("migration", where, what, f"{remedy}, or deploy with a migration that fills or checks it")


def _constraints(where: str, before: Entity, after: Entity) -> Iterator[Change]:
    parts: tuple[tuple[str, Callable[[Entity], tuple[Any, ...]]], ...] = (
        ("unique", lambda entity: entity.uniques),
        ("reference", lambda entity: entity.references),
        ("invariant", lambda entity: entity.invariants),
        ("index", lambda entity: entity.indexes),
    )
    for kind, listed in parts:
        known = {item.name: item for item in listed(before)}
        for item in listed(after):
            if item.name not in known:
                yield _migration(f"{where}.{item.name}", f"{_article(kind)} {kind} is added", "leave it out")
            elif item != known[item.name]:
                yield _migration(
                    f"{where}.{item.name}", f"the {kind} changes", "keep it, and add one of another name"
                )
        for name in known:
            if name not in {item.name for item in listed(after)}:
                yield _refused(f"{where}.{name}", f"the {kind} is removed", "keep it")


def _article(kind: str) -> str:
    return "an" if kind[0] in "i" else "a"


def _event(before: Event, after: Event) -> Iterator[Change]:
    where = f"event {before.name}"
    if before.partition_by != after.partition_by:
        yield _refused(where, "its partition changes", "declare a new event")
    count = len(before.fields)
    if after.fields[:count] != before.fields:
        yield _refused(where, "its fields change", "keep them in order and append optional ones")
    for field in after.fields[count:]:
        if not isinstance(field.type, Optional):
            yield _refused(
                f"{where}.{field.name}", "a required field is added", f"make it optional<{field.type}>"
            )


def _aggregate(before: Aggregate, after: Aggregate) -> Iterator[Change]:
    where = f"aggregate {before.name}"
    if (before.root, before.partition_by) != (after.root, after.partition_by):
        yield _refused(where, "its root or partition changes", "keep them")
    if before.conflict_key != after.conflict_key:
        yield _refused(where, "its conflict key changes", "keep it")
    if any(child not in after.children for child in before.children):
        yield _refused(where, "a child leaves it", "keep its children")
    known = {item.name: item for item in before.invariants}
    for item in after.invariants:
        if known.get(item.name) != item:
            yield _migration(f"{where}.{item.name}", "an invariant is added or changes", "leave it as it was")


def _workflow(before: Workflow, after: Workflow) -> Iterator[Change]:
    where = f"workflow {before.name}"
    if (before.entity, before.state) != (after.entity, after.state):
        yield _refused(where, "its entity or state field changes", "keep them")
    if before.initial != after.initial:
        yield _refused(where, "its initial state changes", "keep it")
    known = {item.name: item for item in after.transitions}
    for item in before.transitions:
        if known.get(item.name) != item:
            yield _refused(
                f"{where}.{item.name}", "the transition is removed or changes", "keep it and add another"
            )
    if before.lease is None:
        if after.lease is not None:
            yield _refused(
                where, "a lease is added to a live workflow", "declare the lease with the workflow"
            )
    elif after.lease is None or before.lease.name != after.lease.name:
        yield _refused(f"{where}.{before.lease.name}", "the lease is removed or renamed", "keep it")
    else:
        yield from _lease(where, before, after)


def _lease(where: str, before: Workflow, after: Workflow) -> Iterator[Change]:
    one, other = before.lease, after.lease
    if one is None or other is None:
        return
    fields = ("owner", "expires_at", "fencing_token", "attempts")
    if any(getattr(one, field) != getattr(other, field) for field in fields):
        yield _refused(f"{where}.{one.name}", "the lease's fields change", "keep them")
    if other.minimum > one.minimum or other.maximum < one.maximum:
        yield _refused(f"{where}.{one.name}", "its duration bounds become narrower", "keep or widen them")


def _command(before: Command, after: Command) -> Iterator[Change]:
    where = f"command {before.name}"
    if before.idempotency_key != after.idempotency_key:
        yield _refused(where, "its idempotency key changes", "keep it, or declare a new command")
    known = {field.name: field for field in after.inputs}
    old = {field.name for field in before.inputs}
    same = all(known.get(field.name) == field for field in before.inputs)
    extra = [field for field in after.inputs if field.name not in old]
    if not same or any(not isinstance(field.type, Optional) for field in extra):
        yield _refused(
            where, "its inputs change", "keep them, append optional ones, or declare a new command"
        )
    successors = {outcome.name: outcome for outcome in after.outcomes}
    for outcome in before.outcomes:
        if successors.get(outcome.name) != outcome:
            yield _refused(
                f"{where}.{outcome.name}",
                "an outcome that receipts may hold is removed or changes",
                "keep it",
            )


def _late_workflows(before: Contract, after: Contract) -> Iterator[Change]:
    """A workflow that begins on an entity with live rows would find rows that never had an initial state."""
    entities = {entity.name for entity in before.entities}
    known = {workflow.name for workflow in before.workflows}
    for workflow in after.workflows:
        if workflow.name not in known and workflow.entity in entities:
            yield _refused(
                f"workflow {workflow.name}", "it is put on an existing entity", "declare a new entity for it"
            )
