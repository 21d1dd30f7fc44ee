"""Names that fit at a place: in expressions by their types, elsewhere by what the clause is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from treadle.lsp.items import Item, fields, names, rank
from treadle.lsp.place import Place
from treadle.lsp.scope import Scope
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.symbols import EntitySymbol, FieldSymbol, WorkflowSymbol

_BOUND: Final = "(READ|MUTATE|CREATE|DELETE|INIT_OR_MUTATE|OBSERVE_OR_INITIALIZE)"
_BINDINGS: Final = ("read", "mutate", "create", "delete", "init_or_mutate", "observe_or_initialize")

# Expressions.


def expression_names(here: Place, scope: Scope) -> Iterator[Item]:
    """What a value can be: after a dot the parts of what stands before it, else every name in reach."""
    if here.path:
        yield from _parts(here, scope)
        return
    wanted = wanted_type(here, scope)
    if isinstance(wanted, t.Enum) and wanted.name in scope.unit.enums:
        for name in scope.unit.enums[wanted.name].variants:
            yield Item(f"{wanted.name}.{name}", "variant", wanted.name, rank=0)
    if scope.command is not None:
        for name, what, kind in scope.values():
            yield Item(name, _KINDS.get(what, "binding"), str(kind or what), rank=rank(kind, wanted))
        if not here.ends(f"{_BOUND} name LPAR( node| list| COMMA)*"):
            yield Item("tx.time", "builtin", "timestamp", rank=rank(t.TIMESTAMP, wanted))
    elif scope.entity is not None:
        yield from fields(scope.entity.fields, wanted)
        aggregate = scope.entity.aggregate if here.role == "aggregate" else None
        rows = [scope.entity, *aggregate.children] if aggregate is not None else []
        yield from names("entity", [row.name for row in rows])
    if here.block("policy") is not None:
        for name, (_, kind) in scope.unit.facts.items():
            yield Item(f"principal.{name}", "fact", str(kind or ""), rank=rank(kind, wanted))
    for name in scope.unit.enums:
        yield Item(name, "enum", rank=3)


_KINDS: Final = {"element": "element", "input": "input", "service": "service"}


def _parts(here: Place, scope: Scope) -> Iterator[Item]:
    """What may follow a path and its dot."""
    first, *rest = here.path
    unit = scope.unit
    if not rest and first == "tx":
        yield Item("time", "builtin", "timestamp")
    elif not rest and first in unit.enums:
        yield from names("variant", unit.enums[first].variants, first)
    elif not rest and first == "principal":
        for name, (_, kind) in unit.facts.items():
            yield Item(name, "fact", str(kind or ""))
    elif not rest and here.ends("EXISTS|RESTRICT|USING") and first in unit.entities:
        yield from names("index", unit.entities[first].indexes, first)
    elif not rest and here.ends("RELATIONSHIP") and first in unit.entities:
        yield from names("reference", unit.entities[first].references, first)
    elif not rest and (row := scope.row(first)) is not None:
        wanted = wanted_type(here, scope)
        if here.ends("SET"):
            yield from fields(_settable(row, _makes(scope, first)), wanted)
        else:
            yield from fields(row.fields, wanted)
    elif isinstance(scope.path_type(here.path), t.Timestamp):
        yield Item("date", "builtin", "date")


def _makes(scope: Scope, name: str) -> bool:
    """Whether a binding makes its row."""
    bound = scope.command.by_name.get(name) if scope.command is not None else None
    return bound is not None and bound.creates


def _settable(row: EntitySymbol, made: bool) -> dict[str, FieldSymbol]:
    """The fields that can be given: not the key, not the state; the lease's counters where a row is made."""
    fixed: set[str] = set()
    if row.workflow is not None:
        kept = ("owner", "expires_at") if made else ("owner", "expires_at", "fencing_token", "attempts")
        fixed = {name for name, part in row.workflow.lease_fields.items() if part in kept}
        fixed.add(row.workflow.node.state.text)
    return {name: member for name, member in row.fields.items() if not member.key and name not in fixed}


