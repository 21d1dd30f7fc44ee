"""What can be written at a place: words in their order, and the names that fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from treadle.lsp import snippets
from treadle.lsp.analysis import Analysis
from treadle.lsp.items import Item, word
from treadle.lsp.place import Place, place
from treadle.lsp.scope import Scope
from treadle.lsp.suggest_names import expression_names, other_names
from treadle.riff import syntax as s
from treadle.riff.checks.clause_order import ALLOWED, ONCE, ORDER, group_of
from treadle.riff.diagnostics import Extent

_GROUPS: Final = {
    "input": "input",
    "service": "service",
    "idempotency_key": "idempotency_key",
    "read": "binding",
    "mutate": "binding",
    "create": "binding",
    "delete": "binding",
    "init_or_mutate": "binding",
    "observe_or_initialize": "decide",
    "decide": "decide",
    "for": "for",
    "require": "require",
    "set": "effect",
    "emit": "effect",
    "transition": "effect",
    "lease": "effect",
    "return": "return",
}
"""The words that begin the clauses of a command, in their order, with the group of each."""

_FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "contract": snippets.DECLARATIONS,
    "entity": snippets.ENTITY,
    "aggregate": snippets.AGGREGATE,
    "workflow": snippets.WORKFLOW,
    "command": snippets.COMMAND,
    "loop": snippets.COMMAND,
    "arm": snippets.COMMAND,
}
_ONLY_ONCE: Final = {"entity": (s.Key,), "aggregate": (s.Root, s.PartitionBy, s.ConflictKey)}
_START: Final = "contract ${1:Name} version ${2:1} {\n\t$0\n}"
_TYPES: Final = (
    "uuid", "string", "u64", "i64", "bool", "timestamp", "date", "decimal", "money", "bytes", "optional",
    "list",
)  # fmt: skip


def suggestions(about: Analysis, offset: int) -> tuple[Extent, list[Item]]:
    """What can be written at an offset, with the extent of what it would replace.

    The extent begins where the word under the cursor begins and ends at the cursor.
    """
    here = place(about.compiled.parsed, offset)
    if here is None:
        return Extent(offset, offset), []
    found: dict[str, Item] = {}
    for item in _all(here, Scope(about, here)):
        found.setdefault(item.label, item)
    return Extent(here.word.start, offset), sorted(found.values(), key=lambda item: item.rank)


def _all(here: Place, scope: Scope) -> Iterator[Item]:
    if here.expression or here.path:
        yield from expression_names(here, scope)
    if here.type:
        yield from _types(here, scope)
    elif here.name:
        yield from other_names(here, scope)
    if not here.path:
        yield from _words(here)


def _types(here: Place, scope: Scope) -> Iterator[Item]:
    in_list = here.ends("LIST LESS")
    for rank, name in enumerate(_TYPES):
        yield word(name, rank, snippets.TYPES.get(name, ""))
    for name, enum in scope.unit.enums.items():
        yield Item(name, "enum", ", ".join(enum.variants), rank=len(_TYPES))
    if in_list and here.role in ("command", "reimport"):
        for name in scope.unit.entities:
            yield Item(name, "entity", "its records", rank=len(_TYPES) + 1)


def _words(here: Place) -> Iterator[Item]:
    texts = [here.driver.table.texts[kind] for kind in here.keywords]
    if here.type:
        texts = [text for text in texts if text not in _TYPES]
    if here.role in ALLOWED and "set" in texts:
        yield from _clauses(here, texts)
        texts = [text for text in texts if text not in _GROUPS]
    forms = _FORMS.get(here.role, {})
    if here.role == "" and texts == ["contract"]:
        forms = {"contract": _START}
    if here.ends("LEASE") and here.role in ALLOWED:
        forms = snippets.LEASE_OPERATIONS
    gone = _gone(here)
    for text in texts:
        if text not in gone:
            yield word(text, 6, forms.get(text, "") if _begins(here) else "")


def _begins(here: Place) -> bool:
    """Whether a member of a block, the text, or a lease operation begins here."""
    return not here.begun or here.ends("LEASE") or here.role == "workflow"


def _gone(here: Place) -> set[str]:
    """Words for what is there already and stands once, and those of row policies elsewhere."""
    kinds = _ONLY_ONCE.get(here.role, ())
    words = {s.Key: "key", s.Root: "root", s.PartitionBy: "partition_by", s.ConflictKey: "conflict_key"}
    there = {words[kind] for kind in kinds if any(isinstance(each, kind) for each in here.blocks[-1].members)}
    if here.block("policy") is None:
        there |= {"exists", "is"} if here.ends("FOR name") else {"exists", "is", "in"}
    return there


def _clauses(here: Place, texts: Iterable[str]) -> Iterator[Item]:
    """The clauses that can still stand, in their order."""
    groups = [group_of(clause)[0] for clause in here.blocks[-1].members if isinstance(clause, _CLAUSES)]
    if here.begun:  # a clause that may go on, such as a `set` whose value was written
        groups.append(_GROUPS.get(getattr(here.begun[0], "text", ""), "input"))
    latest = max((ORDER.index(group) for group in groups), default=0)
    forms = _FORMS[here.role]
    for rank, (text, group) in enumerate(_GROUPS.items()):
        possible = group in ALLOWED[here.role] and ORDER.index(group) >= latest
        taken = (group in ONCE and group in groups) or (text == "for" and not _bulk(here))
        if text in texts and possible and not taken:
            yield word(text, 10 + rank, forms.get(text, ""))


_CLAUSES: Final = (
    s.Input, s.Service, s.IdempotencyKey, s.Binding, s.Decision, s.Loop, s.Require, s.Set, s.Emit,
    s.DoTransition, s.DoLease, s.Return,
)  # fmt: skip


def _bulk(here: Place) -> bool:
    block = here.block("command")
    return block is not None and any(getattr(value, "kind", "") == "BULK" for value in block.head)
