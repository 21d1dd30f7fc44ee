"""C002, C003, C004, C005, C007, C036 for what a command declares: inputs, service values, bindings, its loop.

Sorts the clauses of every command into blocks, so that the later checks can walk them.
"""

from __future__ import annotations

from collections.abc import Sequence

from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.names import declare, entity
from treadle.riff.symbols import (
    BindingSymbol,
    BlockSymbol,
    CommandSymbol,
    DecisionSymbol,
    LoopSymbol,
    Unit,
)
from treadle.riff.typenames import resolve_type


def commands(unit: Unit) -> None:
    for command in unit.commands:
        _Reader(unit, command).read()


class _Reader:
    """Reads one command. Inputs, service values, bindings and the element share one namespace."""

    def __init__(self, unit: Unit, command: CommandSymbol) -> None:
        self.unit = unit
        self.report = unit.report
        self.command = command
        self.names: dict[str, s.Name] = {}

    def read(self) -> None:
        command = self.command
        clauses = command.node.clauses
        for clause in clauses:
            match clause:
                case s.Input():
                    self._input(clause)
                case s.Service():
                    self._service(clause)
                case s.IdempotencyKey():
                    command.idempotency_key = command.idempotency_key or clause
                case s.Return():
                    command.success = clause.outcome
                case _:
                    pass
        self._block(command.block, clauses)
        if command.node.bulk and command.loop is None:
            message = f"bulk command {command.name} has no `for`; add one, or remove `bulk`"
            self.report.add("C003", command.node.name.at, message)

    def _input(self, node: s.Input) -> None:
        if declare(self.report, self.names, node.name, "input"):
            kind = resolve_type(self.unit, node.type, records=self.command.node.bulk)
            self.command.inputs[node.name.text] = (node, kind)

    def _service(self, node: s.Service) -> None:
        twice = node.name.text in self.command.services
        if declare(self.report, self.names, node.name, "service value", "C036" if twice else "C002"):
            self.command.services[node.name.text] = node

    def _block(self, block: BlockSymbol, clauses: Sequence[s.Clause]) -> None:
        self.command.blocks.append(block)
        for clause in clauses:
            match clause:
                case s.Binding():
                    block.bindings.append(self._binding(clause, block))
                case s.Decision() if block.kind != "arm":
                    self._decision(clause, block)
                case s.Loop():
                    self._loop(clause, block)
                case s.Require() if block.kind != "arm":
                    block.requires.append(clause)
                case s.Set() | s.Emit() | s.DoTransition() | s.DoLease():
                    block.effects.append(clause)
                case _:
                    pass
        self._requires(block)

    def _requires(self, block: BlockSymbol) -> None:
        seen: dict[str, s.Name] = {}
        for node in block.requires:
            declare(self.report, seen, node.name, "requirement")

    def _binding(self, node: s.Binding, block: BlockSymbol) -> BindingSymbol:
        command = self.command
        found = BindingSymbol(node, entity(self.unit, node.entity), block, len(command.bindings))
        command.bindings.append(found)
        if node.name.text in self.unit.enums:
            message = (
                f"`{node.name.text}` is an enum's name, which `{node.name.text}.x` would mean; rename this"
            )
            related = [("the enum is here", self.unit.enums[node.name.text].node.name.at)]
            self.report.add("C007", node.name.at, message, related=related)
        if declare(self.report, self.names, node.name, "binding"):
            command.by_name[node.name.text] = found
        return found

    def _decision(self, node: s.Decision, block: BlockSymbol) -> None:
        found = DecisionSymbol(node, block)
        block.decisions.append(found)
        if node.observe is not None:
            block.bindings.append(self._binding(node.observe, block))
        found.known = len(self.command.bindings)
        for arm in node.arms:
            inner: BlockSymbol | None = None
            if isinstance(arm.action, s.Apply):
                inner = BlockSymbol("arm", block, decision=found)
                self._block(inner, arm.action.clauses)
                inner.known = len(self.command.bindings)
            found.arms.append((arm, inner))

    def _loop(self, node: s.Loop, block: BlockSymbol) -> None:
        command = self.command
        if not command.node.bulk and block is command.block:
            message = "`for` stands in a bulk command only; write `bulk command`"
            self.report.add("C007", node.at._replace(end=node.at.start + len("for")), message)
        if command.loop is not None or block is not command.block:
            return  # clause_order has refused it
        inner = BlockSymbol("loop", block)
        command.loop = LoopSymbol(node, inner, self._item(node))
        if node.element.text in self.unit.enums:
            message = f"`{node.element.text}` is an enum's name; rename the element"
            self.report.add("C007", node.element.at, message)
        declare(self.report, self.names, node.element, "element")
        if command.inputs.get(node.input.text):
            kind = command.inputs[node.input.text][1]
            command.loop.maximum = kind.maximum if isinstance(kind, t.List) else 0
        self._block(inner, node.clauses)

    def _item(self, node: s.Loop) -> t.Type | None:
        known = self.command.inputs.get(node.input.text)
        if known is None:
            message = f"no input `{node.input.text}`"
            self.report.add(
                "C004", node.input.at, message, misspelt=node.input.text, known=self.command.inputs
            )
            return None
        if known[1] is not None and not isinstance(known[1], t.List):
            message = f"`for` goes over a list; input `{node.input.text}` is {known[1]}"
            self.report.add("C005", node.input.at, message)
        return known[1].item if isinstance(known[1], t.List) else None
