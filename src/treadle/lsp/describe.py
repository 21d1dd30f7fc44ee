"""What a name or a word means, as Markdown: how it is declared, its remarks, the rules that hold for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from treadle.lsp import describe_commands as commands
from treadle.lsp import describe_data as data
from treadle.lsp.analysis import Analysis
from treadle.lsp.names import Kind, Symbol
from treadle.lsp.parts import Part
from treadle.lsp.words import BUILTINS, WORDS
from treadle.riff.lalr import Token

_PARTS: Final[Mapping[Kind, Callable[[Analysis, Symbol], Part | None]]] = {
    "contract": data.contract,
    "enum": data.enum,
    "variant": data.variant,
    "entity": data.entity,
    "field": data.field,
    "invariant": data.invariant,
    "index": data.index,
    "unique": data.unique,
    "reference": data.reference,
    "event": data.event,
    "event field": data.event_field,
    "aggregate": data.aggregate,
    "workflow": data.workflow,
    "transition": data.transition,
    "lease": data.lease,
    "fact": data.fact,
    "policy": data.policy,
    "command": commands.command,
    "input": commands.input,
    "service": commands.service,
    "binding": commands.binding,
    "element": commands.element,
    "requirement": commands.requirement,
    "outcome": commands.outcome,
    "answer": commands.answer,
}


def described(about: Analysis, symbol: Symbol) -> str | None:
    """The Markdown of a symbol that `about` declares; None for one that it does not."""
    if symbol.kind == "builtin":
        return BUILTINS[symbol.name]
    part = _PARTS[symbol.kind](about, symbol)
    if part is None:
        return None
    parts = [f"```riff\n{part.head}\n```"]
    remarks = about.remarks(part.at) if part.at is not None else ""
    parts += [remarks] if remarks else []
    rules = "\n".join(f"- {rule}" for rule in part.rules)
    return "\n\n".join([*parts, rules] if rules else parts)


def word(token: Token) -> str | None:
    """The Markdown of a word of the language; None for anything else."""
    meaning = WORDS.get(token.text)
    return f"`{token.text}`: {meaning}" if meaning else None
