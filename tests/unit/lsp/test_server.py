"""The language server as an editor sees it: a client, and `treadle lsp` in a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from lsprotocol.types import Position, Range
from pygls.exceptions import JsonRpcException

from tests.unit.lsp.client import Editor, at
from tests.unit.lsp.texts import SHOP
from treadle.riff import format_contract

BROKEN = (
    "// 💡💡 a lamp\r\n"
    "contract Lamps version 1 {\r\n"
    "  entity Lamp { key (lamp_id: uuid) field name: string<20> field name: u64 }\r\n"
    "  aggregate Lamps { root Lamp partition_by lamp_id conflict_key (lamp_id) }\r\n"
    "  command Show {\r\n"
    "    input lamp_id: uuid\r\n"
    "    read Lamp(lamp_id) as lamp else NoLamp {}\r\n"
    '    require Lit: lamp.name != "💡é" && lamp.nam == "x" else Dark {}\r\n'
    "    return Shown {}\r\n"
    "  }\r\n"
    "}\r\n"
)
"""Emojis and CRLFs before the errors, and an emoji on the line of one."""


Work = Callable[[Editor, Path], Coroutine[Any, Any, None]]


def session(work: Work, folder: Path, **options: Any) -> None:
    """A whole session with a server of its own, from greeting to leave; nothing was said aloud in it."""

    async def run() -> None:
        editor = Editor()
        await editor.begin(folder, **options)
        try:
            await work(editor, folder)
        finally:
            code = await editor.end()
        assert code == 0 and editor.said == []

    asyncio.run(run())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Work], None]]:
    """One session for many tests: `shared(work)`, with a new folder for each."""
    with asyncio.Runner() as runner:
        editor = Editor()
        runner.run(editor.begin(tmp_path_factory.mktemp("lsp")))
        yield lambda work: runner.run(work(editor, tmp_path_factory.mktemp("lsp")))
        assert runner.run(editor.end()) == 0 and editor.said == []


def find(text: str, piece: str, *, inside: int = 0) -> Position:
    """The position of a piece of an ASCII text."""
    offset = text.index(piece) + inside
    line = text.count("\n", 0, offset)
    return Position(line, offset - (text.rfind("\n", 0, offset) + 1))


@pytest.mark.parametrize(
    "units, agreed, column",
    [(["utf-16", "utf-32"], "utf-32", 43), (None, "utf-16", 44), (["utf-8"], "utf-8", 47)],
    ids=["code points", "utf-16", "utf-8"],
)
def test_findings_stand_where_the_client_counts_them(
    units: list[str] | None, agreed: str, column: int, tmp_path: Path
) -> None:
    async def work(editor: Editor, folder: Path) -> None:
        assert editor.greeting is not None and editor.greeting.capabilities.position_encoding == agreed
        uri = (folder / "lamps.riff").as_uri()
        editor.open(uri, BROKEN)
        twice, unknown = await editor.diagnostics(uri, 1)
        assert (twice.code, twice.severity, twice.source) == ("C002", lsp.DiagnosticSeverity.Error, "treadle")
        assert twice.range == Range(Position(2, 65), Position(2, 69))
        (related,) = twice.related_information or ()
        assert related.location == lsp.Location(uri, Range(Position(2, 42), Position(2, 46)))
        assert twice.code_description is not None
        page = Path(twice.code_description.href.removeprefix("file://"))
        assert page.read_text().startswith("# C002\n")
        assert unknown.code == "C004"
        assert unknown.range == Range(Position(7, column), Position(7, column + 3))
        spot = Position(7, column + 1)
        hover = await editor.text_document_hover_async(lsp.HoverParams(**at(uri, Position(7, column - 3))))
        assert hover is not None and "read Lamp(lamp_id) as lamp" in str(hover.contents)
        found = await editor.text_document_completion_async(lsp.CompletionParams(**at(uri, spot)))
        assert isinstance(found, lsp.CompletionList)
        assert found.items[0].text_edit == lsp.TextEdit(Range(Position(7, column), spot), "lamp_id")

    session(work, tmp_path, units=units)


def test_findings_follow_what_is_typed(shared: Callable[[Work], None]) -> None:
    async def work(editor: Editor, folder: Path) -> None:
        uri = (folder / "shop.riff").as_uri()
        editor.open(uri, SHOP)
        assert await editor.diagnostics(uri, 1) == []
        spot = find(SHOP.replace("🖨", "xx"), "job.title = title", inside=4)
        word = Range(spot, Position(spot.line, spot.character + 5))
        editor.edit(uri, 2, word, "titel")
        found = (await editor.diagnostics(uri, 2))[-1]
        assert found.code == "C004" and "the nearest is title" in found.message and found.range == word
        for version, letter in enumerate("abc", 3):  # several at once: only the last state is told
            editor.edit(uri, version, Range(spot, spot), letter)
        found = (await editor.diagnostics(uri, 5))[-1]
        assert found.range.end.character == spot.character + 8
        editor.edit(uri, 6, Range(spot, Position(spot.line, spot.character + 8)), "title")
        assert await editor.diagnostics(uri, 6) == []
        editor.replace(uri, 7, "contract")
        assert [each.code for each in await editor.diagnostics(uri, 7)] == ["S005"]
        editor.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        assert await editor.diagnostics(uri, None) is not None
        while editor.findings[uri].diagnostics:
            await asyncio.sleep(0.01)

    shared(work)


def test_a_warning_is_one(shared: Callable[[Work], None]) -> None:
    text = SHOP.replace("{ Waiting, Printing, Done }", "{ Waiting, Printing, Done, Lost }")

    async def work(editor: Editor, folder: Path) -> None:
        editor.open("untitled:Untitled-1", text)
        (found,) = await editor.diagnostics("untitled:Untitled-1", 1)
        assert (found.code, found.severity) == ("W034", lsp.DiagnosticSeverity.Warning)
        assert found.code_description is not None and found.code_description.href.endswith("/W034.md")

    shared(work)


def test_what_a_name_is_and_where_it_comes_from(shared: Callable[[Work], None]) -> None:
    plain = SHOP.replace("🖨", "")

    async def work(editor: Editor, folder: Path) -> None:
        uri = (folder / "shop.riff").as_uri()
        editor.open(uri, plain)
        spot = find(plain, "job.title = title", inside=5)
        hover = await editor.text_document_hover_async(lsp.HoverParams(**at(uri, spot)))
        assert hover is not None and isinstance(hover.contents, lsp.MarkupContent)
        assert "field Job.title: string<120>" in hover.contents.value
        assert "in unique `by_title`" in hover.contents.value
        assert hover.range == Range(
            Position(spot.line, spot.character - 1), Position(spot.line, spot.character + 4)
        )
        place = await editor.text_document_definition_async(lsp.DefinitionParams(**at(uri, spot)))
        assert place == lsp.Location(uri, Range(find(plain, "title: string"), find(plain, ": string<120>")))
        params = lsp.ReferenceParams(**at(uri, spot), context=lsp.ReferenceContext(include_declaration=False))
        uses = await editor.text_document_references_async(params)
        assert uses is not None and len(uses) == 2, "in the unique, and in the command"
        marks = await editor.text_document_document_highlight_async(
            lsp.DocumentHighlightParams(**at(uri, spot))
        )
        assert marks is not None and len(marks) == 3
        nothing = await editor.text_document_hover_async(lsp.HoverParams(**at(uri, Position(3, 0))))
        assert nothing is None
        word = await editor.text_document_hover_async(lsp.HoverParams(**at(uri, find(plain, "lease fence"))))
        assert word is not None and "`lease`" in str(word.contents)

    shared(work)


def test_what_can_be_written_while_the_text_is_broken(shared: Callable[[Work], None]) -> None:
    plain = SHOP.replace("🖨", "")

    async def work(editor: Editor, folder: Path) -> None:
        uri = (folder / "shop.riff").as_uri()
        editor.open(uri, plain)
        await editor.diagnostics(uri, 1)
        spot = find(plain, "    set job.pages = 1")
        editor.edit(uri, 2, Range(spot, spot), "    set job.ti\n")
        cursor = Position(spot.line, len("    set job.ti"))
        found = await editor.text_document_completion_async(lsp.CompletionParams(**at(uri, cursor)))
        assert isinstance(found, lsp.CompletionList) and not found.is_incomplete
        first = found.items[0]
        assert (first.label, first.kind, first.detail) == (
            "title",
            lsp.CompletionItemKind.Field,
            "string<120>",
        )
        start = Position(spot.line, len("    set job."))
        assert first.text_edit == lsp.TextEdit(Range(start, cursor), "title")
        assert [item.sort_text for item in found.items] == sorted(str(item.sort_text) for item in found.items)
        line = Position(spot.line, 0)
        editor.edit(uri, 3, Range(line, Position(line.line + 1, 0)), "    \n")
        clauses = await editor.text_document_completion_async(
            lsp.CompletionParams(**at(uri, Position(line.line, 4)))
        )
        assert isinstance(clauses, lsp.CompletionList)
        emit = next(item for item in clauses.items if item.label == "emit")
        assert emit.insert_text_format == lsp.InsertTextFormat.Snippet and "${1:Event}" in str(emit.text_edit)
        assert emit.documentation is not None

    shared(work)


def test_a_client_without_forms_gets_words(tmp_path: Path) -> None:
    async def work(editor: Editor, folder: Path) -> None:
        editor.open("untitled:1", "contract X version 1 {\n  \n}")
        params = lsp.CompletionParams(**at("untitled:1", Position(1, 2)))
        found = await editor.text_document_completion_async(params)
        assert isinstance(found, lsp.CompletionList)
        entity = next(item for item in found.items if item.label == "entity")
        assert entity.text_edit == lsp.TextEdit(Range(Position(1, 2), Position(1, 2)), "entity")

    session(work, tmp_path, snippets=False)


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_document_is_laid_out(end: str, shared: Callable[[Work], None]) -> None:
    messy = SHOP.replace(
        "  enum JobState { Waiting, Printing, Done }", "enum   JobState {Waiting,Printing,Done,}"
    )
    messy = messy.replace("\n", end)

    async def work(editor: Editor, folder: Path) -> None:
        uri = (folder / "shop.riff").as_uri()
        editor.open(uri, messy)
        params = lsp.DocumentFormattingParams(lsp.TextDocumentIdentifier(uri), lsp.FormattingOptions(2, True))
        edits = await editor.text_document_formatting_async(params)
        assert edits is not None and len(edits) == 1
        changed = apply(messy, list(edits))
        formatted = format_contract(SHOP).text
        assert formatted is not None and changed == formatted.replace("\n", end)
        assert edits[0].range.start.line == 2, "what is alike is left alone"
        editor.replace(uri, 2, changed)
        assert not await editor.text_document_formatting_async(params)
        editor.replace(uri, 3, "contract {")
        assert await editor.text_document_formatting_async(params) is None, "a broken text stays as it is"

    shared(work)


def apply(text: str, edits: list[Any]) -> str:
    """The text after some edits, in UTF-16 positions."""
    lines = text.split("\n")
    starts = [
        sum(len(line.encode("utf-16-le")) // 2 + 1 for line in lines[:place]) for place in range(len(lines))
    ]
    units = text.encode("utf-16-le")
    for edit in sorted(edits, key=lambda each: each.range.start, reverse=True):
        start = 2 * (starts[edit.range.start.line] + edit.range.start.character)
        end = 2 * (starts[edit.range.end.line] + edit.range.end.character)
        units = units[:start] + edit.new_text.encode("utf-16-le") + units[end:]
    return units.decode("utf-16-le")


def test_a_name_is_changed_everywhere_or_not_at_all(shared: Callable[[Work], None]) -> None:
    async def work(editor: Editor, folder: Path) -> None:
        uri = (folder / "shop.riff").as_uri()
        editor.open(uri, SHOP)
        plain = SHOP.replace("🖨", "xx")
        spot = find(
            plain, "mutate Job(shop_id, job_id) as job else", inside=len("mutate Job(shop_id, job_id) as j")
        )
        prepared = await editor.text_document_prepare_rename_async(lsp.PrepareRenameParams(**at(uri, spot)))
        assert isinstance(prepared, lsp.PrepareRenamePlaceholder) and prepared.placeholder == "job"
        edit = await editor.text_document_rename_async(lsp.RenameParams(**at(uri, spot), new_name="work"))
        assert edit is not None and edit.changes is not None
        changed = apply(SHOP, list(edit.changes[uri]))
        editor.replace(uri, 2, changed)
        assert await editor.diagnostics(uri, 2) == [] and "work.state == JobState.Waiting" in changed
        own = find(plain, "input job_id", inside=7)
        for name, why in (
            ("1st", "begins with no digit"),
            ("shop_id", "C002"),
            ("set", "S004"),
            ("tx", "C002"),
        ):
            with pytest.raises(JsonRpcException, match=why):
                await editor.text_document_rename_async(lsp.RenameParams(**at(uri, own), new_name=name))
        word = await editor.text_document_prepare_rename_async(
            lsp.PrepareRenameParams(**at(uri, Position(1, 2)))
        )
        assert word is None

    shared(work)


def test_the_outline(shared: Callable[[Work], None]) -> None:
    async def work(editor: Editor, folder: Path) -> None:
        uri = (folder / "shop.riff").as_uri()
        editor.open(uri, SHOP + "\nentity Unfinished {")
        found = await editor.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(uri))
        )
        assert found is not None
        names = [each.name for each in found]
        assert names[:5] == ["JobState", "Job", "JobDone", "Jobs", "JobLife"]
        job = found[1]
        assert isinstance(job, lsp.DocumentSymbol) and job.kind == lsp.SymbolKind.Class
        assert [child.name for child in job.children or ()][:3] == ["shop_id", "job_id", "state"]
        assert job.range.start <= job.selection_range.start and job.selection_range.end <= job.range.end

    shared(work)


# What goes wrong.


def test_documents_that_are_not_ours_and_requests_about_nothing(shared: Callable[[Work], None]) -> None:
    async def work(editor: Editor, folder: Path) -> None:
        editor.open("file:///elsewhere/notes.md", "# Notes", "markdown")
        editor.edit("file:///elsewhere/never.riff", 2, Range(Position(0, 0), Position(0, 0)), "x")
        uri = "file:///elsewhere/notes.md"
        assert await editor.text_document_hover_async(lsp.HoverParams(**at(uri, Position(0, 1)))) is None
        assert (
            await editor.text_document_completion_async(lsp.CompletionParams(**at(uri, Position(0, 1))))
            is None
        )
        assert uri not in editor.findings

    shared(work)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ufeffcontract X version 0 {}",
        "\0" * 100,
        "{" * 50_000,
        "\ud800 contract",
        "x" * (1 << 20) + "y",
        "a\u2028b\x0c{",
    ],
    ids=["nothing", "mark", "NUL", "nesting", "surrogate", "too long", "separators"],
)
def test_any_text_has_findings(text: str, shared: Callable[[Work], None]) -> None:
    async def work(editor: Editor, folder: Path) -> None:
        uri = (folder / "any.riff").as_uri()
        editor.open(uri, text)
        found = await editor.diagnostics(uri, 1)
        assert found and all(str(each.code).startswith(("S", "C")) for each in found)
        if text.startswith("\ufeff"):
            assert found[0].range == Range(Position(0, 20), Position(0, 21)), "the mark counts for the client"
        for position in (Position(0, 0), Position(0, 7), Position(9, 9)):
            await editor.text_document_completion_async(lsp.CompletionParams(**at(uri, position)))
            await editor.text_document_hover_async(lsp.HoverParams(**at(uri, position)))

    shared(work)


def test_nothing_but_the_protocol_is_on_standard_output_and_a_lost_client_ends_it(tmp_path: Path) -> None:
    greeting = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"capabilities": {}, "processId": None},
    }
    body = json.dumps(greeting).encode()
    framed = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-m", "treadle.cli", "lsp"],
        input=framed, capture_output=True, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    header, _, answer = done.stdout.partition(b"\r\n\r\n")
    assert header.startswith(b"Content-Length: ") and json.loads(answer)["id"] == 1
    assert len(answer) == int(header.split(b"\r\n")[0].split(b": ")[1])
    assert done.returncode == 1, "the client went away without a word"
