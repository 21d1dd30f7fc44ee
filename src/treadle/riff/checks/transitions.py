"""C034 and C037 for transitions in commands: of the row's workflow, on a mutate binding, once."""

from __future__ import annotations

from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.checks.direct_inputs import direct
from treadle.riff.diagnostics import Extent
from treadle.riff.symbols import BindingSymbol, BlockSymbol, CommandSymbol, Unit
from treadle.riff.walk import target


def transitions(unit: Unit) -> None:
    for command in unit.commands:
        done: dict[tuple[str, int], Extent] = {}
        for effect, block in command.effects():
            if isinstance(effect, s.DoTransition):
                _transition(unit, command, effect, block, done)


def _transition(
    unit: Unit,
    command: CommandSymbol,
    node: s.DoTransition,
    block: BlockSymbol,
    done: dict[tuple[str, int], Extent],
) -> None:
    direct(unit, command, block, "C037", "revision", node.revision, t.U64_)
    binding = target(unit, command, block, node.binding)
    if binding is None or binding.entity is None:
        return
    refusal = _refusal(binding, block)
    if refusal:
        related = [("the row is bound here", binding.at)]
        unit.report.add("C034", node.binding.at, refusal, related=related)
    # Arms of one decision exclude each other, so each may hold one.
    first = done.setdefault((binding.name, id(block)), node.transition.at)
    if first is not node.transition.at:
        message = f"`{binding.name}` already takes a transition in this command; a command takes one"
        unit.report.add("C034", node.transition.at, message, related=[("the first is here", first)])
    _named(unit, node, binding)


def _refusal(binding: BindingSymbol, block: BlockSymbol) -> str:
    """Why a binding's row takes no transition here, or ''."""
    name = binding.name
    if binding.kind != "mutate":
        return f"`{name}` is a {binding.kind} binding; bind the row with `mutate` to move its state"
    if block.in_loop or binding.block.in_loop:
        return "a transition cannot stand in `for`: its revision is of one row; use an ordinary command"
    if block.decision is not None and block.decision is not binding.decided:
        return f"an arm moves only the row it decides on; take this transition of `{name}` outside the arms"
    if binding.decided is not None and block.decision is not binding.decided:
        return f"`{name}` is decided; take its transition in the apply arms of its decision"
    return ""


def _named(unit: Unit, node: s.DoTransition, binding: BindingSymbol) -> None:
    entity = binding.entity
    workflow = entity.workflow if entity else None
    if entity is None or (workflow is not None and node.transition.text in workflow.transitions):
        return
    if workflow is None:
        message = f"{entity.name} has no workflow, so it takes no transition; declare one"
        unit.report.add("C034", node.transition.at, message)
        return
    message = f"workflow {workflow.name} of {entity.name} has no transition `{node.transition.text}`"
    known = workflow.transitions
    unit.report.add("C034", node.transition.at, message, misspelt=node.transition.text, known=known)