def wanted_type(here: Place, scope: Scope) -> t.Type | None:
    """The type that fits best where a value is written; None where anything may stand."""
    begun = here.begun
    if here.ends("SET node ASSIGN"):
        target = begun[-2]
        return (
            scope.path_type(tuple(part.text for part in target.parts)) if isinstance(target, s.Path) else None
        )
    if here.ends("(EQUAL|UNEQUAL|LESS|AT_MOST|MORE|AT_LEAST)"):
        left = begun[-2]
        return scope.path_type(tuple(part.text for part in left.parts)) if isinstance(left, s.Path) else None
    if here.ends("(LEASE|TRANSITION) .*(REVISION|FENCING_TOKEN|DURATION_SECONDS)"):
        return t.U64_
    if here.ends("LEASE .*OWNER"):
        return t.UUID
    if here.ends("IDEMPOTENCY_KEY"):
        return t.String(128)
    if here.ends("name COLON") and here.role in ("emit", "initialize"):
        return _entry_type(here, scope)
    if here.ends(f"{_BOUND} name LPAR( node| list| COMMA)*"):
        return _key_type(here, scope)
    return t.BOOL if here.ends("(REQUIRE|INVARIANT) name COLON|WHEN") else None


def _entry_type(here: Place, scope: Scope) -> t.Type | None:
    owner = scope.event if here.role == "emit" else scope.entity
    name = here.begun[-2]
    member = owner.fields.get(name.text) if owner is not None and isinstance(name, s.Name) else None
    return member.type if member is not None else None


def _key_type(here: Place, scope: Scope) -> t.Type | None:
    """The type of the key argument that is written here: as many stand before it."""
    entity = scope.entity_named(_bound_entity(here))
    start = max(place for place, value in enumerate(here.begun) if getattr(value, "kind", "") == "LPAR")
    given = sum(
        len(value) if isinstance(value, list) else 1
        for value in here.begun[start + 1 :]
        if getattr(value, "kind", "") != "COMMA"
    )
    keys = entity.key if entity is not None else []
    return keys[given].type if given < len(keys) else None


# Other names.


def other_names(here: Place, scope: Scope) -> Iterator[Item]:
    """Names that a clause asks for; nothing where a new name is invented."""
    if here.path or here.expression:
        return
    for roles, pattern, suggest in _RULES:
        if (not roles or here.role in roles.split()) and here.ends(pattern):
            yield from suggest(here, scope)
            return


def _entities(here: Place, scope: Scope) -> Iterator[Item]:
    yield from names("entity", scope.unit.entities)


def _rooted(here: Place, scope: Scope) -> Iterator[Item]:
    """Entities; those that belong to no aggregate yet come first."""
    for name, entity in scope.unit.entities.items():
        yield Item(name, "entity", rank=0 if entity.aggregate is None else 2)


def _bound_entity(here: Place) -> str:
    name = here.named("READ", "MUTATE", "CREATE", "DELETE", "INIT_OR_MUTATE", "OBSERVE_OR_INITIALIZE")
    return name.text if name is not None else ""


def _own_fields(here: Place, scope: Scope) -> Iterator[Item]:
    if scope.entity is not None:
        yield from fields(scope.entity.fields)


def _optional_fields(here: Place, scope: Scope) -> Iterator[Item]:
    own = scope.entity.fields if scope.entity is not None else {}
    yield from fields({name: each for name, each in own.items() if isinstance(each.type, t.Optional)})


def _text_fields(here: Place, scope: Scope) -> Iterator[Item]:
    own = scope.entity.fields if scope.entity is not None else {}
    texts = {
        name: each for name, each in own.items() if each.type and isinstance(t.required(each.type), t.String)
    }
    yield from fields(texts)


def _target_key(here: Place, scope: Scope) -> Iterator[Item]:
    target = here.named("ARROW")
    entity = scope.entity_named(target.text) if target is not None else None
    if entity is not None:
        yield from fields({member.name: member for member in entity.key})


