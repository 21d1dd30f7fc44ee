"""What a successor contract may change while rows, receipts and events of the one before it are stored.

Every difference is a `Change` of one of three kinds: compatible (applied as it is), in need of a migration
(live rows must be brought to it; `need` is what the migration names), and refused. Much is refused only
while something stored depends on it: `use` says what, and whoever has the database looks (`settled`).
Nothing here looks at rows. docs/explain/evolution.md has the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from treadle.model import contract as c
from treadle.model import types as t
from treadle.model.migration import Kind, Need

Named = TypeVar("Named", bound=Any)
Class: TypeAlias = Literal["compatible", "migration", "refused"]


class Use(NamedTuple):
    """What may be stored that a change would harm.

    rows        live rows of the entities `names`
    variants    live rows, receipts and events that hold one of `values` of the enum `names`
    edges       live rows of workflow `names` in one of the states `values`, which the transition `transition`
                leads out of, and receipts of commands by which a row went that way to `destination`
    receipts    receipts of the command `names`; with `values`, those of these outcomes
    events      stored events of that name
    facts       tokens in force that carry the principal fact
    """

    kind: Literal["rows", "variants", "edges", "receipts", "events", "facts"]
    names: tuple[str, ...]
    values: tuple[str, ...] = ()
    transition: str = ""
    destination: str = ""


class Change(NamedTuple):
    """One difference: where it is, what it is, what would make it possible, and on what it depends.

    `found` names what was found in the database that depends on it, a few at most.
    """

    kind: Class
    where: str
    what: str
    remedy: str = ""
    need: Need | None = None
    use: Use | None = None
    found: tuple[str, ...] = ()

    def settled(self, found: Sequence[str]) -> Change:
        """This change, once it is known what in the database depends on it: nothing makes it compatible."""
        if found:
            return self if self.kind == "migration" else self._replace(found=tuple(found))
        return self._replace(kind="compatible", remedy="", need=None, use=None)

    def __str__(self) -> str:
        used = f" (used by {', '.join(self.found)})" if self.found else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.where}: {self.what}{used}{remedy}"


def changes(before: c.Contract, after: c.Contract) -> list[Change]:
    """Every difference between a contract and its successor, declaration by declaration."""
    found = list(_header(before, after))
    grown = _Growth(before, after)
    found += _each("enum", before.enums, after.enums, lambda enum: None, _enum)
    found += _each("entity", before.entities, after.entities, lambda one: _rows(one.name), _entity)
    found += _each("event", before.events, after.events, lambda one: _events(one.name), _event)
    found += _each(
        "aggregate", before.aggregates, after.aggregates, lambda one: _rows(*_members(one)), _aggregate
    )
    found += _each("workflow", before.workflows, after.workflows, lambda one: _rows(one.entity), _workflow)
    found += _late_workflows(before, after)
    found += _each("command", before.commands, after.commands, lambda one: _receipts(one.name), grown.command)
    found += _each(
        "reimport command", before.reimports, after.reimports, lambda one: _receipts(one.name), grown.reimport
    )
    found += _each(
        "principal fact", before.principal_facts, after.principal_facts, lambda one: _facts(one.name), _fact
    )
    found += _each("row policy", before.row_policies, after.row_policies, lambda one: None, _policy)
    return found


def needs(before: c.Contract, after: c.Contract) -> tuple[Need, ...]:
    """What live rows would have to be brought to, whether there are rows or not."""
    return tuple(change.need for change in changes(before, after) if change.need is not None)


# Kinds of change.

_CHECKED: Final = "or deploy it with a migration, which checks the rows"


def _compatible(where: str, what: str) -> Change:
    return Change("compatible", where, what)


def _refused(where: str, what: str, remedy: str, use: Use | None = None) -> Change:
    return Change("refused", where, what, remedy, use=use)


def _needed(kind: Kind, owner: str, name: str, what: str, remedy: str, rows: Use) -> Change:
    return Change("migration", f"{owner}.{name}", what, remedy, Need(kind, owner, name), rows)


def _rows(*entities: str) -> Use:
    return Use("rows", entities)


def _events(name: str) -> Use:
    return Use("events", (name,))


def _receipts(command: str, *outcomes: str) -> Use:
    return Use("receipts", (command,), outcomes)


def _facts(name: str) -> Use:
    return Use("facts", (name,))


def _each(
    kind: str,
    before: Iterable[Named],
    after: Iterable[Named],
    use: Callable[[Named], Use | None],
    differences: Callable[[Named, Named], Iterable[Change]],
) -> Iterator[Change]:
    """Declarations of one kind: those that are gone, their differences, those that are new."""
    known, successors = {item.name for item in before}, {item.name: item for item in after}
    for item in before:
        successor = successors.get(item.name)
        if successor is not None:
            # Also where both are equal: an input may hold rows of an entity that is another one now.
            yield from differences(item, successor)
            continue
        user = use(item)
        if user is None:
            yield _compatible(f"{kind} {item.name}", "it is removed")
        else:
            remedy = "keep it; what is stored depends on it"
            yield _refused(f"{kind} {item.name}", "it is removed or renamed", remedy, user)
    for name in successors:
        if name not in known:
            yield _compatible(f"{kind} {name}", "it is new")


def _header(before: c.Contract, after: c.Contract) -> Iterator[Change]:
    if after.name != before.name:
        what = f"this database holds {before.name}"
        yield _refused(f"contract {after.name}", what, "deploy it into a database of its own")
    if after.version <= before.version:
        what = f"version {before.version} is active and this text differs from it"
        yield _refused(f"version {after.version}", what, f"give it version {before.version + 1} or higher")


# Data.


def _enum(before: c.EnumDecl, after: c.EnumDecl) -> Iterator[Change]:
    where = f"enum {before.name}"
    added = [variant for variant in after.variants if variant not in before.variants]
    if added:
        yield _compatible(where, f"{', '.join(added)} added")
    for variant in before.variants:
        if variant not in after.variants:
            use = Use("variants", (before.name,), (variant,))
            yield _refused(f"{before.name}.{variant}", "the variant is removed or renamed", "keep it", use)
    kept = [variant for variant in before.variants if variant in after.variants]
    if [variant for variant in after.variants if variant in kept] != kept:
        yield _compatible(where, "variants are in another order, which means nothing")


def _entity(before: c.Entity, after: c.Entity) -> Iterator[Change]:
    where, rows = f"entity {before.name}", _rows(before.name)
    if _typed(before.key) != _typed(after.key):
        yield _refused(where, "its key changes", "declare a new entity with the new key", rows)
    known = {field.name: field for field in after.fields}
    for field in before.fields:
        yield from _field(before.name, field, known.get(field.name), rows)
    old = {field.name for field in before.fields}
    for field in after.fields:
        if field.name not in old and isinstance(field.type, t.Optional):
            yield _compatible(f"{before.name}.{field.name}", "an optional field is added")
        elif field.name not in old:
            remedy = f"make it optional<{field.type}>, or say in a migration what it begins with"
            what = "a required field is added"
            yield _needed("field", before.name, field.name, what, remedy, rows)
    yield from _constraints(before, after)
    if before.delete_policy != after.delete_policy:
        yield _compatible(where, "its delete policy changes, for later deletes")


def _typed(fields: Iterable[c.Field]) -> list[tuple[str, t.Type]]:
    return [(field.name, field.type) for field in fields]


def _field(owner: str, field: c.Field, successor: c.Field | None, rows: Use) -> Iterator[Change]:
    where = f"{owner}.{field.name}"
    if successor is None:
        yield _refused(where, "the field is removed or renamed", "keep it", rows)
    elif successor.type != field.type:
        remedy = f"keep {field.type}, and add a new field of the new type"
        yield _refused(where, f"its type changes to {successor.type}", remedy, rows)
    elif field.secret and not successor.secret:
        yield _refused(where, "it is no longer secret", "keep it so; use `reveals` where it may show", rows)
    elif successor.secret and not field.secret:
        yield _compatible(where, "it becomes secret, in what is recorded from now on")


def _constraints(before: c.Entity, after: c.Entity) -> Iterator[Change]:
    parts: tuple[tuple[Kind, Callable[[c.Entity], tuple[Any, ...]]], ...] = (
        ("index", lambda entity: entity.indexes),
        ("unique", lambda entity: entity.uniques),
        ("reference", lambda entity: entity.references),
        ("invariant", lambda entity: entity.invariants),
    )
    for kind, listed in parts:
        yield from _members_of(kind, before.name, listed(before), listed(after), _rows(before.name))


def _members_of(
    kind: Kind, owner: str, before: Sequence[Any], after: Sequence[Any], rows: Use
) -> Iterator[Change]:
    """Indexes, uniques, references or invariants of one owner: each promises something about every row."""
    known, successors = {item.name: item for item in before}, {item.name for item in after}
    for item in before:
        if item.name not in successors:
            yield _compatible(f"{owner}.{item.name}", f"the {kind} is removed")
    for item in after:
        if item.name not in known:
            what = f"{'an' if kind[0] == 'i' else 'a'} {kind} is added"
            yield _needed(kind, owner, item.name, what, f"leave it out, {_CHECKED}", rows)
        elif item != known[item.name] and kind == "unique":
            remedy = "give it another name, so that its entries can be collected while the old ones count"
            yield _refused(f"{owner}.{item.name}", "the unique changes", remedy, rows)
        elif item != known[item.name]:
            what = f"the {kind} changes"
            yield _needed(kind, owner, item.name, what, f"leave it as it was, {_CHECKED}", rows)


def _event(before: c.Event, after: c.Event) -> Iterator[Change]:
    where, use = f"event {before.name}", _events(before.name)
    if before.partition_by != after.partition_by:
        yield _refused(where, "its partition changes", "declare a new event", use)
    known = {field.name: field for field in after.fields}
    for field in before.fields:
        successor = known.pop(field.name, None)
        if successor is None or successor.type != field.type:
            what = f"its field {field.name} is removed or changes"
            yield _refused(where, what, "keep it, and append optional fields", use)
    for field in known.values():
        if isinstance(field.type, t.Optional):
            yield _compatible(f"{before.name}.{field.name}", "an optional field is added")
        else:
            what = "a required field is added"
            yield _refused(f"{before.name}.{field.name}", what, f"make it optional<{field.type}>", use)


def _members(aggregate: c.Aggregate) -> tuple[str, ...]:
    return aggregate.root, *aggregate.children


def _aggregate(before: c.Aggregate, after: c.Aggregate) -> Iterator[Change]:
    where, rows = f"aggregate {before.name}", _rows(*_members(before))
    if before.root != after.root or before.partition_by != after.partition_by:
        yield _refused(where, "its root or partition changes", "keep them", rows)
    if before.conflict_key != after.conflict_key:
        yield _refused(where, "its conflict key changes", "keep it", rows)
    for child in before.children:
        if child not in after.children:
            yield _refused(where, f"{child} leaves it", "keep it in this aggregate", _rows(child))
    for child in after.children:
        if child not in before.children:
            yield _compatible(where, f"{child} joins it")
    root = _rows(before.root)
    yield from _members_of("invariant", before.name, before.invariants, after.invariants, root)


# Workflows.


def _workflow(before: c.Workflow, after: c.Workflow) -> Iterator[Change]:
    where, rows = f"workflow {before.name}", _rows(before.entity)
    if (before.entity, before.state) != (after.entity, after.state):
        yield _refused(where, "its entity or state field changes", "keep them", rows)
    if before.initial != after.initial:
        yield _refused(where, "its initial state changes", "keep it", rows)
    yield from _transitions(before, after)
    if before.lease is None and after.lease is not None:
        yield _refused(where, "a lease is added", "declare a new entity with it", rows)
    elif before.lease is not None and (after.lease is None or after.lease.name != before.lease.name):
        yield _refused(
            f"{before.name}.{before.lease.name}", "the lease is removed or renamed", "keep it", rows
        )
    elif before.lease is not None and after.lease is not None:
        yield from _lease(before.name, before.lease, after.lease, rows)


def _transitions(before: c.Workflow, after: c.Workflow) -> Iterator[Change]:
    """A transition is one edge for each of its sources; edges may come, and go while nothing uses them."""
    known, old = _edges(after), _edges(before)
    for item in before.transitions:
        gone = tuple(s for s in item.sources if (item.name, s, item.destination) not in known)
        if gone:
            use = Use("edges", (before.name,), gone, item.name, item.destination)
            what = f"the way from {', '.join(gone)} to {item.destination} is removed"
            yield _refused(f"{before.name}.{item.name}", what, "keep it, and add another transition", use)
    for item in after.transitions:
        new = [s for s in item.sources if (item.name, s, item.destination) not in old]
        if new:
            yield _compatible(
                f"{after.name}.{item.name}", f"from {', '.join(new)} to {item.destination} is new"
            )


def _edges(workflow: c.Workflow) -> set[tuple[str, str, str]]:
    return {(item.name, source, item.destination) for item in workflow.transitions for source in item.sources}


_LEASE_FIELDS: Final = ("owner", "expires_at", "fencing_token", "attempts")


def _lease(owner: str, before: c.Lease, after: c.Lease, rows: Use) -> Iterator[Change]:
    where = f"{owner}.{before.name}"
    if any(getattr(before, field) != getattr(after, field) for field in _LEASE_FIELDS):
        yield _refused(where, "the lease's fields change", "keep them", rows)
    if after.minimum > before.minimum or after.maximum < before.maximum:
        yield _refused(where, "its duration bounds become narrower", "keep or widen them", rows)
    elif (after.minimum, after.maximum) != (before.minimum, before.maximum):
        yield _compatible(where, "its duration bounds become wider, for later claims")


def _late_workflows(before: c.Contract, after: c.Contract) -> Iterator[Change]:
    """A workflow that begins on an entity with live rows would find rows that never had an initial state."""
    entities = {entity.name for entity in before.entities}
    had = {workflow.entity for workflow in before.workflows}
    for workflow in after.workflows:
        if workflow.entity in entities and workflow.entity not in had:
            remedy = "declare a new entity for it"
            what = f"it is put on {workflow.entity}, which is there already"
            yield _refused(f"workflow {workflow.name}", what, remedy, _rows(workflow.entity))


# Commands and access.


class _Growth:
    """Commands, whose inputs and outcomes may hold whole rows: those change where their entity does."""

    def __init__(self, before: c.Contract, after: c.Contract) -> None:
        known = {entity.name: entity for entity in before.entities}
        self._strangers = {
            entity.name
            for entity in after.entities
            if entity.name in known and not _reads_alike(known[entity.name].members, entity.members)
        }

    def command(self, before: c.Command, after: c.Command) -> Iterator[Change]:
        where = f"command {before.name}"
        if before.idempotency_key != after.idempotency_key:
            what = "its idempotency key changes"
            yield _refused(where, what, "keep it, or declare a new command", _receipts(before.name))
        yield from self._inputs(where, before.name, before.inputs, after.inputs)
        yield from _outcomes(before.name, before.outcomes, after.outcomes)
        body = (
            "bulk",
            "services",
            "bindings",
            "decisions",
            "loop",
            "requires",
            "effects",
            "success",
            "partition",
        )
        if any(getattr(before, part) != getattr(after, part) for part in body):
            yield _compatible(where, "what it does changes; old receipts still replay")

    def reimport(self, before: c.Reimport, after: c.Reimport) -> Iterator[Change]:
        where = f"reimport command {before.name}"
        if (before.entity, before.input) != (after.entity, after.input):
            what = "what it takes changes"
            yield _refused(where, what, "keep it, or declare a new one", _receipts(before.name))
        yield from _outcomes(before.name, before.outcomes, after.outcomes)

    def _inputs(
        self, where: str, command: str, before: Sequence[c.Field], after: Sequence[c.Field]
    ) -> Iterator[Change]:
        known = {field.name: field for field in after}
        old = {field.name for field in before}
        changed = [
            field.name for field in before if known.get(field.name) != field or self._strange(field.type)
        ]
        changed += [one.name for one in after if one.name not in old and not isinstance(one.type, t.Optional)]
        if changed:
            remedy = "keep them, append optional ones, or declare a new command"
            what = f"its inputs change ({', '.join(changed)})"
            yield _refused(where, what, remedy, _receipts(command))
        for field in after:
            if field.name not in old and isinstance(field.type, t.Optional):
                yield _compatible(f"{command}.{field.name}", "an optional input is added")

    def _strange(self, kind: t.Type) -> bool:
        """Whether values of this type hold rows that a repeated call would have to give another shape."""
        return (
            isinstance(kind, t.List)
            and isinstance(kind.item, t.Record)
            and kind.item.entity in self._strangers
        )


def _reads_alike(before: Sequence[c.Field], after: Sequence[c.Field]) -> bool:
    """Whether every record of the fields before is one of the fields after."""
    old, new = dict(_typed(before)), dict(_typed(after))
    kept = all(new.get(name) == kind for name, kind in old.items())
    return kept and all(name in old or isinstance(kind, t.Optional) for name, kind in new.items())


def _outcomes(
    command: str, before: Sequence[c.OutcomeDecl], after: Sequence[c.OutcomeDecl]
) -> Iterator[Change]:
    """An outcome's payload keeps its fields; a whole row in it may grow, since receipts tell what was."""
    known = {outcome.name: outcome for outcome in after}
    for outcome in before:
        successor = known.pop(outcome.name, None)
        if successor is None:
            what = "the outcome is removed"
        elif outcome.success != successor.success or dict(_typed(outcome.fields)) != dict(
            _typed(successor.fields)
        ):
            what = "the outcome changes"
        else:
            continue
        use = _receipts(command, outcome.name)
        yield _refused(f"{command}.{outcome.name}", what, "keep it, and add another outcome", use)
    for name in known:
        yield _compatible(f"{command}.{name}", "an outcome is added")


def _fact(before: c.Field, after: c.Field) -> Iterator[Change]:
    if before.type != after.type:
        remedy = f"keep {before.type}, and declare another fact"
        what = f"its type changes to {after.type}"
        yield _refused(f"principal fact {before.name}", what, remedy, _facts(before.name))


def _policy(before: c.RowPolicy, after: c.RowPolicy) -> Iterator[Change]:
    if before != after:
        yield _compatible(f"row policy {before.name}", "its rules change, from now on")
