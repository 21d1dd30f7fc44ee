"""Descriptions of data, workflows and access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treadle.lsp.analysis import Analysis
from treadle.lsp.names import Symbol
from treadle.lsp.parts import Part, listed, performers, states_of, type_rules, users
from treadle.lsp.words import LEASE_OPERATIONS
from treadle.riff import syntax as s
from treadle.riff.symbols import EntitySymbol, FieldSymbol, Unit, WorkflowSymbol


def contract(about: Analysis, symbol: Symbol) -> Part | None:
    unit = about.unit
    names = (("entities", list(unit.entities)), ("workflows", list(unit.workflows)))
    rules = [f"{what} {listed(declared)}" for what, declared in names if declared]
    rules.append(f"commands {listed(command.name for command in unit.commands)}")
    if about.compiled.identity is not None:
        rules.append(f"identity `{about.compiled.identity}`")
    return Part(f"contract {symbol.name} version {unit.tree.version.text}", unit.tree.name.at, tuple(rules))


def enum(about: Analysis, symbol: Symbol) -> Part | None:
    found = about.unit.enums.get(symbol.name)
    if found is None:
        return None
    rules = [f"the state of {listed([one.name])}" for one, _ in states_of(about.unit, symbol.name)]
    return Part(f"enum {symbol.name} {{ {', '.join(found.variants)} }}", found.node.at, tuple(rules))


def variant(about: Analysis, symbol: Symbol) -> Part | None:
    rules: list[str] = []
    for workflow, _ in states_of(about.unit, symbol.owner):
        rules += _state_rules(workflow, symbol.name)
    return Part(f"{symbol.owner}.{symbol.name}", symbol.at, tuple(rules))


def _state_rules(workflow: WorkflowSymbol, name: str) -> Iterator[str]:
    node = workflow.node
    if node.initial is not None and node.initial.text == name:
        yield f"where a row of workflow `{workflow.name}` begins"
    for step in workflow.transitions.values():
        sources = [source.text for source in step.sources]
        if name in sources:
            yield f"`{step.name.text}` leads to `{step.destination.text}`"
        elif step.destination.text == name:
            yield f"`{step.name.text}` leads here, from {listed(sources)}"
    if not any(source.text == name for step in node.transitions for source in step.sources):
        yield f"nothing leads on from it in workflow `{workflow.name}`"


def entity(about: Analysis, symbol: Symbol) -> Part | None:
    found = about.unit.entities.get(symbol.name)
    if found is None:
        return None
    key = ", ".join(f"{member.name}: {_type(about, member)}" for member in found.key)
    fields = [
        f"  field {member.name}: {_type(about, member)}" for member in found.fields.values() if not member.key
    ]
    head = "\n".join([f"entity {symbol.name} {{", f"  key ({key})", *fields, "}"])
    return Part(head, found.node.at._replace(end=found.node.name.at.end), tuple(_entity_rules(about, found)))


def _entity_rules(about: Analysis, found: EntitySymbol) -> Iterator[str]:
    if found.aggregate is not None:
        root = found.aggregate.root is found
        yield f"{'root' if root else 'child'} of aggregate `{found.aggregate.name}`"
    if found.workflow is not None:
        yield f"goes through workflow `{found.workflow.name}`"
    if found.lease is not None:
        yield f"held by lease `{found.lease.name.text}`: a command that changes a row proves that it holds it"
    match found.policy:
        case s.NoInbound():
            yield "may be deleted: nothing refers to it"
        case s.RestrictPolicy():
            yield f"stays while `{found.policy.entity.text}.{found.policy.index.text}` has an entry for it"
        case s.CascadePolicy():
            yield f"a delete takes along rows of {listed(e.entity.text for e in found.policy.relationships)}"
        case None:
            pass
    for policy, owner in about.unit.policies:
        if owner is found:
            yield f"row policy `{policy.name.text}` says who may do what"
    yield from users(about.unit, found.name)


def _type(about: Analysis, member: FieldSymbol) -> str:
    return str(member.type) if member.type is not None else about.text(member.node.type.at)


def field(about: Analysis, symbol: Symbol) -> Part | None:
    owner = about.unit.entities.get(symbol.owner)
    member = owner.fields.get(symbol.name) if owner is not None else None
    if owner is None or member is None:
        return None
    head = f"field {owner.name}.{symbol.name}: {_type(about, member)}"
    rules = [*type_rules(about.unit, member.type), *_field_rules(about.unit, owner, member)]
    return Part(head, member.node.at, tuple(rules))


def _field_rules(unit: Unit, owner: EntitySymbol, member: FieldSymbol) -> Iterator[str]:
    name = member.name
    if member.key:
        keys = [each.name for each in owner.key]
        yield f"number {keys.index(name) + 1} of {len(keys)} of the key: it never changes"
    if member.secret:
        yield "secret: an outcome or event tells it only where it `reveals` it"
    workflow = owner.workflow
    if workflow is not None:
        yield from _workflow_rules(workflow, name)
    tables: Mapping[str, Mapping[str, s.Unique | s.Index | s.Reference]] = {
        "unique": owner.uniques,
        "index": owner.indexes,
        "reference": owner.references,
    }
    for what, table in tables.items():
        for item in table.values():
            if name in [each.text for each in item.fields]:
                target = (
                    f", which names a row of `{item.target.text}`" if isinstance(item, s.Reference) else ""
                )
                yield f"in {what} `{item.name.text}`{target}"
    invariants = {**owner.invariants, **(owner.aggregate.invariants if owner.aggregate else {})}
    for invariant in invariants.values():
        used = [getattr(use.expr, "field", None) for use in unit.uses(invariant.expression)]
        if name in used:
            yield f"in invariant `{invariant.name.text}`"


def _workflow_rules(workflow: WorkflowSymbol, name: str) -> Iterator[str]:
    node = workflow.node
    if node.state.text == name:
        begins = f"; a new row begins `{node.initial.text}`" if node.initial is not None else ""
        yield f"the state of workflow `{workflow.name}`: only transitions change it{begins}"
    part = workflow.lease_fields.get(name)
    if part is not None and node.lease is not None:
        rule = {
            "owner": "null while it is free",
            "expires_at": "at that time the lease has expired; null while it is free",
            "fencing_token": "each claim raises it, nothing lowers it",
            "attempts": "each claim raises it",
        }[part]
        yield f"{part} of lease `{node.lease.name.text}`: {rule}; only lease operations change it"


def _item(about: Analysis, node: s.Node, owner: str) -> Part:
    return Part(about.text(node.at), node.at, (f"of `{owner}`",))


def invariant(about: Analysis, symbol: Symbol) -> Part | None:
    owner = about.unit.entities.get(symbol.owner) or about.unit.aggregates.get(symbol.owner)
    found = owner.invariants.get(symbol.name) if owner is not None else None
    if found is None:
        return None
    part = _item(about, found, symbol.owner)
    return part._replace(rules=(*part.rules, "checked after every command that writes one of its rows"))


def index(about: Analysis, symbol: Symbol) -> Part | None:
    owner = about.unit.entities.get(symbol.owner)
    found = owner.indexes.get(symbol.name) if owner is not None else None
    return _item(about, found, symbol.owner) if found is not None else None


def unique(about: Analysis, symbol: Symbol) -> Part | None:
    owner = about.unit.entities.get(symbol.owner)
    found = owner.uniques.get(symbol.name) if owner is not None else None
    if found is None:
        return None
    part = _item(about, found, symbol.owner)
    return part._replace(
        rules=(*part.rules, "a taken value is the `conflict` outcome, else a terminal failure")
    )


def reference(about: Analysis, symbol: Symbol) -> Part | None:
    owner = about.unit.entities.get(symbol.owner)
    found = owner.references.get(symbol.name) if owner is not None else None
    if found is None:
        return None
    part = _item(about, found, symbol.owner)
    held = f"a command that writes it binds that row of `{found.target.text}` first"
    return part._replace(rules=(*part.rules, held))


def event(about: Analysis, symbol: Symbol) -> Part | None:
    found = about.unit.events.get(symbol.name)
    if found is None:
        return None
    fields = [f"  {member.name}: {_type(about, member)}" for member in found.fields.values()]
    by = ", ".join(name.text for name in found.node.partition_by)
    head = "\n".join([f"event {symbol.name} {{", *([f"  partition_by ({by})"] if by else []), *fields, "}"])
    emitting = [
        command.name
        for command in about.unit.commands
        if any(isinstance(each, s.Emit) and each.event.text == symbol.name for each, _ in command.effects())
    ]
    rules = (f"emitted by {listed(emitting)}" if emitting else "no command emits it",)
    return Part(head, found.node.at._replace(end=found.node.name.at.end), rules)


def event_field(about: Analysis, symbol: Symbol) -> Part | None:
    owner = about.unit.events.get(symbol.owner)
    member = owner.fields.get(symbol.name) if owner is not None else None
    if owner is None or member is None:
        return None
    rules = [*type_rules(about.unit, member.type)]
    if symbol.name in [name.text for name in owner.node.partition_by]:
        rules.append("says to which stream the event goes")
    return Part(f"{owner.name}.{symbol.name}: {_type(about, member)}", member.node.at, tuple(rules))


def aggregate(about: Analysis, symbol: Symbol) -> Part | None:
    found = about.unit.aggregates.get(symbol.name)
    if found is None:
        return None
    rules = []
    for item in found.node.items:
        match item:
            case s.PartitionBy() | s.ConflictKey() | s.Root() | s.Child():
                rules.append(f"`{about.text(item.at)}`")
            case s.Invariant():
                rules.append(f"invariant `{item.name.text}` holds over all of its rows")
    return Part(f"aggregate {symbol.name}", found.node.at._replace(end=found.node.name.at.end), tuple(rules))


def workflow(about: Analysis, symbol: Symbol) -> Part | None:
    found = about.unit.workflows.get(symbol.name)
    if found is None:
        return None
    node = found.node
    initial = f" initial {node.initial.text}" if node.initial else ""
    lines = [f"workflow {symbol.name} {{", f"  entity {node.entity.text} state {node.state.text}{initial}"]
    lines += [f"  {about.text(step.at)}" for step in node.transitions]
    lines += [f"  lease {node.lease.name.text}"] if node.lease is not None else []
    rules = [f"`{what}` by {listed(names)}" for what, names in performers(about.unit, symbol.name).items()]
    return Part("\n".join([*lines, "}"]), node.at._replace(end=node.name.at.end), tuple(rules))


def transition(about: Analysis, symbol: Symbol) -> Part | None:
    owner = about.unit.workflows.get(symbol.owner)
    found = owner.transitions.get(symbol.name) if owner is not None else None
    if owner is None or found is None:
        return None
    names = performers(about.unit, owner.name).get(symbol.name, [])
    rules = (f"of workflow `{owner.name}`", f"taken by {listed(names)}" if names else "no command takes it")
    return Part(about.text(found.at), found.at, rules)


def lease(about: Analysis, symbol: Symbol) -> Part | None:
    owner = about.unit.workflows.get(symbol.owner)
    found = owner.node.lease if owner is not None else None
    if owner is None or found is None:
        return None
    done = performers(about.unit, owner.name)
    rules = [f"of workflow `{owner.name}`, {found.minimum.text} to {found.maximum.text} seconds"]
    for op, meaning in LEASE_OPERATIONS.items():
        names = done.get(f"lease {op}")
        if names:
            rules.append(f"`{op}` by {listed(names)}: {meaning}")
    return Part(about.text(found.at), found.at, tuple(rules))


def fact(about: Analysis, symbol: Symbol) -> Part | None:
    found = about.unit.facts.get(symbol.name)
    if found is None:
        return None
    return Part(about.text(found[0].at), found[0].at, tuple(type_rules(about.unit, found[1])))


def policy(about: Analysis, symbol: Symbol) -> Part | None:
    for node, _ in about.unit.policies:
        if node.name.at == symbol.at:
            rules = [f"`{about.text(rule.at)}`" for rule in node.rules]
            rules.append("what no rule allows is not allowed; a row that may not be read looks absent")
            return Part(f"row policy {symbol.name} on {node.entity.text}", node.name.at, tuple(rules))
    return None