def _lease_field(kind: t.Type) -> Callable[[Place, Scope], Iterator[Item]]:
    def suggest(here: Place, scope: Scope) -> Iterator[Item]:
        own = scope.entity.fields if scope.entity is not None else {}
        yield from fields({name: each for name, each in own.items() if each.type == kind})

    return suggest


def _state_fields(here: Place, scope: Scope) -> Iterator[Item]:
    own = scope.entity.fields if scope.entity is not None else {}
    yield from fields({name: each for name, each in own.items() if isinstance(each.type, t.Enum)})


def _states(here: Place, scope: Scope) -> Iterator[Item]:
    name = here.named("STATE")
    member = scope.entity.fields.get(name.text) if scope.entity is not None and name is not None else None
    if member is not None and isinstance(member.type, t.Enum) and member.type.name in scope.unit.enums:
        yield from names("variant", scope.unit.enums[member.type.name].variants, member.type.name)


def _event_fields(here: Place, scope: Scope) -> Iterator[Item]:
    if scope.event is not None:
        yield from fields(scope.event.fields, kind="event field")


def _entries(here: Place, scope: Scope) -> Iterator[Item]:
    """The fields of an event or a new row that are not given yet."""
    given = {each.name.text for each in here.blocks[-1].members if isinstance(each, s.Entry)}
    if here.role == "emit" and scope.event is not None:
        left = {name: each for name, each in scope.event.fields.items() if name not in given}
        yield from fields(left, kind="event field")
    elif here.role == "initialize" and scope.entity is not None:
        settable = _settable(scope.entity, True)
        yield from fields({name: each for name, each in settable.items() if name not in given})


def _payload(here: Place, scope: Scope) -> Iterator[Item]:
    """The fields that the same outcome answers elsewhere in the command."""
    names_ = [value for value in here.blocks[-1].head if isinstance(value, s.Name)]
    given = {each.name.text for each in here.blocks[-1].members if isinstance(each, s.Entry)}
    outcomes = scope.command.outcomes if scope.command is not None else {}
    known = outcomes.get(names_[-1].text) if names_ else None
    for name, kind in known.fields.items() if known is not None else ():
        if name not in given:
            yield Item(name, "answer", str(kind))


def _outcomes(here: Place, scope: Scope) -> Iterator[Item]:
    """The failures that the command answers already, and what the entity suggests."""
    for name, outcome in scope.command.outcomes.items() if scope.command is not None else ():
        if not outcome.success:
            yield Item(name, "outcome", rank=1)


def _events(here: Place, scope: Scope) -> Iterator[Item]:
    yield from names("event", scope.unit.events)


def _bindings(*kinds: str) -> Callable[[Place, Scope], Iterator[Item]]:
    def suggest(here: Place, scope: Scope) -> Iterator[Item]:
        for name, bound in scope.command.by_name.items() if scope.command is not None else ():
            if bound.kind in kinds:
                yield Item(name, "binding", f"{bound.kind} {bound.node.entity.text}")

    return suggest


def _transitions(here: Place, scope: Scope) -> Iterator[Item]:
    for workflow in _workflows(scope):
        for name, step in workflow.transitions.items():
            sources = ", ".join(source.text for source in step.sources)
            yield Item(name, "transition", f"{sources} → {step.destination.text}")


def _leases(here: Place, scope: Scope) -> Iterator[Item]:
    for workflow in _workflows(scope):
        if workflow.node.lease is not None:
            yield Item(workflow.node.lease.name.text, "lease", workflow.name)


def _workflows(scope: Scope) -> Iterable[WorkflowSymbol]:
    """The workflows of the rows that the command may change; all of them where it has none yet."""
    rows = [each.entity for each in scope.command.bindings] if scope.command is not None else []
    found = {row.workflow.name: row.workflow for row in rows if row is not None and row.workflow is not None}
    return (found or scope.unit.workflows).values()


def _inputs(here: Place, scope: Scope) -> Iterator[Item]:
    """The lists that a command takes."""
    for node in (*here.blocks[-1].members, *here.begun):
        if here.role == "reimport" and isinstance(node, s.Input):
            yield Item(node.name.text, "input")
    for name, (_, kind) in scope.command.inputs.items() if scope.command is not None else ():
        if kind is None or isinstance(kind, t.List):
            yield Item(name, "input", str(kind or ""))


