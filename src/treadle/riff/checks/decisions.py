"""C004, C006, C007 for decisions: on an observed or mutated row, once; conditions apart; creates in arms."""

from __future__ import annotations

from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.expressions import check_expression
from treadle.riff.names import look_up
from treadle.riff.scopes import CommandScope
from treadle.riff.symbols import BindingSymbol, CommandSymbol, DecisionSymbol, Unit


def decisions(unit: Unit) -> None:
    for command in unit.commands:
        for block in command.blocks:
            for decision in block.decisions:
                decision.binding = _binding(unit, command, decision)
                _arms(unit, command, decision)


def _binding(unit: Unit, command: CommandSymbol, decision: DecisionSymbol) -> BindingSymbol | None:
    name, observe = decision.node.binding, decision.node.observe
    if observe is not None and observe.name.text != name.text:
        message = f"a decision follows its observe clause; write `decide {observe.name.text}`"
        unit.report.add("C007", name.at, message, related=[("the observed row is here", observe.name.at)])
        return None
    found = look_up(unit.report, command.by_name, name, "binding")
    if found is None:
        return None
    if observe is None and found.kind != "mutate":
        message = (
            f"`{name.text}` is a {found.kind} binding; decide on a mutate binding, or observe the row first"
        )
    elif found.block is not decision.block or found.order >= decision.known:
        message = f"`{name.text}` is not bound in this block before the decision; decide where it is bound"
    elif found.decided is not None:
        message = f"`{name.text}` is decided twice; join the two decisions"
    else:
        found.decided = decision
        return found
    unit.report.add("C007", name.at, message, related=[("it is bound here", found.at)])
    return None


def _arms(unit: Unit, command: CommandSymbol, decision: DecisionSymbol) -> None:
    scope = CommandScope(unit, command, decision.block, before=decision.known)
    seen: dict[s.Expression, s.Expression] = {}
    for arm, inner in decision.arms:
        if arm.when is not None:
            check_expression(scope, arm.when, t.BOOL)
            first = seen.setdefault(arm.when, arm.when)
            if first is not arm.when:
                message = (
                    "this condition stands in an earlier arm already, so this arm is never taken; remove it"
                )
                unit.report.add("C007", arm.when.at, message, related=[("the earlier arm is here", first.at)])
        for binding in inner.bindings if inner else ():
            if binding.kind != "create":
                at = binding.node.at._replace(end=binding.node.at.start + len(binding.kind))
                message = f"an arm only creates rows; move this {binding.kind} before the decision"
                unit.report.add("C007", at, message)
