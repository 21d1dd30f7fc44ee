"""C045 and C020 for delete bindings: a policy, its outcome where it has one, and rows within the bound."""

from __future__ import annotations

from treadle.limits import CASCADE_ROWS
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.symbols import BindingSymbol, CommandSymbol, Unit


def deletes(unit: Unit) -> None:
    for command in unit.commands:
        for binding in command.bindings:
            if binding.kind == "delete" and binding.entity is not None:
                _delete(unit, command, binding)


def _delete(unit: Unit, command: CommandSymbol, binding: BindingSymbol) -> None:
    entity = binding.entity
    policy = entity.policy if entity else None
    if entity is not None and policy is None:
        message = f"{entity.name} has no delete policy; declare one, as in `delete_policy no_inbound`"
        related = [("the entity is here", entity.node.name.at)]
        unit.report.add("C045", binding.node.entity.at, message, related=related)
        return
    _outcome(unit, binding, "restrict", binding.node.restrict, isinstance(policy, s.RestrictPolicy))
    _outcome(unit, binding, "cascade", binding.node.cascade, isinstance(policy, s.CascadePolicy))
    if isinstance(policy, s.CascadePolicy):
        _rows(unit, command, binding, policy)


def _outcome(unit: Unit, binding: BindingSymbol, word: str, outcome: s.Outcome | None, needed: bool) -> None:
    policy = binding.entity.policy if binding.entity else None
    related = [("the policy is here", policy.at)] if policy is not None else []
    if needed and outcome is None:
        when = "rows still refer to it" if word == "restrict" else "more rows would go than its policy allows"
        message = f"this delete may find that {when}; say what it answers then: `{word} Outcome {{}}`"
        unit.report.add("C045", binding.at, message, related=related)
    elif outcome is not None and not needed:
        message = f"the policy is no {word}, so this outcome is never answered; remove `{word}`"
        unit.report.add("C045", outcome.name.at, message, related=related)


def _rows(unit: Unit, command: CommandSymbol, binding: BindingSymbol, policy: s.CascadePolicy) -> None:
    roots = max(1, command.loop.maximum) if command.loop and binding.block.in_loop else 1
    each = 1 + sum(node.maximum.value for node in policy.relationships)
    if roots * each > CASCADE_ROWS:
        at = Extent(binding.node.at.start, binding.node.entity.at.end)
        message = f"this may delete {roots * each:,} rows ({roots} times {each}), at most {CASCADE_ROWS}"
        unit.report.add("C020", at, message, related=[("the cascade is here", policy.at)])
