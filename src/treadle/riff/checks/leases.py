"""C035 (and C004) for a workflow's lease: four distinct fields of their types, and a duration in bounds."""

from __future__ import annotations

from typing import Final

from treadle.limits import LEASE_SECONDS
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.names import look_up, reserved
from treadle.riff.symbols import EntitySymbol, Unit

_TYPES: Final[dict[str, t.Type]] = {
    "owner": t.Optional(t.UUID),
    "expires_at": t.Optional(t.TIMESTAMP),
    "fencing_token": t.U64_,
    "attempts": t.U64_,
}


def leases(unit: Unit) -> None:
    for workflow in unit.workflows.values():
        lease = workflow.node.lease
        if lease is not None:
            reserved(unit.report, lease.name)
            _bounds(unit, lease)
            if workflow.entity is not None:
                _fields(unit, lease, workflow.entity)


def _bounds(unit: Unit, lease: s.Lease) -> None:
    low, high = lease.minimum, lease.maximum
    if low.value < 1:
        unit.report.add("C035", low.at, "a lease lasts at least 1 second")
    if high.value > LEASE_SECONDS:
        unit.report.add("C035", high.at, f"a lease lasts at most {LEASE_SECONDS:,} seconds (a day)")
    if low.value > high.value:
        message = f"the shortest duration, {low.text}, is above the longest, {high.text}; swap them"
        unit.report.add("C035", low.at, message)


def _fields(unit: Unit, lease: s.Lease, owner: EntitySymbol) -> None:
    parts = {"owner": lease.owner, "expires_at": lease.expires_at, "fencing_token": lease.fencing_token}
    if lease.attempts is not None:
        parts["attempts"] = lease.attempts
    seen: dict[str, s.Name] = {}
    for part, name in parts.items():
        member = look_up(unit.report, owner.fields, name, f"field of {owner.name} is called")
        first = seen.setdefault(name.text, name)
        if first is not name:
            message = f"`{name.text}` plays two parts in this lease; each part has a field of its own"
            unit.report.add("C035", name.at, message, related=[("the other part is here", first.at)])
        elif member is not None and member.key:
            message = f"`{name.text}` is a key field and never changes; use another field as the {part}"
            unit.report.add("C035", name.at, message, related=[("the field is here", member.node.name.at)])
        elif member is not None and member.type not in (None, _TYPES[part]):
            message = f"the {part} of a lease is {_TYPES[part]}; `{name.text}` is {member.type}"
            unit.report.add("C035", name.at, message, related=[("the field is here", member.node.name.at)])
