"""A contract's text, as the language server asks about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from treadle.lsp.analysis import Analysis
from treadle.lsp.describe import described, word
from treadle.lsp.items import Item
from treadle.lsp.names import Kind
from treadle.lsp.subject import Hover, Outline, Renaming, Target
from treadle.lsp.suggest import suggestions
from treadle.riff import compile_contract, format_contract
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Diagnostic, Extent
from treadle.riff.lalr import Token

_FIXED: Final = ("builtin", "answer", "contract")
"""Kinds of names that cannot be renamed: the language's own, and what no other name refers to."""


def token_at(tokens: Sequence[Token], offset: int) -> Token | None:
    """The token that an offset is in, or right behind."""
    behind = None
    for token in tokens:
        if token.start <= offset < token.end:
            return token
        if token.end == offset and token.start < offset:
            behind = token
        if token.start > offset:
            break
    return behind


class ContractText:
    """One state of a contract's text; what was known of the one before it goes on."""

    def __init__(self, text: str, before: ContractText | None = None) -> None:
        self.text = text
        self.about: Analysis = Analysis(text, before.about if before is not None else None)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.about.diagnostics

    def hover(self, offset: int) -> Hover | None:
        found = self.about.names.at(offset)
        if found is not None:
            text = described(self.about, found.symbol)
            return Hover(found.at, text) if text is not None else None
        token = token_at(self.about.tokens, offset)
        text = word(token) if token is not None else None
        return Hover(Extent(token.start, token.end), text) if token is not None and text else None

    def definition(self, offset: int) -> Target | None:
        found = self.about.names.at(offset)
        return Target(found.symbol.at, True) if found is not None and found.symbol.at is not None else None

    def references(self, offset: int) -> list[Extent]:
        found = self.about.names.at(offset)
        return list(self.about.names.of(found.symbol)) if found is not None else []

    def renaming(self, offset: int) -> Renaming | None:
        found = self.about.names.at(offset)
        if found is None or found.symbol.kind in _FIXED or self.about.compiled.parsed.tree is None:
            return None
        everywhere = tuple(self.about.names.of(found.symbol))
        return Renaming(found.at, found.symbol.name, everywhere)

    def refuses(self, text: str) -> str | None:
        known = {(each.code, each.message) for each in self.diagnostics}
        for each in compile_contract(text).diagnostics:
            if each.is_error and (each.code, each.message) not in known:
                return f"{each.code}: {each.message}"
        return None

    def suggestions(self, offset: int) -> tuple[Extent, list[Item]]:
        return suggestions(self.about, offset)

    def formatted(self) -> str | None:
        return format_contract(self.text).text

    def outline(self) -> list[Outline]:
        return list(_outline(self.about))


def _outline(about: Analysis) -> Iterator[Outline]:
    """Declarations in source order, each with its members."""
    for node in sorted(about.unit.tree.declarations, key=lambda each: each.at):
        kind, members = _OUTLINES[type(node)]
        name = node.name.text or "…"
        yield Outline(name, kind, _DETAILS.get(kind, ""), node.at, node.name.at, tuple(members(about, node)))


_DETAILS: Final = {"policy": "row policy", "fact": "principal fact"}


def _leaf(about: Analysis, name: s.Name, kind: Kind, node: s.Node, detail: str = "") -> Outline:
    return Outline(name.text, kind, detail, node.at, name.at)


def _variants(about: Analysis, node: Any) -> Iterator[Outline]:
    for name in node.variants:
        yield _leaf(about, name, "variant", name)


def _items(about: Analysis, node: Any) -> Iterator[Outline]:
    kinds: dict[type, Kind] = {
        s.Invariant: "invariant",
        s.Index: "index",
        s.Unique: "unique",
        s.Reference: "reference",
    }
    for item in node.items:
        if isinstance(item, s.Key):
            for member in item.fields:
                yield _leaf(about, member.name, "field", member, f"{about.text(member.type.at)}, key")
        elif isinstance(item, s.Member):
            yield _leaf(about, item.name, "field", item, about.text(item.type.at))
        elif type(item) in kinds:
            yield _leaf(about, item.name, kinds[type(item)], item)


def _event(about: Analysis, node: Any) -> Iterator[Outline]:
    for member in node.fields:
        yield _leaf(about, member.name, "event field", member, about.text(member.type.at))


def _workflow(about: Analysis, node: Any) -> Iterator[Outline]:
    for step in node.transitions:
        yield _leaf(about, step.name, "transition", step, f"to {step.destination.text}")
    if node.lease is not None:
        yield _leaf(about, node.lease.name, "lease", node.lease)


def _command(about: Analysis, node: Any) -> Iterator[Outline]:
    for clause in node.clauses:
        if isinstance(clause, s.Input):
            yield _leaf(about, clause.name, "input", clause, about.text(clause.type.at))
        elif isinstance(clause, s.Service):
            yield _leaf(about, clause.name, "service", clause, clause.kind)
        elif isinstance(clause, s.Binding):
            yield _leaf(about, clause.name, "binding", clause, f"{clause.kind} {clause.entity.text}")
        elif isinstance(clause, s.Return):
            yield _leaf(about, clause.outcome.name, "outcome", clause)


def _nothing(about: Analysis, node: Any) -> Iterator[Outline]:
    yield from ()


_OUTLINES: Final[dict[type, tuple[Kind, Callable[[Analysis, Any], Iterator[Outline]]]]] = {
    s.EnumDecl: ("enum", _variants),
    s.EntityDecl: ("entity", _items),
    s.EventDecl: ("event", _event),
    s.AggregateDecl: ("aggregate", _items),
    s.WorkflowDecl: ("workflow", _workflow),
    s.CommandDecl: ("command", _command),
    s.ReimportDecl: ("command", _nothing),
    s.PrincipalFact: ("fact", _nothing),
    s.RowPolicy: ("policy", _nothing),
}