def _constraints(here: Place, scope: Scope) -> Iterator[Item]:
    entity = scope.entity_named(_bound_entity(here))
    if entity is None:
        return
    if here.ends("CONFLICT"):
        yield from names("unique", entity.uniques, entity.name)
        return
    yield from names("invariant", entity.invariants, entity.name)
    if entity.aggregate is not None:
        yield from names("invariant", entity.aggregate.invariants, entity.aggregate.name)


def _row_name(here: Place, scope: Scope) -> Iterator[Item]:
    """A name for a row, after its entity: `print_job` for PrintJob."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", _bound_entity(here)).lower()
    taken = scope.command.by_name if scope.command is not None else {}
    if words and words not in taken:
        yield Item(words, "binding", "a new name")


_BLOCKS: Final = "command loop arm"
_LIST: Final = "LPAR( name| node| list| COMMA)*"
_ANSWERS: Final = (
    "ELSE|STALE|ILLEGAL|UNAVAILABLE|INVALID|EXHAUSTED|EXPIRED|ACTIVE|REJECT|RESTRICT|CASCADE"
    "|(CONFLICT|VIOLATES) name"
)

_RULES: Final[tuple[tuple[str, str, Callable[[Place, Scope], Iterator[Item]]], ...]] = (
    (_BLOCKS, _BOUND, _entities),
    (_BLOCKS, "AS", _row_name),
    (_BLOCKS, "(CONFLICT|VIOLATES)", _constraints),
    (_BLOCKS, "SET", _bindings("create", "mutate", "init_or_mutate", "observe_or_initialize")),
    (_BLOCKS, "DECIDE", _bindings("mutate", "observe_or_initialize")),
    (_BLOCKS, "TRANSITION name ON", _bindings("mutate")),
    (_BLOCKS, "LEASE FENCE name ON", _bindings("mutate", "delete")),
    (_BLOCKS, "LEASE (CLAIM|RENEW|RELEASE|EXPIRE) name ON", _bindings("mutate")),
    (_BLOCKS, "LEASE (CLAIM|RENEW|RELEASE|EXPIRE|FENCE)", _leases),
    (_BLOCKS, "TRANSITION", _transitions),
    (_BLOCKS, "EMIT", _events),
    (_BLOCKS, "FOR name IN", _inputs),
    (f"{_BLOCKS} payload emit initialize", "REVEALS", _bindings(*_BINDINGS)),
    (f"{_BLOCKS} decide", _ANSWERS, _outcomes),
    ("reimport", "RECONSTITUTE", _entities),
    ("reimport", "FROM", _inputs),
    ("payload", "(^|COMMA)", _payload),
    ("emit initialize", "(^|COMMA)", _entries),
    ("aggregate", "(ROOT|CHILD)", _rooted),
    ("workflow", "ENTITY", _entities),
    ("workflow", "STATE", _state_fields),
    ("workflow", f"(INITIAL|TO|FROM {_LIST})", _states),
    ("lease", "OWNER", _lease_field(t.Optional(t.UUID))),
    ("lease", "EXPIRES_AT", _lease_field(t.Optional(t.TIMESTAMP))),
    ("lease", "(FENCING_TOKEN|ATTEMPTS)", _lease_field(t.U64_)),
    ("entity", f"ARROW name {_LIST}", _target_key),
    ("entity", "(ARROW|DELETE_POLICY RESTRICT)", _entities),
    ("entity", "PRESENCE LPAR", _optional_fields),
    ("entity", "TEXT_KEY LPAR", _text_fields),
    ("entity", f"(INDEX|UNIQUE|REFERENCE) name {_LIST}", _own_fields),
    ("cascade", "(RELATIONSHIP|USING)", _entities),
    ("event", f"PARTITION_BY {_LIST}", _event_fields),
    ("contract", "POLICY name ON", _entities),
    ("policy", "EXISTS", _entities),
)
"""For each kind of block, how what was begun ends, and what is suggested then; the first that fits counts."""
