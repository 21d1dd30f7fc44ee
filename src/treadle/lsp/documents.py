"""The documents that the client has open, as it sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from lsprotocol import types as lsp

from treadle.lsp.positions import Lines

MARK = "\ufeff"


class Document:
    """One state of an open document: its text at one version. Immutable."""

    def __init__(self, uri: str, version: int | None, text: str, unit: str) -> None:
        self.uri = uri
        self.version = version
        self.text = text
        self._unit = unit

    @cached_property
    def lines(self) -> Lines:
        """Positions of the offsets that the compiler counts, which leave out a byte order mark."""
        return Lines(self.text, self._unit, skip=int(self.text.startswith(MARK)))

    def changed(self, version: int | None, changes: Iterable[lsp.TextDocumentContentChangeEvent]) -> Document:
        """The document after some changes, each made to what the one before left."""
        text = self.text
        for change in changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                at = Lines(text, self._unit).extent(change.range)
                text = text[: at.start] + change.text + text[at.end :]
            else:
                text = change.text
        return Document(self.uri, version, text, self._unit)


class Documents:
    """The open documents by address. `unit` is what columns count."""

    def __init__(self, unit: str = lsp.PositionEncodingKind.Utf16) -> None:
        self.unit = unit
        self._open: dict[str, Document] = {}

    def open(self, uri: str, version: int | None, text: str) -> Document:
        document = self._open[uri] = Document(uri, version, text, self.unit)
        return document

    def change(
        self, uri: str, version: int | None, changes: Iterable[lsp.TextDocumentContentChangeEvent]
    ) -> Document:
        """Apply changes; raises `KeyError` for a document that is not open."""
        document = self._open[uri] = self._open[uri].changed(version, changes)
        return document

    def close(self, uri: str) -> None:
        self._open.pop(uri, None)

    def get(self, uri: str) -> Document | None:
        return self._open.get(uri)

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._open.values()))
