"""The names inside of commands: inputs, service values, bindings, their fields, outcomes."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.lsp.collector import Collector, paths
from treadle.lsp.names import Symbol
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.symbols import (
    BindingSymbol,
    BlockSymbol,
    CommandSymbol,
    EntitySymbol,
    EventSymbol,
    ReimportSymbol,
    WorkflowSymbol,
)


def commands(into: Collector) -> None:
    """Every command and reimport command, with the names that they use."""
    for command in into.unit.commands:
        _Command(into, command).walk()
    for reimport in into.unit.reimports:
        _reimport(into, reimport)


class Answers:
    """The outcomes of one command: a name, and a payload field, is declared where it stands first."""

    def __init__(self, into: Collector, command: s.Name) -> None:
        self._into = into
        self._command = command.text
        self._seen: dict[tuple[str, ...], Symbol] = {}

    def add(self, outcome: s.Outcome) -> None:
        name = outcome.name
        symbol = Symbol("outcome", name.text, self._command, name.at)
        self._into.add(name, self._seen.setdefault((name.text,), symbol))
        for entry in outcome.payload.entries:
            field = Symbol("answer", entry.name.text, f"{self._command}.{name.text}", entry.name.at)
            self._into.add(entry.name, self._seen.setdefault((name.text, entry.name.text), field))


def _reimport(into: Collector, reimport: ReimportSymbol) -> None:
    node = reimport.node
    into.declare(node.name, "command")
    into.declare(node.input.name, "input", node.name.text)
    into.type(node.input.type)
    into.entity(node.entity)
    if node.source.text == node.input.name.text:
        into.add(node.source, Symbol("input", node.input.name.text, node.name.text, node.input.name.at))
    answers = Answers(into, node.name)
    answers.add(node.failure)
    answers.add(node.success)


class _Command:
    """Walks one command's clauses in the blocks that the checks made of them."""

    def __init__(self, into: Collector, command: CommandSymbol) -> None:
        self.into = into
        self.command = command
        self.owner = command.name
        self.answers = Answers(into, command.node.name)

    def walk(self) -> None:
        into, command = self.into, self.command
        into.declare(command.node.name, "command")
        for node in command.node.clauses:
            if isinstance(node, s.Input):
                into.declare(node.name, "input", self.owner)
                into.type(node.type)
            elif isinstance(node, s.Service):
                into.declare(node.name, "service", self.owner)
        if command.idempotency_key is not None:
            self.expression(command.idempotency_key.expression)
        self.block(command.block)
        if command.success is not None:
            self.outcome(command.success)

    def block(self, block: BlockSymbol) -> None:
        for binding in block.bindings:
            self.binding(binding)
        for decision in block.decisions:
            self.into.add(decision.node.binding, self.named(decision.node.binding.text))
            for arm, inner in decision.arms:
                self.expression(arm.when)
                if isinstance(arm.action, s.Reject):
                    self.outcome(arm.action.outcome)
                if inner is not None:
                    self.block(inner)
        loop = self.command.loop
        if block is self.command.block and loop is not None:
            self.into.declare(loop.node.element, "element", self.owner)
            self.into.add(loop.node.input, self.named(loop.node.input.text))
            self.block(loop.block)
        for require in block.requires:
            self.into.declare(require.name, "requirement", self.owner)
            self.expression(require.expression)
            self.outcome(require.failure)
        for effect in block.effects:
            self.effect(effect)

    def binding(self, binding: BindingSymbol) -> None:
        into, node = self.into, binding.node
        into.entity(node.entity)
        for argument in node.key:
            self.expression(argument)
        into.declare(node.name, "binding", self.owner)
        for outcome in (node.failure, node.restrict, node.cascade):
            if outcome is not None:
                self.outcome(outcome)
        for handler in node.handlers:
            self.handler(binding.entity, handler)
            self.outcome(handler.outcome)
        self.object(binding.entity, node.initialize)

    def handler(self, entity: EntitySymbol | None, handler: s.Handler) -> None:
        if entity is None:
            return
        if handler.kind == "conflict":
            self.into.item("unique", entity.name, entity.uniques, handler.constraint)
            return
        self.into.item("invariant", entity.name, entity.invariants, handler.constraint)
        aggregate = entity.aggregate
        if aggregate is not None and handler.constraint.text not in entity.invariants:
            self.into.item("invariant", aggregate.name, aggregate.invariants, handler.constraint)

    def effect(self, effect: s.Effect) -> None:
        into = self.into
        match effect:
            case s.Set():
                self.path(effect.target)
                self.expression(effect.value)
                self.reveals(effect.reveals)
            case s.Emit():
                self.object(into.event(effect.event), effect.payload)
            case s.DoTransition():
                workflow = self.workflow(effect.binding)
                if workflow is not None:
                    into.item("transition", workflow.name, workflow.transitions, effect.transition)
                into.add(effect.binding, self.named(effect.binding.text))
                self.expression(effect.revision)
                self.outcome(effect.stale)
                self.outcome(effect.illegal)
            case s.DoLease():
                into.lease(self.workflow(effect.binding), effect.lease)
                into.add(effect.binding, self.named(effect.binding.text))
                for _, value in effect.values:
                    self.expression(value)
                for _, outcome in effect.outcomes:
                    self.outcome(outcome)

    def workflow(self, binding: s.Name) -> WorkflowSymbol | None:
        found = self.command.by_name.get(binding.text)
        return found.entity.workflow if found is not None and found.entity is not None else None

    def outcome(self, outcome: s.Outcome) -> None:
        self.answers.add(outcome)
        for entry in outcome.payload.entries:
            self.expression(entry.value)
            self.reveals(entry.reveals)

    def object(self, owner: EntitySymbol | EventSymbol | None, node: s.Object | None) -> None:
        for entry in node.entries if node is not None else ():
            self.into.field(owner, entry.name)
            self.expression(entry.value)
            self.reveals(entry.reveals)

    def reveals(self, revealed: Sequence[s.Path]) -> None:
        for path in revealed:
            self.path(path)

    def expression(self, node: s.Expression | None) -> None:
        for path in paths(node):
            if isinstance(path, s.Path):
                self.path(path)

    def named(self, name: str) -> Symbol | None:
        """What a name means in the command: its element, an input, a service value or a binding."""
        command = self.command
        if command.loop is not None and name == command.loop.node.element.text:
            return Symbol("element", name, self.owner, command.loop.node.element.at)
        if name in command.inputs:
            return Symbol("input", name, self.owner, command.inputs[name][0].name.at)
        if name in command.services:
            return Symbol("service", name, self.owner, command.services[name].name.at)
        if name in command.by_name:
            return Symbol("binding", name, self.owner, command.by_name[name].node.name.at)
        return None

    def path(self, path: s.Path) -> None:
        first, *rest = path.parts
        into = self.into
        if first.text == "tx":
            into.add(first, Symbol("builtin", "tx"))
            if rest and rest[0].text == "time":
                into.add(rest[0], Symbol("builtin", "tx.time"))
            into.date(rest[1:])
        elif rest and first.text in into.unit.enums:
            into.enum_path(path.parts)
        else:
            into.add(first, self.named(first.text))
            row = self.row(first.text)
            if row is not None and rest:
                into.field(row, rest.pop(0))
            into.date(rest)

    def row(self, name: str) -> EntitySymbol | None:
        """The entity whose fields may follow a name."""
        command = self.command
        loop = command.loop
        if loop is not None and name == loop.node.element.text:
            item = loop.item
            return self.into.unit.entities.get(item.entity) if isinstance(item, t.Record) else None
        found = command.by_name.get(name)
        return found.entity if found is not None and name not in command.inputs else None
