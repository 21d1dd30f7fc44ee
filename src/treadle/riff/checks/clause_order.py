"""S004: the clauses of a command, a loop and an apply arm stand in one order, each where it belongs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent, Report
from treadle.riff.symbols import Unit

ORDER: Final = (
    "input",
    "service",
    "idempotency_key",
    "binding",
    "decide",
    "for",
    "require",
    "effect",
    "return",
)
ONCE: Final = frozenset(("idempotency_key", "for", "return"))
ALLOWED: Final = {
    "command": frozenset(ORDER),
    "loop": frozenset(("binding", "decide", "require", "effect")),
    "arm": frozenset(("binding", "effect")),
}
_BINDINGS: Final = "read, mutate, create, delete and init_or_mutate bindings"
_WORDS: Final = {
    "binding": _BINDINGS,
    "decide": "decisions",
    "require": "requirements",
    "effect": "effects (set, emit, transition, lease)",
    "input": "inputs",
    "service": "service values",
}


def clause_order(unit: Unit) -> None:
    for declaration in unit.tree.declarations:
        if isinstance(declaration, s.CommandDecl):
            _block(unit.report, "command", declaration.clauses)
            if not any(isinstance(clause, s.Return) for clause in declaration.clauses):
                end = Extent(declaration.at.end - 1, declaration.at.end)
                message = (
                    f"command {declaration.name.text} answers nothing; end it with `return Outcome {{}}`"
                )
                unit.report.add("S004", end, message)


def _block(report: Report, where: str, clauses: Sequence[s.Clause]) -> None:
    latest, seen = "input", set()
    for clause in clauses:
        group, word = group_of(clause)
        at = Extent(clause.at.start, clause.at.start + len(word))
        if group not in ALLOWED[where]:
            report.add("S004", at, f"`{word}` cannot stand in {_a(where)}; move it to the command itself")
        elif group in ONCE and group in seen:
            report.add("S004", at, f"a command has one `{word}`; join the two")
        elif ORDER.index(group) < ORDER.index(latest):
            before = _WORDS.get(latest, f"`{latest}`")
            report.add(
                "S004", at, f"`{word}` stands too late; move it before the {before}", help=_help(where)
            )
        else:
            latest = group
        seen.add(group)
        _inside(report, clause)


def _inside(report: Report, clause: s.Clause) -> None:
    if isinstance(clause, s.Loop):
        _block(report, "loop", clause.clauses)
    elif isinstance(clause, s.Decision):
        for arm in clause.arms:
            if isinstance(arm.action, s.Apply):
                _block(report, "arm", arm.action.clauses)


def _a(where: str) -> str:
    return "an apply arm" if where == "arm" else f"a {where}"


def _help(where: str) -> str:
    order = [_WORDS.get(group, f"`{group}`") for group in ORDER if group in ALLOWED[where]]
    return f"the order in {_a(where)}: " + ", ".join(order)


def group_of(clause: s.Clause) -> tuple[str, str]:
    """The group that a clause belongs to, and the word that it begins with."""
    match clause:
        case s.Binding():
            return "binding", clause.kind
        case s.Decision():
            return "decide", "observe_or_initialize" if clause.observe else "decide"
        case s.Loop():
            return "for", "for"
        case s.Set():
            return "effect", "set"
        case s.Emit():
            return "effect", "emit"
        case s.DoTransition():
            return "effect", "transition"
        case s.DoLease():
            return "effect", "lease"
        case s.IdempotencyKey():
            return "idempotency_key", "idempotency_key"
        case s.Input() | s.Service() | s.Require() | s.Return():
            word = type(clause).__name__.lower()
            return word, word
