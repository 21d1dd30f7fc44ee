"""The language server: pygls speaks the protocol, the desk knows the documents."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from treadle.lsp import convert
from treadle.lsp.desk import Desk
from treadle.lsp.positions import chosen
from treadle.lsp.renaming import refusal
from treadle.version import __version__

DELAY: Final = 0.15  # seconds without a change before findings are sent


class Protocol(LanguageServerProtocol):
    """What the library does by itself, but for two things: which unit positions count, and the documents.

    The library takes the first unit that the client offers and cuts lines at characters that the protocol
    does not count as line ends; both are ours here.
    """

    _server: Server

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Generator[Any, Any, lsp.InitializeResult]:
        general = params.capabilities.general
        unit = chosen(general.position_encodings if general is not None else None)
        if general is not None and general.position_encodings:
            general.position_encodings = [unit]
        self._server.desk.documents.unit = unit
        result = yield from super().lsp_initialize(params)
        return result

    @lsp_method(lsp.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        self._server.left = True
        yield from super().lsp_shutdown(*args)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        self._server.opened(params.text_document)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        self._server.changed(params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self._server.closed(params.text_document.uri)


class Server(LanguageServer):
    """The documents and the tasks that work on them."""

    def __init__(self) -> None:
        self.desk = Desk()
        self.left = False  # whether the client took its leave
        self._waiting: dict[str, asyncio.Task[None]] = {}
        super().__init__("treadle", __version__, protocol_cls=Protocol, max_workers=2)

    @property
    def snippets(self) -> bool:
        """Whether the client knows forms with places to fill in."""
        text = self.client_capabilities.text_document
        item = text.completion.completion_item if text is not None and text.completion is not None else None
        return bool(item is not None and item.snippet_support)

    # Documents come and go.

    def opened(self, document: lsp.TextDocumentItem) -> None:
        if self.desk.open(document.uri, document.language_id, document.version, document.text):
            self._look(document.uri, 0)

    def changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        if self.desk.documents.get(document.uri) is not None:
            self.desk.documents.change(document.uri, document.version, params.content_changes)
            self._look(document.uri, DELAY)

    def closed(self, uri: str) -> None:
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        if self.desk.documents.get(uri) is not None:
            self.desk.close(uri)
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    # Findings.

    def _look(self, uri: str, delay: float) -> None:
        """Send a document's findings after a while; another change starts the while anew."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self._waiting[uri] = asyncio.create_task(self._publish(uri, delay))

    async def _publish(self, uri: str, delay: float) -> None:
        await asyncio.sleep(delay)
        known = await self.desk.known(uri)
        if known is None or self.desk.documents.get(uri) is not known.document:
            return
        found = [convert.diagnostic(each, known.document) for each in known.subject.diagnostics]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, found, known.document.version)
        )
        if self.desk.is_contract(uri):
            for queries in self.desk.queries():
                self._look(queries, 0)


def server() -> Server:
    """A server with everything that it offers; it serves nobody yet."""
    made = Server()
    for method, (handler, options) in _FEATURES.items():
        made.feature(method, options)(handler)
    return made


async def hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    known = await ls.desk.known(params.text_document.uri)
    if known is None:
        return None
    lines = known.document.lines
    found = known.subject.hover(lines.offset(params.position))
    if found is None:
        return None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text), lines.range(found.at))


async def definition(ls: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    uri = params.text_document.uri
    known = await ls.desk.known(uri)
    target = known.subject.definition(known.document.lines.offset(params.position)) if known else None
    if known is None or target is None:
        return None
    if target.here:
        return lsp.Location(uri, known.document.lines.range(target.at))
    about = await ls.desk.contract_for(uri)
    return lsp.Location(about.uri, about.lines.range(target.at)) if about is not None else None


async def references(ls: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    uri = params.text_document.uri
    known = await ls.desk.known(uri)
    if known is None:
        return []
    lines = known.document.lines
    offset = lines.offset(params.position)
    target = known.subject.definition(offset)
    declared = target.at if target is not None and target.here else None
    wanted = params.context.include_declaration
    found = [at for at in known.subject.references(offset) if wanted or at != declared]
    return [lsp.Location(uri, lines.range(at)) for at in found]


async def highlight(ls: Server, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    known = await ls.desk.known(params.text_document.uri)
    if known is None:
        return []
    lines = known.document.lines
    found = known.subject.references(lines.offset(params.position))
    return [lsp.DocumentHighlight(lines.range(at)) for at in found]


async def completion(ls: Server, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    known = await ls.desk.known(params.text_document.uri)
    if known is None:
        return None
    lines = known.document.lines
    extent, items = await asyncio.to_thread(known.subject.suggestions, lines.offset(params.position))
    return convert.completion(items, extent, lines, snippets=ls.snippets)


async def outline(ls: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    known = await ls.desk.known(params.text_document.uri)
    if known is None:
        return []
    return [convert.symbol(each, known.document.lines) for each in known.subject.outline()]


async def layout(ls: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    known = await ls.desk.known(params.text_document.uri)
    text = await asyncio.to_thread(known.subject.formatted) if known is not None else None
    return convert.layout_edits(known.document, text) if known is not None and text is not None else None


def _refused(why: str) -> JsonRpcException:
    """A request that is understood and cannot be met."""
    return JsonRpcException(why, lsp.LSPErrorCodes.RequestFailed)


async def prepare_rename(ls: Server, params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
    known = await ls.desk.known(params.text_document.uri)
    if known is None:
        return None
    found = known.subject.renaming(known.document.lines.offset(params.position))
    if found is None:
        return None
    return lsp.PrepareRenamePlaceholder(known.document.lines.range(found.at), found.name)


async def rename(ls: Server, params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
    known = await ls.desk.known(params.text_document.uri)
    if known is None:
        return None
    document, subject = known
    found = subject.renaming(document.lines.offset(params.position))
    if found is None:
        raise _refused("this name cannot be renamed here")
    problem = await asyncio.to_thread(refusal, document.text, subject, found, params.new_name)
    if problem is not None:
        raise _refused(problem)
    edits = [lsp.TextEdit(document.lines.range(at), params.new_name) for at in found.everywhere]
    return lsp.WorkspaceEdit(changes={document.uri: edits})


_FEATURES: Final[dict[str, tuple[Any, Any]]] = {
    lsp.TEXT_DOCUMENT_HOVER: (hover, None),
    lsp.TEXT_DOCUMENT_DEFINITION: (definition, None),
    lsp.TEXT_DOCUMENT_REFERENCES: (references, None),
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: (highlight, None),
    lsp.TEXT_DOCUMENT_COMPLETION: (completion, lsp.CompletionOptions(trigger_characters=[".", "$"])),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (outline, None),
    lsp.TEXT_DOCUMENT_FORMATTING: (layout, None),
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: (prepare_rename, None),
    lsp.TEXT_DOCUMENT_RENAME: (rename, lsp.RenameOptions(prepare_provider=True)),
}
"""What the server offers, by the protocol's methods."""
