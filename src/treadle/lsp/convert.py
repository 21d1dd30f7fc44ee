"""Answers in the protocol's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from lsprotocol import types as lsp

from treadle.lsp.documents import Document
from treadle.lsp.items import Item
from treadle.lsp.names import Kind
from treadle.lsp.positions import Lines
from treadle.lsp.subject import Outline
from treadle.riff.diagnostics import Diagnostic, Extent, Span
from treadle.riff.pages import page

SOURCE: Final = "treadle"

_ITEMS: Final[Mapping[Kind | str, lsp.CompletionItemKind]] = {
    "enum": lsp.CompletionItemKind.Enum,
    "variant": lsp.CompletionItemKind.EnumMember,
    "entity": lsp.CompletionItemKind.Class,
    "field": lsp.CompletionItemKind.Field,
    "event": lsp.CompletionItemKind.Event,
    "event field": lsp.CompletionItemKind.Field,
    "workflow": lsp.CompletionItemKind.Class,
    "transition": lsp.CompletionItemKind.Method,
    "lease": lsp.CompletionItemKind.Interface,
    "input": lsp.CompletionItemKind.Variable,
    "parameter": lsp.CompletionItemKind.Variable,
    "service": lsp.CompletionItemKind.Variable,
    "binding": lsp.CompletionItemKind.Variable,
    "row": lsp.CompletionItemKind.Variable,
    "element": lsp.CompletionItemKind.Variable,
    "outcome": lsp.CompletionItemKind.Constructor,
    "answer": lsp.CompletionItemKind.Property,
    "fact": lsp.CompletionItemKind.Property,
    "builtin": lsp.CompletionItemKind.Constant,
    "word": lsp.CompletionItemKind.Keyword,
}
_SYMBOLS: Final[Mapping[Kind, lsp.SymbolKind]] = {
    "enum": lsp.SymbolKind.Enum,
    "variant": lsp.SymbolKind.EnumMember,
    "entity": lsp.SymbolKind.Class,
    "field": lsp.SymbolKind.Field,
    "event": lsp.SymbolKind.Event,
    "event field": lsp.SymbolKind.Field,
    "aggregate": lsp.SymbolKind.Package,
    "workflow": lsp.SymbolKind.Interface,
    "transition": lsp.SymbolKind.Method,
    "lease": lsp.SymbolKind.Object,
    "command": lsp.SymbolKind.Function,
    "query": lsp.SymbolKind.Function,
    "input": lsp.SymbolKind.Variable,
    "parameter": lsp.SymbolKind.Variable,
    "service": lsp.SymbolKind.Variable,
    "binding": lsp.SymbolKind.Variable,
    "row": lsp.SymbolKind.Variable,
    "outcome": lsp.SymbolKind.Constructor,
    "index": lsp.SymbolKind.Key,
    "unique": lsp.SymbolKind.Key,
    "reference": lsp.SymbolKind.Key,
    "invariant": lsp.SymbolKind.Boolean,
    "fact": lsp.SymbolKind.Property,
    "policy": lsp.SymbolKind.Namespace,
}


def diagnostic(found: Diagnostic, document: Document) -> lsp.Diagnostic:
    """A finding, with a link to the page of its code and the places that explain it."""
    lines = document.lines
    explained = page(found.code)
    return lsp.Diagnostic(
        range=lines.range(_extent(found.span)),
        message=f"{found.message}\n{found.help}" if found.help else found.message,
        severity=lsp.DiagnosticSeverity.Error if found.is_error else lsp.DiagnosticSeverity.Warning,
        code=found.code,
        code_description=lsp.CodeDescription(explained.as_uri()) if explained is not None else None,
        source=SOURCE,
        related_information=[
            lsp.DiagnosticRelatedInformation(
                lsp.Location(document.uri, lines.range(_extent(other.span))), other.message
            )
            for other in found.related
        ],
    )


def _extent(span: Span) -> Extent:
    return Extent(span.start.offset, span.end.offset)


def completion(items: Iterable[Item], extent: Extent, lines: Lines, *, snippets: bool) -> lsp.CompletionList:
    """What is offered, in its order; forms to fill in only for a client that knows them."""
    range = lines.range(extent)
    return lsp.CompletionList(
        is_incomplete=False,
        items=[_item(item, number, range, snippets) for number, item in enumerate(items)],
    )


def _item(item: Item, number: int, range: lsp.Range, snippets: bool) -> lsp.CompletionItem:
    form = item.snippet if snippets else ""
    return lsp.CompletionItem(
        label=item.label,
        kind=_ITEMS.get(item.kind),
        detail=item.detail or None,
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, item.help) if item.help else None,
        sort_text=f"{number:05}",
        insert_text_format=lsp.InsertTextFormat.Snippet if form else lsp.InsertTextFormat.PlainText,
        text_edit=lsp.TextEdit(range, form or item.label),
    )


def symbol(outline: Outline, lines: Lines) -> lsp.DocumentSymbol:
    """A declaration for the editor's outline."""
    return lsp.DocumentSymbol(
        name=outline.name,
        kind=_SYMBOLS.get(outline.kind, lsp.SymbolKind.Variable),
        range=lines.range(outline.at),
        selection_range=lines.range(outline.name_at),
        detail=outline.detail or None,
        children=[symbol(child, lines) for child in outline.children],
    )


def layout_edits(document: Document, formatted: str) -> list[lsp.TextEdit]:
    """The one edit that lays a document out: what is the same at both ends stays as it is.

    Lines keep the ends that the document has.
    """
    old = document.text.removeprefix("\ufeff")
    ends = "\r\n" if "\r\n" in old else "\n"
    new = formatted.replace("\n", ends)
    if new == old:
        return []
    start = _common(old, new)
    start -= old[:start].endswith("\r")  # no edit begins or ends inside a line's end
    stop = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    stop -= old[len(old) - stop :].startswith("\n") and old[: len(old) - stop].endswith("\r")
    extent = Extent(start, len(old) - stop)
    return [lsp.TextEdit(document.lines.range(extent), new[start : len(new) - stop])]


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
