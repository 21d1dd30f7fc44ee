"""The open documents with what is known of each: worked out once for each state, away from the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from treadle.limits import SOURCE_BYTES
from treadle.lsp.contract_text import ContractText
from treadle.lsp.documents import Document, Documents
from treadle.lsp.positions import Lines
from treadle.lsp.projects import contract_of, path_of
from treadle.lsp.query_text import QueryText
from treadle.lsp.subject import Subject

CONTRACT, QUERIES = "riff", "riffq"


class About(NamedTuple):
    """The contract that a query file is about, and where it is."""

    uri: str
    subject: ContractText
    lines: Lines


class Known(NamedTuple):
    """A document's state and what is known of it."""

    document: Document
    subject: Subject


class _Work(NamedTuple):
    document: Document
    contract: ContractText | None
    result: asyncio.Task[Subject]


class Desk:
    """Documents by address. Everything is called on one event loop."""

    def __init__(self) -> None:
        self.documents = Documents()
        self._languages: dict[str, str] = {}
        self._work: dict[str, _Work] = {}
        self._last: dict[str, ContractText] = {}
        self._files: dict[Path, tuple[tuple[int, int], ContractText]] = {}

    def open(self, uri: str, language: str, version: int | None, text: str) -> bool:
        """Take a document; false for one in a language that is not ours."""
        ending = uri.rpartition(".")[2]
        own = language if language in (CONTRACT, QUERIES) else ending
        if own not in (CONTRACT, QUERIES):
            return False
        self._languages[uri] = own
        self.documents.open(uri, version, text)
        return True

    def close(self, uri: str) -> None:
        self.documents.close(uri)
        for table in (self._languages, self._work, self._last):
            table.pop(uri, None)

    def queries(self) -> Iterator[str]:
        """The addresses of the open query files."""
        yield from [uri for uri, language in self._languages.items() if language == QUERIES]

    def is_contract(self, uri: str) -> bool:
        return self._languages.get(uri) == CONTRACT

    async def known(self, uri: str) -> Known | None:
        """What is known of a document as it is now; None for one that is not open."""
        document = self.documents.get(uri)
        if document is None:
            return None
        about = await self.contract_for(uri) if not self.is_contract(uri) else None
        if self.documents.get(uri) is not document:
            return await self.known(uri)  # it was changed meanwhile
        return Known(document, await self._subject(document, about.subject if about is not None else None))

    async def _subject(self, document: Document, contract: ContractText | None) -> Subject:
        uri = document.uri
        work = self._work.get(uri)
        if work is None or work.document is not document or work.contract is not contract:
            work = _Work(document, contract, asyncio.create_task(self._make(document, contract)))
            self._work[uri] = work
        return await asyncio.shield(work.result)

    async def _make(self, document: Document, contract: ContractText | None) -> Subject:
        text = document.text.removeprefix("\ufeff")
        if not self.is_contract(document.uri):
            return await asyncio.to_thread(QueryText, text, contract)
        made = await asyncio.to_thread(ContractText, text, self._last.get(document.uri))
        if document.uri in self._languages:
            self._last[document.uri] = made
        return made

    # The contract that a query file is about.

    def contract_uri(self, uri: str) -> str | None:
        """The address of the contract that a query file is about."""
        path = path_of(uri)
        source = contract_of(path) if path is not None else None
        return source.resolve().as_uri() if source is not None else None

    async def contract_for(self, uri: str) -> About | None:
        """That contract: as it is open, else as it is on the disk."""
        address = self.contract_uri(uri)
        if address is None:
            return None
        for open_ in self.documents:
            same = path_of(open_.uri)
            if self.is_contract(open_.uri) and same is not None and same.resolve().as_uri() == address:
                found = await self._subject(open_, None)
                return About(open_.uri, found, open_.lines) if isinstance(found, ContractText) else None
        path = path_of(address)
        read = await asyncio.to_thread(self._read, path) if path is not None else None
        return About(address, read, Lines(read.text, self.documents.unit)) if read is not None else None

    def _read(self, path: Path) -> ContractText | None:
        """A contract on the disk, read again when the file has changed."""
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            kept = self._files.get(path)
            if kept is not None and kept[0] == stamp:
                return kept[1]
            with path.open("rb") as stream:
                text = stream.read(SOURCE_BYTES + 1).decode("utf-8-sig", "replace")
        except OSError:
            return None
        made = ContractText(text, kept[1] if kept is not None else None)
        self._files[path] = stamp, made
        return made
