"""What descriptions are made of: heads, rules, types in words, and who does what to what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from treadle.lsp.words import TYPES
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.symbols import CommandSymbol, EnumSymbol, Unit, WorkflowSymbol

SHOWN = 12


class Part(NamedTuple):
    """A description: the declaration as it would be written, where it stands, and rules, one a line."""

    head: str
    at: Extent | None
    rules: tuple[str, ...] = ()


def listed(names: Iterable[str]) -> str:
    """Names as code, the first of many."""
    every = list(names)
    shown = ", ".join(f"`{name}`" for name in every[:SHOWN])
    return f"{shown} and {len(every) - SHOWN} more" if len(every) > SHOWN else shown


_NAMES = {
    t.Bool: "bool",
    t.I64: "i64",
    t.U64: "u64",
    t.Timestamp: "timestamp",
    t.Date: "date",
    t.Uuid: "uuid",
    t.Decimal: "decimal",
    t.Money: "money",
    t.String: "string",
    t.Bytes: "bytes",
}


def type_rules(unit: Unit, kind: t.Type | None) -> Iterator[str]:
    """What a type allows, in a sentence."""
    match kind:
        case None:
            return
        case t.Optional():
            yield "may be null"
            yield from type_rules(unit, kind.item)
        case t.List():
            yield f"a list of {kind.minimum:,} to {kind.maximum:,} entries, each `{kind.item}`"
        case t.Enum():
            enum = unit.enums.get(kind.name)
            yield f"one of {listed(enum.variants)}" if enum is not None else f"a `{kind.name}`"
        case t.Record():
            yield f"a whole row of `{kind.entity}`"
        case t.String():
            yield f"at most {kind.maximum:,} bytes of UTF-8, without NUL"
        case t.Bytes():
            yield f"at most {kind.maximum:,} bytes"
        case t.Decimal():
            yield f"exact, {kind.precision} digits, {kind.scale} of them after the point"
        case _:
            rule = TYPES[_NAMES[type(kind)]].rstrip(".")
            yield rule[0].lower() + rule[1:]


def users(unit: Unit, entity: str) -> Iterator[str]:
    """Which commands read, make, change and remove an entity's rows."""
    words = {
        "create": "made by",
        "init_or_mutate": "made or changed by",
        "observe_or_initialize": "made or changed by",
        "mutate": "changed by",
        "delete": "removed by",
        "read": "read by",
    }
    found: dict[str, dict[str, None]] = {}
    for command in unit.commands:
        for binding in command.bindings:
            if binding.node.entity.text == entity:
                found.setdefault(words[binding.kind], {}).setdefault(command.name)
    yield from (f"{word} {listed(found[word])}" for word in dict.fromkeys(words.values()) if word in found)


def workflow_of(command: CommandSymbol, binding: s.Name) -> WorkflowSymbol | None:
    """The workflow of the row that a binding names."""
    found = command.by_name.get(binding.text)
    return found.entity.workflow if found is not None and found.entity is not None else None


def performers(unit: Unit, workflow: str) -> dict[str, list[str]]:
    """Who takes each step of a workflow: commands by a transition's name, or `lease claim` and the like."""
    found: dict[str, list[str]] = {}
    for command in unit.commands:
        for effect, _ in command.effects():
            match effect:
                case s.DoTransition():
                    what = effect.transition.text
                case s.DoLease():
                    what = f"lease {effect.op}"
                case _:
                    continue
            own = workflow_of(command, effect.binding)
            if own is not None and own.name == workflow and command.name not in found.setdefault(what, []):
                found[what].append(command.name)
    return found


def states_of(unit: Unit, enum: str) -> Iterator[tuple[WorkflowSymbol, EnumSymbol]]:
    """The workflows whose state is of an enum."""
    for workflow in unit.workflows.values():
        if workflow.enum is not None and workflow.enum.name == enum:
            yield workflow, workflow.enum
