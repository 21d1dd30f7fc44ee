"""C045 (and C004, C020) for delete policies: nothing that refers to a deleted row is left behind."""

from __future__ import annotations

from treadle.limits import CASCADE_MAXIMUM, CASCADE_RELATIONSHIPS
from treadle.riff import syntax as s
from treadle.riff.names import entity, look_up
from treadle.riff.symbols import EntitySymbol, Unit


def delete_policies(unit: Unit) -> None:
    for owner in unit.entities.values():
        match owner.policy:
            case s.NoInbound() as policy:
                _inbound(unit, owner, policy, set(), "`no_inbound`")
            case s.RestrictPolicy() as policy:
                _unleased(unit, owner, policy)
                _restrict(unit, owner, policy)
            case s.CascadePolicy() as policy:
                _unleased(unit, owner, policy)
                _cascade(unit, owner, policy)
            case None:
                pass


def _unleased(unit: Unit, owner: EntitySymbol, policy: s.DeletePolicy) -> None:
    if owner.lease is not None:
        message = f"{owner.name} has a lease and goes only with its holder; its policy can be no_inbound only"
        related = [("the lease is here", owner.lease.name.at)]
        unit.report.add("C045", policy.at, message, related=related)


def _inbound(unit: Unit, owner: EntitySymbol, policy: s.DeletePolicy, covered: set[int], what: str) -> None:
    """Every reference to the entity is one that the policy looks after."""
    for source, reference in owner.inbound:
        if id(reference) not in covered:
            message = (
                f"{source.name}.{reference.name.text} refers to {owner.name} and {what} leaves it behind;"
                " list every reference in a cascade, or use `restrict` where there is one"
            )
            related = [("the reference is here", reference.name.at)]
            unit.report.add("C045", policy.at, message, related=related)


def _restrict(unit: Unit, owner: EntitySymbol, policy: s.RestrictPolicy) -> None:
    source = entity(unit, policy.entity)
    if source is None:
        return
    index = look_up(unit.report, source.indexes, policy.index, f"index of {source.name} is called")
    if index is None:
        return
    found = [node for other, node in owner.inbound if other is source and begins_with(index, node, owner)]
    key = [member.type for member in owner.key]
    head = [source.fields[name.text].type for name in index.fields if name.text in source.fields][: len(key)]
    if not found and head != key and None not in head + key:
        message = f"index {index.name.text} does not begin with the key of {owner.name}; choose one that does"
        unit.report.add("C045", policy.index.at, message)
    _whole(unit, index, policy.index)
    _inbound(unit, owner, policy, {id(node) for node in found}, "this `restrict`")


def begins_with(index: s.Index, reference: s.Reference, target: EntitySymbol) -> bool:
    """Whether an index finds the rows of a reference by the target's key, in the key's order."""
    pairs = zip(reference.target_fields, reference.fields, strict=False)
    held = {goal.text: name.text for goal, name in pairs}
    wanted = [held.get(member.name) for member in target.key]
    return [name.text for name in index.fields][: len(wanted)] == wanted


def _whole(unit: Unit, index: s.Index, name: s.Name) -> None:
    """An index that leaves rows out would leave them behind."""
    if any(isinstance(option, s.Presence) for option in index.options):
        message = f"index {index.name.text} leaves rows out (`presence`); choose one that holds every row"
        unit.report.add("C045", name.at, message)


def _cascade(unit: Unit, owner: EntitySymbol, policy: s.CascadePolicy) -> None:
    if len(policy.relationships) > CASCADE_RELATIONSHIPS:
        count = len(policy.relationships)
        message = (
            f"this cascade has {count} relationships, at most {CASCADE_RELATIONSHIPS}; split the deletion"
        )
        unit.report.add("C020", policy.relationships[CASCADE_RELATIONSHIPS].at, message)
    covered: set[int] = set()
    for node in policy.relationships:
        if not 1 <= node.maximum.value <= CASCADE_MAXIMUM:
            message = (
                f"a relationship's maximum is {node.maximum.text}, at least 1 and at most {CASCADE_MAXIMUM}"
            )
            unit.report.add("C020", node.maximum.at, message)
        reference = _relationship(unit, owner, node)
        if reference is not None and id(reference) in covered:
            message = f"{node.entity.text}.{node.reference.text} is listed twice; keep one"
            unit.report.add("C045", node.reference.at, message)
        elif reference is not None:
            covered.add(id(reference))
    _inbound(unit, owner, policy, covered, "this cascade")


def _relationship(unit: Unit, owner: EntitySymbol, node: s.Relationship) -> s.Reference | None:
    source = entity(unit, node.entity)
    if source is None:
        return None
    reference = look_up(
        unit.report, source.references, node.reference, f"reference of {source.name} is called"
    )
    index: s.Index | None = None
    if node.index_entity.text == node.entity.text:
        index = look_up(unit.report, source.indexes, node.index, f"index of {source.name} is called")
    else:
        message = f"the index is one of {source.name}, whose rows go; write `using {source.name}.index`"
        unit.report.add("C045", node.index_entity.at, message)
    if reference is not None and all(each is not reference for each in source.sound):
        return None  # the reference itself was refused
    if reference is not None and reference.target.text != owner.name:
        message = f"{node.reference.text} refers to {reference.target.text}, not to {owner.name}"
        unit.report.add("C045", node.reference.at, message)
        return None
    if reference is not None and index is not None:
        if not begins_with(index, reference, owner):
            message = f"index {index.name.text} does not begin with the fields of {node.reference.text}"
            unit.report.add("C045", node.index.at, message)
        _whole(unit, index, node.index)
    _goes(unit, source, node)
    return reference


def _goes(unit: Unit, source: EntitySymbol, node: s.Relationship) -> None:
    """What the rows that go may not be: leased, or referred to themselves (a cascade goes one hop)."""
    if source.lease is not None:
        message = f"{source.name} has a lease; a row that someone may hold cannot go in a cascade"
        related = [("the lease is here", source.lease.name.at)]
        unit.report.add("C045", node.entity.at, message, related=related)
    for other, reference in source.inbound:
        message = (
            f"{other.name}.{reference.name.text} refers to {source.name}, and a cascade goes one hop only"
        )
        related = [("the reference is here", reference.name.at)]
        unit.report.add("C045", node.entity.at, message, related=related)
        break
