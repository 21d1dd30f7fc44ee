"""C012: a new row gets every required field, and nothing reads one before it has it."""

from __future__ import annotations

from treadle.model import contract as m
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.symbols import BindingSymbol, BlockSymbol, CommandSymbol, DecisionSymbol, EntitySymbol, Unit


def required_fields(unit: Unit) -> None:
    for command in unit.commands:
        fresh = [binding for binding in command.bindings if binding.creates and binding.entity is not None]
        if fresh:
            _Run(unit, command, fresh).walk()


def _needs(entity: EntitySymbol) -> set[str]:
    """The fields that a command must give: neither key, nor optional, nor the state that `initial` gives."""
    needed = {
        name
        for name, member in entity.fields.items()
        if not member.key and member.type is not None and not isinstance(member.type, t.Optional)
    }
    workflow = entity.workflow
    if workflow is None:
        return needed
    if workflow.enum is None:  # the state was refused, so which field `initial` gives is not known
        return set()
    if workflow.node.initial is not None:
        needed.discard(workflow.node.state.text)
    return needed - {name for name, part in workflow.lease_fields.items() if part in ("owner", "expires_at")}


class _Run:
    """Goes through a command as it runs; `missing` holds the fields that each new row still lacks."""

    def __init__(self, unit: Unit, command: CommandSymbol, fresh: list[BindingSymbol]) -> None:
        self.unit = unit
        self.command = command
        self.missing: dict[str, set[str]] = {}
        for binding in fresh:
            if binding.entity is not None and command.by_name.get(binding.name) is binding:
                self.missing[binding.name] = _needs(binding.entity) - _initialized(binding)

    def walk(self) -> None:
        command, loop = self.command, self.command.loop
        for binding in command.bindings:
            if binding.node.initialize is not None:
                self._reads(*(entry.value for entry in binding.node.initialize.entries))
        self._before_effects(command.block, loop.block if loop else None)
        for block in [loop.block] if loop else []:
            self._effects(block)
            self._complete(block)
        self._effects(command.block)
        self._complete(command.block)
        if command.success is not None:
            self._reads(*(entry.value for entry in command.success.payload.entries))

    def _before_effects(self, *blocks: BlockSymbol | None) -> None:
        for block in blocks:
            for decision in block.decisions if block else ():
                self._decision(decision)
        for block in reversed(blocks):
            for require in block.requires if block else ():
                self._reads(require.expression)
                self._answers(require.failure)

    def _decision(self, decision: DecisionSymbol) -> None:
        for arm, inner in decision.arms:
            if arm.when is not None:
                self._reads(arm.when)
            if isinstance(arm.action, s.Reject):
                self._answers(arm.action.outcome)
            if inner is not None:
                self._arm(decision, arm, inner)

    def _arm(self, decision: DecisionSymbol, arm: s.Arm, inner: BlockSymbol) -> None:
        observed = decision.binding
        before = {name: set(lacking) for name, lacking in self.missing.items()}
        self._effects(inner)
        self._complete(inner)
        if observed is not None and observed.kind == "observe_or_initialize":
            self._complain(observed, Extent(arm.at.start, arm.at.start + len("when" if arm.when else "else")))
        self.missing = before

    def _effects(self, block: BlockSymbol) -> None:
        for effect in block.effects:
            match effect:
                case s.Set():
                    self._reads(effect.value)
                    if len(effect.target.parts) == 2:
                        name, field = (part.text for part in effect.target.parts)
                        self.missing.get(name, set()).discard(field)
                case s.Emit():
                    self._reads(*(entry.value for entry in effect.payload.entries))
                case s.DoTransition():
                    self._answers(effect.stale, effect.illegal)
                case s.DoLease():
                    self._answers(*(outcome for _, outcome in effect.outcomes))

    def _complete(self, block: BlockSymbol) -> None:
        for binding in block.bindings:
            if binding.kind in ("create", "init_or_mutate"):
                self._complain(binding, binding.at)

    def _complain(self, binding: BindingSymbol, at: Extent) -> None:
        lacking = self.missing.get(binding.name)
        entity = binding.entity
        if not lacking or entity is None:
            return
        workflow = entity.workflow
        state = workflow.node.state.text if workflow else ""
        if workflow is not None and state in lacking:
            message = f"no command can give `{state}`: workflow {workflow.name} has no `initial`; add one"
            related = [("the workflow is here", workflow.node.name.at)]
        else:
            names = ", ".join(f"`{name}`" for name in entity.fields if name in lacking)
            message = f"the new {entity.name} lacks {names}; set {'it' if len(lacking) == 1 else 'them'}"
            related = [
                (f"{name} is declared here", entity.fields[name].node.name.at) for name in sorted(lacking)[:4]
            ]
        self.unit.report.add("C012", at, message, related=related)
        lacking.clear()  # what reads the row later need not say it again

    def _answers(self, *outcomes: s.Outcome) -> None:
        for outcome in outcomes:
            self._reads(*(entry.value for entry in outcome.payload.entries))

    def _reads(self, *nodes: s.Expression) -> None:
        for node in nodes:
            for use in self.unit.uses(node):
                expr = use.expr
                while isinstance(expr, m.DatePart):
                    expr = expr.operand
                match expr:
                    case m.BindingField(binding, field) if field in self.missing.get(binding, ()):
                        message = f"`{field}` of the new row has no value here yet; set it before"
                    case m.BindingRow(binding) if self.missing.get(binding):
                        names = ", ".join(sorted(self.missing[binding]))
                        message = f"the new row `{binding}` has no {names} here yet; use single fields"
                    case _:
                        continue
                self.unit.report.add("C012", use.at, message)


def _initialized(binding: BindingSymbol) -> set[str]:
    node = binding.node.initialize
    return {entry.name.text for entry in node.entries} if node else set()
