"""`treadle format`: the one layout of contracts and named queries."""

from __future__ import annotations

import contextlib
import difflib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.findings import coloured_findings
from treadle.cli.sources import STDIN, Source, read_source
from treadle.cli.verbs import examples, verb_app
from treadle.config import Config
from treadle.registry import load

app = verb_app()

QUERIES: Final = ".riffq"
"""How the names of files with named queries end."""


class Laid(NamedTuple):
    """A source, the file to write, and its layout: `text` is None where it cannot be read."""

    source: Source
    path: Path | None
    text: str | None
    diagnostics: Any = ()
    findings: str = ""

    @property
    def changed(self) -> bool:
        return self.text is not None and self.text.encode() != self.source.data


@app.command(
    epilog=examples(
        "treadle format",
        "treadle format shop.riff queries/due.riffq",
        "treadle format --check",
        "treadle format --diff shop.riff",
        "treadle format - < shop.riff > tidy.riff",
    )
)
def format(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]…",
            help="Contracts and .riffq files, or - for standard input; else those of the settings.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 where a file is not in the layout.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Like --check, and show what would change.")] = False,
    queries: Annotated[
        bool, typer.Option("--queries", help="Standard input holds named queries, not a contract.")
    ] = False,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Lay contracts and queries out in the one layout.

    Comments are kept, and the contract stays the same: its identity does not change. Files are written in
    place, each whole or not at all; standard input goes to standard output. A text that cannot be read is
    left alone, and its findings are shown; then the exit code is 1.
    """
    wanted = session.settings(config, pairs=set_)
    laid = [_laid(source, path, queries) for source, path in _sources(files, wanted)]
    writes = not check and not diff
    for one in laid:
        if one.findings and not json:
            screen.note(coloured_findings(one.findings))
        if diff and not json:
            sys.stdout.writelines(_difference(one))
        elif writes and one.path is None and one.text is not None and not json:
            sys.stdout.write(one.text)
        elif writes and one.path is not None and one.changed:
            _replace(one.path, one.text or "")
    if json:
        screen.out_json({"files": [_json(one) for one in laid]})
    elif not diff:
        _tell(laid, writes=writes)
    failed = any(one.text is None or (one.changed and not writes) for one in laid)
    raise typer.Exit(exits.FAILED.code if failed else exits.SUCCESS.code)


def _sources(files: list[str] | None, wanted: Config) -> Iterator[tuple[Source, Path | None]]:
    """What is to be laid out, with the file to write; everything is read before anything is written."""
    if not files:
        source = read_source(None, wanted)
        yield source, wanted.contract_source
        files = [str(path) for path in wanted.query_files]
    for file in dict.fromkeys(files):
        yield read_source(file, wanted), None if file == STDIN else Path(file)


def _laid(source: Source, path: Path | None, queries: bool) -> Laid:
    if queries if path is None else path.suffix == QUERIES:
        text = load("riffql").format_queries(source.data, source.name)
        parse = load("riffql").parse
    else:
        text = load("riff").format_contract(source.data, source.name).text
        parse = load("riff").parse
    if text is not None:
        return Laid(source, path, text)
    parsed = parse(source.data, source.name)
    findings = load("riff").render(parsed.diagnostics, parsed.source)
    return Laid(source, path, None, parsed.diagnostics, findings)


def _difference(one: Laid) -> Iterator[str]:
    """The changes as a unified diff; text that is not UTF-8 was refused before."""
    if one.text is None:
        return
    before = one.source.data.decode("utf-8").splitlines(keepends=True)
    after = one.text.splitlines(keepends=True)
    for line in difflib.unified_diff(before, after, one.source.name, f"{one.source.name} (formatted)"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _replace(path: Path, text: str) -> None:
    """Put a new content in a file's place, whole or not at all; it keeps its mode, a link its target."""
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _tell(laid: Iterable[Laid], *, writes: bool) -> None:
    """Say what became of the files; a lone standard input needs no word."""
    named = [one for one in laid if one.path is not None and one.text is not None]
    for one in named:
        if one.changed:
            screen.note(f"{'formatted' if writes else 'would format'} {one.source.name}")
    same = sum(not one.changed for one in named)
    if same:
        screen.note(f"{screen.counted(same, 'file')} in the layout already")


def _json(one: Laid) -> dict[str, Any]:
    found = {"file": one.source.name, "changed": one.changed}
    if one.path is None and one.text is not None:
        return found | {"text": one.text}
    return found | (load("riff").to_json(one.diagnostics) if one.text is None else {})
