"""Descriptions of commands and of what is declared in them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from treadle.lsp.analysis import Analysis
from treadle.lsp.names import Symbol
from treadle.lsp.parts import SHOWN, Part, listed, type_rules
from treadle.model import types as t
from treadle.plan.explain import Line, explain
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.symbols import CommandSymbol, ReimportSymbol, direct_input

_SERVICES: Final = {"uuid_v7": t.UUID, "transaction_time": t.TIMESTAMP}


def _command(about: Analysis, name: str, at: Extent | None) -> CommandSymbol | None:
    """The command of a name; of two, the one in which `at` is."""
    own = [command for command in about.unit.commands if command.name == name]
    inside = [each for each in own if at and each.node.at.start <= at.start <= each.node.at.end]
    return next(iter(inside or own), None)


def _reimport(about: Analysis, name: str) -> ReimportSymbol | None:
    return next((each for each in about.unit.reimports if each.name == name), None)


def _lines(about: Analysis, name: str) -> list[Line]:
    """The plan of a command in words, as far as the last contract without an error has it."""
    plan = about.plan
    if plan is None or not (name in plan.commands or name in plan.reimports):
        return []
    return explain(plan, name)


def command(about: Analysis, symbol: Symbol) -> Part | None:
    reimport = _reimport(about, symbol.name)
    found = _command(about, symbol.name, symbol.at)
    if found is not None:
        bulk = "bulk " if found.node.bulk else ""
        inputs = [f"  {about.text(node.at)}" for node, _ in found.inputs.values()]
        services = [f"  {about.text(node.at)}" for node in found.services.values()]
        head = "\n".join([f"{bulk}command {symbol.name} {{", *inputs, *services, "}"])
    elif reimport is not None:
        head = f"reimport command {symbol.name} {{\n  {about.text(reimport.node.input.at)}\n}}"
    else:
        return None
    at = found.node.at if found is not None else reimport.node.at if reimport is not None else Extent(0, 0)
    return Part(head, at._replace(end=at.start), tuple(_plan_rules(_lines(about, symbol.name))))


_SECTIONS: Final = ("access", "reads", "locks", "checks", "writes", "answers")


def _plan_rules(lines: list[Line]) -> Iterator[str]:
    """A plan in short: one rule for each section, the checks in order."""
    for section, members in groupby(lines, key=lambda line: line.section):
        if section not in _SECTIONS:
            continue
        every = list(members)
        if section == "answers":
            yield f"answers {listed(line.outcome or line.text for line in every)}"
            continue
        shown = "".join(f"\n  {'  ' * line.depth}- {line.text}" for line in every[:SHOWN])
        more = f"\n  - and {len(every) - SHOWN} more" if len(every) > SHOWN else ""
        yield f"{section}{' in order' if section == 'checks' else ''}:{shown}{more}"


def input(about: Analysis, symbol: Symbol) -> Part | None:
    found = _command(about, symbol.owner, symbol.at)
    reimport = _reimport(about, symbol.owner)
    if found is not None and symbol.name in found.inputs:
        node, kind = found.inputs[symbol.name]
        rules = [*_roles(found, symbol.name), *type_rules(about.unit, kind)]
        return Part(about.text(node.at), node.at, (f"of command `{symbol.owner}`", *rules))
    if reimport is not None:
        node = reimport.node.input
        return Part(about.text(node.at), node.at, tuple(type_rules(about.unit, reimport.type)))
    return None


def _roles(command: CommandSymbol, name: str) -> Iterator[str]:
    """What an input is for, where the command says so."""
    if command.key_input == name:
        yield "the idempotency key: the same key again answers the same and executes nothing"
    for bound in command.bindings:
        keys = bound.entity.key if bound.entity is not None else []
        for member, argument in zip(keys, bound.node.key, strict=False):
            if direct_input(argument, command) == name:
                yield f"`{bound.node.entity.text}.{member.name}` of `{bound.name}`"
    for effect, _ in command.effects():
        match effect:
            case s.DoTransition() if direct_input(effect.revision, command) == name:
                yield f"the revision of `{effect.binding.text}` that the caller saw"
            case s.DoLease():
                for what, value in effect.values:
                    if direct_input(value, command) == name:
                        proof = what.replace("_", " ")
                        yield f"the {proof} for `lease {effect.op}` on `{effect.binding.text}`"
            case _:
                pass


def service(about: Analysis, symbol: Symbol) -> Part | None:
    found = _command(about, symbol.owner, symbol.at)
    node = found.services.get(symbol.name) if found is not None else None
    if node is None:
        return None
    rules = (f"`{_SERVICES[node.kind]}`", "sealed before the command runs; a repeat of the key sees the same")
    return Part(about.text(node.at), node.at, rules)


_BINDINGS: Final = {
    "read": "must be there, and stays as it is",
    "mutate": "must be there; its revision rises by one",
    "create": "must not be there; its revision is 1, or one above that of a deleted row",
    "delete": "must be there, and is removed after all other effects",
    "init_or_mutate": "is changed, or made with the initializer",
    "observe_or_initialize": "is read, or as if it had the initializer's values; an `apply` arm writes it",
}


def binding(about: Analysis, symbol: Symbol) -> Part | None:
    found = _command(about, symbol.owner, symbol.at)
    bound = found.by_name.get(symbol.name) if found is not None else None
    if bound is None:
        return None
    node = bound.node
    key = ", ".join(about.text(argument.at) for argument in node.key)
    head = f"{node.kind} {node.entity.text}({key}) as {symbol.name}"
    rules = [f"the row {_BINDINGS[node.kind]}"]
    if node.failure is not None:
        rules.append(f"else `{node.failure.name.text}`")
    if bound.entity is not None:
        rules.append(f"fields {listed(bound.entity.fields)}")
    return Part(head, node.at, tuple(rules))


def element(about: Analysis, symbol: Symbol) -> Part | None:
    found = _command(about, symbol.owner, symbol.at)
    if found is None or found.loop is None:
        return None
    loop = found.loop.node
    return Part(
        f"for {loop.element.text} in {loop.input.text}", loop.element.at,
        tuple(type_rules(about.unit, found.loop.item)),
    )  # fmt: skip


def requirement(about: Analysis, symbol: Symbol) -> Part | None:
    found = _command(about, symbol.owner, symbol.at)
    for block in found.blocks if found is not None else ():
        for node in block.requires:
            if node.name.at == symbol.at:
                return Part(about.text(node.at), node.at)
    return None


def outcome(about: Analysis, symbol: Symbol) -> Part | None:
    found = _command(about, symbol.owner, symbol.at) or _reimport(about, symbol.owner)
    declared = found.outcomes.get(symbol.name) if found is not None else None
    if declared is None:
        return Part(symbol.name, None, (f"an outcome of `{symbol.owner}`",))
    fields = ", ".join(f"{name}: {kind}" for name, kind in declared.fields.items())
    head = f"{symbol.name} {{ {fields} }}" if fields else f"{symbol.name} {{}}"
    if declared.success:
        return Part(head, None, (f"the success of `{symbol.owner}`",))
    checks = [line for line in _lines(about, symbol.owner) if line.section == "checks"]
    rules = dict.fromkeys(_when(line, symbol.name) for line in checks if line.outcome == symbol.name)
    return Part(head, None, (f"a failure of `{symbol.owner}`: it is recorded and changes nothing", *rules))


def _when(line: Line, name: str) -> str:
    """When a check answers its outcome."""
    text = line.text.rpartition(f": {name}")[0] or line.text
    return (
        f"answered {text}" if text.startswith(("unless ", "when ", "otherwise")) else f"answered when {text}"
    )


def answer(about: Analysis, symbol: Symbol) -> Part | None:
    command, _, name = symbol.owner.partition(".")
    found = _command(about, command, symbol.at) or _reimport(about, command)
    declared = found.outcomes.get(name) if found is not None else None
    kind = declared.fields.get(symbol.name) if declared is not None else None
    head = f"{name}.{symbol.name}" + (f": {kind}" if kind is not None else "")
    return Part(head, None, (f"a field of outcome `{name}` of `{command}`", *type_rules(about.unit, kind)))
