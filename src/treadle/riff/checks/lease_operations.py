"""C035 and C038 for lease operations: nobody writes a leased row without proof of its lease."""

from __future__ import annotations

from typing import Final

from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.checks.direct_inputs import direct
from treadle.riff.diagnostics import Extent
from treadle.riff.symbols import BindingSymbol, BlockSymbol, CommandSymbol, Unit
from treadle.riff.walk import target

_TYPES: Final[dict[str, t.Type]] = {
    "owner": t.UUID,
    "fencing_token": t.U64_,
    "duration_seconds": t.U64_,
    "revision": t.U64_,
}
_FENCE: Final = "lease fence {lease} on {name} owner … fencing_token … revision … stale … invalid … expired …"


def lease_operations(unit: Unit) -> None:
    for command in unit.commands:
        done: dict[tuple[str, int], list[s.DoLease]] = {}  # by binding and block
        for effect, block in command.effects():
            if isinstance(effect, s.DoLease):
                binding = _operation(unit, command, effect, block)
                if binding is not None:
                    done.setdefault((binding.name, id(block)), []).append(effect)
        for binding in command.bindings:
            if binding.entity is not None and binding.entity.lease is not None:
                _held(unit, binding, done)


def _operation(
    unit: Unit, command: CommandSymbol, node: s.DoLease, block: BlockSymbol
) -> BindingSymbol | None:
    for part, value in node.values:
        direct(unit, command, block, "C038", part, value, _TYPES[part])
    binding = target(unit, command, block, node.binding)
    if binding is None or binding.entity is None:
        return None
    lease = binding.entity.lease
    if lease is None or lease.name.text != node.lease.text:
        message = f"{binding.entity.name} has no lease `{node.lease.text}`"
        if lease is not None:
            message += f"; its lease is `{lease.name.text}`"
        unit.report.add("C035", node.lease.at, message)
        return None
    refusal = _refusal(node, binding, block)
    if refusal:
        related = [("the row is bound here", binding.at)]
        unit.report.add("C035", node.binding.at, refusal, related=related)
    return binding


def _refusal(node: s.DoLease, binding: BindingSymbol, block: BlockSymbol) -> str:
    """Why a lease operation cannot stand on this binding here, or ''."""
    name = binding.name
    if binding.kind == "delete" and node.op != "fence":
        return f"`{name}` is deleted; prove its lease with `lease fence`, not `lease {node.op}`"
    if binding.kind not in ("mutate", "delete"):
        return f"`{name}` is a {binding.kind} binding; a lease operation needs a mutate binding"
    if block.in_loop or binding.block.in_loop:
        return "a lease operation cannot stand in `for`: its token is of one row; use an ordinary command"
    if block.decision is not None and block.decision is not binding.decided:
        return f"an arm works only on the lease of the row it decides on; take `{name}` outside the arms"
    return ""


def _held(unit: Unit, binding: BindingSymbol, done: dict[tuple[str, int], list[s.DoLease]]) -> None:
    """Exactly one lease operation on every path that writes a leased row."""
    top = done.get((binding.name, id(binding.block)), [])
    for extra in top[1:]:
        _twice(unit, binding, extra, top[0])
    lease = binding.entity.lease if binding.entity else None
    if lease is None or binding.kind in ("read", "create"):
        return
    related = [("the lease is here", lease.name.at)]
    message = ""
    if binding.kind in ("init_or_mutate", "observe_or_initialize"):
        message = f"a leased row is bound with `create` or `mutate`, not with `{binding.kind}`"
    elif binding.block.in_loop:
        message = "a leased row cannot be written in `for`: each has its own token; use an ordinary command"
    elif binding.decided is not None and not top:
        _arms(unit, binding, done)
    else:
        _arms_empty(unit, binding, done, top)
        if not top:
            fence = _FENCE.format(lease=lease.name.text, name=binding.name)
            message = (
                f"this writes a leased row without proof of its lease; add `{fence}`, or another operation"
            )
    if message:
        unit.report.add("C035", binding.at, message, related=related)


def _twice(unit: Unit, binding: BindingSymbol, extra: s.DoLease, first: s.DoLease) -> None:
    message = f"`{binding.name}` has a second lease operation here; a command has one for a row"
    unit.report.add("C035", _word(extra), message, related=[("the first is here", _word(first))])


def _word(node: s.DoLease) -> Extent:
    return Extent(node.at.start, node.lease.at.end)


def _arms_empty(
    unit: Unit, binding: BindingSymbol, done: dict[tuple[str, int], list[s.DoLease]], top: list[s.DoLease]
) -> None:
    """With an operation at the top level, the arms hold none."""
    for _, inner in binding.decided.arms if binding.decided else ():
        for extra in done.get((binding.name, id(inner)), ()) if inner else ():
            _twice(unit, binding, extra, top[0])


def _arms(unit: Unit, binding: BindingSymbol, done: dict[tuple[str, int], list[s.DoLease]]) -> None:
    """Without one at the top level, each apply arm holds exactly one."""
    for arm, inner in binding.decided.arms if binding.decided else ():
        if inner is None:
            continue
        found = done.get((binding.name, id(inner)), [])
        for extra in found[1:]:
            _twice(unit, binding, extra, found[0])
        if not found:
            at = Extent(arm.action.at.start, arm.action.at.start + len("apply"))
            message = f"this arm writes the leased row `{binding.name}` without proof; add a lease operation"
            help = "or take one lease operation at the top level, for all arms"
            unit.report.add("C035", at, message, help=help, related=[("the row is bound here", binding.at)])
