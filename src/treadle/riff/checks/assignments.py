"""C013, C034, C035 (and C004, C006) for `set` and initializers: which fields a command may write, once."""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.expressions import check_expression
from treadle.riff.names import look_up
from treadle.riff.scopes import CommandScope
from treadle.riff.symbols import BindingSymbol, BlockSymbol, CommandSymbol, EntitySymbol, FieldSymbol, Unit
from treadle.riff.walk import target


def assignments(unit: Unit) -> None:
    for command in unit.commands:
        for binding in command.bindings:
            if binding.entity is not None and binding.node.initialize is not None:
                _initializer(unit, command, binding, binding.entity, binding.node.initialize)
        written: dict[tuple[str, str], _Sites] = {}
        for effect, block in command.effects():
            if isinstance(effect, s.Set):
                _set(unit, command, effect, block, written)


def _initializer(
    unit: Unit, command: CommandSymbol, binding: BindingSymbol, entity: EntitySymbol, node: s.Object
) -> None:
    scope = CommandScope(unit, command, binding.block, before=binding.order)
    seen: dict[str, s.Name] = {}
    for entry in node.entries:
        first = seen.setdefault(entry.name.text, entry.name)
        if first is not entry.name:
            message = f"`{entry.name.text}` is initialized twice; keep one"
            unit.report.add("C012", entry.name.at, message, related=[("the first is here", first.at)])
        member = look_up(unit.report, entity.fields, entry.name, f"field of {entity.name} is called")
        if member is not None and member.key:
            message = f"`{entry.name.text}` is a key field and has its key argument already; remove it here"
            unit.report.add("C013", entry.name.at, message)
        elif member is not None:
            _state(unit, entity, entry.name)
        if member is not None:
            check_expression(scope, entry.value, member.type)


def _state(unit: Unit, entity: EntitySymbol, name: s.Name) -> bool:
    """Whether a field is a workflow's state, which only its initial and its transitions write."""
    workflow = entity.workflow
    if workflow is None or workflow.enum is None or workflow.node.state.text != name.text:
        return False
    message = (
        f"`{name.text}` is the state of workflow {workflow.name}; only transitions move it, from `initial` on"
    )
    related = [("the workflow is here", workflow.node.name.at)]
    unit.report.add("C034", name.at, message, related=related)
    return True


@dataclass(slots=True)
class _Sites:
    """Where a field is set: outside decisions, by decision, by arm. Arms of one decision exclude another."""

    plain: Extent | None = None
    decisions: dict[int, Extent] = field(default_factory=dict)
    arms: dict[int, Extent] = field(default_factory=dict)

    def enter(self, block: BlockSymbol, at: Extent) -> Extent | None:
        """An earlier place that sets the field in the same run, if there is one."""
        if block.decision is None:
            earlier = self.plain or next(iter(self.decisions.values()), None)
            self.plain = self.plain or at
            return earlier
        others = (place for decision, place in self.decisions.items() if decision != id(block.decision))
        earlier = self.plain or self.arms.get(id(block)) or next(others, None)
        self.decisions.setdefault(id(block.decision), at)
        self.arms.setdefault(id(block), at)
        return earlier


def _set(
    unit: Unit,
    command: CommandSymbol,
    node: s.Set,
    block: BlockSymbol,
    written: dict[tuple[str, str], _Sites],
) -> None:
    member = _field(unit, command, node, block)
    if member is None:
        return
    sites = written.setdefault((node.target.parts[0].text, member.name), _Sites())
    earlier = sites.enter(block, node.target.at)
    if earlier is not None:
        message = f"`{node.target.text}` is set twice; keep one"
        unit.report.add("C013", node.target.at, message, related=[("the first is here", earlier)])
    check_expression(CommandScope(unit, command, block), node.value, member.type)


def _field(unit: Unit, command: CommandSymbol, node: s.Set, block: BlockSymbol) -> FieldSymbol | None:
    """The field that a `set` writes; where it may not, why, and None where it is not known either."""
    parts = node.target.parts
    if len(parts) != 2:
        message = f"`set` writes a field of a binding; write `{parts[0].text}.field`"
        unit.report.add("C013", node.target.at, message)
        return None
    binding = target(unit, command, block, parts[0])
    entity = binding.entity if binding else None
    if binding is None or entity is None:
        return None
    member = look_up(unit.report, entity.fields, parts[1], f"field of {entity.name} is called")
    if member is None:
        return None
    refusal = _binding_refusal(binding, block)
    if refusal:
        unit.report.add("C013", parts[0].at, refusal, related=[("the row is bound here", binding.at)])
    elif member.key:
        message = f"`{member.name}` is a key field; a row's key never changes"
        unit.report.add("C013", node.target.at, message, related=[("the key is here", member.node.name.at)])
    elif not _state(unit, entity, parts[1]):
        _lease(unit, binding, entity, parts[1])
    return member


def _binding_refusal(binding: BindingSymbol, block: BlockSymbol) -> str:
    """Why a binding's row is not set here, or ''."""
    name = binding.name
    if binding.kind == "read":
        return f"`{name}` is only read; bind it with `mutate` to set its fields"
    if binding.kind == "delete":
        return f"`{name}` is deleted by this command; do not set its fields"
    decided = binding.decided or (block.decision if binding.kind == "observe_or_initialize" else None)
    if binding.kind == "observe_or_initialize" and (binding.decided is None or block.decision is not decided):
        return f"`{name}` is observed; set its fields in the apply arms of its decision"
    if binding.decided is not None and block.decision is not binding.decided:
        return f"`{name}` is decided; set its fields in the apply arms of its decision"
    if block.decision is not None and binding.kind == "create" and binding.block is not block:
        return f"`{name}` is created on every path; set its fields outside the arm"
    if block.in_loop and not binding.block.in_loop:
        return f"`{name}` is bound outside the loop, whose elements would all set it; set it after the loop"
    return ""


def _lease(unit: Unit, binding: BindingSymbol, entity: EntitySymbol, name: s.Name) -> None:
    part = entity.workflow.lease_fields.get(name.text) if entity.workflow else None
    if part is None or entity.lease is None:
        return
    related = [("the lease is here", entity.lease.name.at)]
    if binding.kind != "create":
        message = f"`{name.text}` is the lease's {part}; only a lease operation changes it"
        unit.report.add("C035", name.at, message, related=related)
    elif part in ("owner", "expires_at"):
        message = f"`{name.text}` is the lease's {part} and starts null: remove this; a claim sets it"
        unit.report.add("C035", name.at, message, related=related)
