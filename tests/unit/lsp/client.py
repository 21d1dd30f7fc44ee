"""A real client: it starts `treadle lsp`, speaks the protocol with it, and hears what it sends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

WAIT = 30.0


class Editor(LanguageClient):
    """Keeps the findings that the server sends, and whatever it says aloud."""

    def __init__(self) -> None:
        super().__init__("a test", "1")
        self.findings: dict[str, lsp.PublishDiagnosticsParams] = {}
        self.said: list[str] = []
        self._heard = asyncio.Event()
        self.server: asyncio.subprocess.Process | None = None
        self.greeting: lsp.InitializeResult | None = None
        self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._published(params))
        self.feature(lsp.WINDOW_SHOW_MESSAGE)(lambda params: self.said.append(params.message))

    def _published(self, params: lsp.PublishDiagnosticsParams) -> None:
        self.findings[params.uri] = params
        self._heard.set()

    async def server_exit(self, server: asyncio.subprocess.Process) -> None:
        self.server = server
        self._heard.set()

    def report_server_error(self, error: Exception, source: Any) -> None:
        self.said.append(f"{source.__name__}: {error}")

    async def begin(self, folder: Path, units: Sequence[str] | None = None, *, snippets: bool = True) -> None:
        """Start the server and agree on what both can."""
        await self.start_io(sys.executable, "-m", "treadle.cli", "lsp", "--stdio", cwd=str(folder))
        item = lsp.ClientCompletionItemOptions(snippet_support=snippets)
        capabilities = lsp.ClientCapabilities(
            general=lsp.GeneralClientCapabilities(position_encodings=units),
            text_document=lsp.TextDocumentClientCapabilities(
                completion=lsp.CompletionClientCapabilities(completion_item=item)
            ),
        )
        params = lsp.InitializeParams(capabilities, root_uri=folder.as_uri(), process_id=None)
        self.greeting = await asyncio.wait_for(self.initialize_async(params), WAIT)
        self.initialized(lsp.InitializedParams())

    async def end(self) -> int | None:
        """Take leave; the server's exit code."""
        await asyncio.wait_for(self.shutdown_async(None), WAIT)
        self.exit(None)
        await asyncio.wait_for(self.stop(), WAIT)
        return self.server.returncode if self.server is not None else None

    def open(self, uri: str, text: str, language: str = "riff") -> None:
        document = lsp.TextDocumentItem(uri, language, 1, text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(document))

    def edit(self, uri: str, version: int, range: lsp.Range, text: str) -> None:
        change = lsp.TextDocumentContentChangePartial(range=range, text=text)
        document = lsp.VersionedTextDocumentIdentifier(version, uri)
        self.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))

    def replace(self, uri: str, version: int, text: str) -> None:
        change = lsp.TextDocumentContentChangeWholeDocument(text=text)
        document = lsp.VersionedTextDocumentIdentifier(version, uri)
        self.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))

    async def diagnostics(self, uri: str, version: int | None = None) -> list[lsp.Diagnostic]:
        """The findings for a version of a document, once they are there."""

        async def hear() -> list[lsp.Diagnostic]:
            while True:
                found = self.findings.get(uri)
                if found is not None and (version is None or found.version == version):
                    return list(found.diagnostics)
                self._heard.clear()
                await self._heard.wait()

        return await asyncio.wait_for(hear(), WAIT)


def at(uri: str, position: lsp.Position) -> dict[str, Any]:
    return {"text_document": lsp.TextDocumentIdentifier(uri), "position": position}
