"""`treadle generate`: typed clients of a contract."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.findings import coloured_findings
from treadle.cli.sources import compiled
from treadle.cli.verbs import examples, verb_app
from treadle.config import Config
from treadle.errors import UnknownName
from treadle.registry import load
from treadle.text import nearest

app = verb_app()


class Language(StrEnum):
    """What clients are written in."""

    PYTHON = "python"
    TYPESCRIPT = "typescript"


@app.command(
    epilog=examples(
        "treadle generate python -o app/work_client.py",
        "treadle generate typescript -o web/src/work_client.ts --role worker",
        "treadle generate python shop.riff --queries due.riffq -o shop_client.py",
        "treadle generate python --url http://127.0.0.1:7480 -o work_client.py",
        "treadle generate python -o app/work_client.py --check",
    )
)
def generate(
    language: Annotated[Language, typer.Argument(metavar="LANGUAGE", help="python or typescript.")],
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="The contract, or - for standard input; else contract.source."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PATH", help="The file to write; else standard output."),
    ] = None,
    queries: Annotated[
        list[Path] | None,
        typer.Option(
            "--queries", metavar="FILE", help="Named queries; else contract.queries. May be repeated."
        ),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option("--role", metavar="ROLE", help="Only what this role of treadle.toml allows."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="URL",
            help="Ask a server instead, with the token in TREADLE_TOKEN: what that token allows.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 where the file is not up to date.")
    ] = False,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    debug: options.Debug = False,
) -> None:
    """Write a typed client, in Python or TypeScript.

    It is one module, the same bytes for the same contract. It has the enums, the rows, every command with
    its input and each of its outcomes, the events, and the named queries. A Python client runs on an open
    database or over HTTP, and checks with mypy and pyright; a TypeScript one speaks HTTP and needs no
    package. Both name the contract that they were written for, and are refused once another one is deployed.
    """
    if url is not None:
        found = _asked(url)
    else:
        found = _read(file, queries, role, session.settings(config, pairs=set_))
    text = load("bindings").LANGUAGES[language.value](found)
    if output is None or str(output) == "-":
        screen.out(text.rstrip("\n"))
        return
    current = output.read_text(encoding="utf-8") if output.is_file() else None
    if current == text:
        screen.note(f"{output} is up to date")
    elif check:
        screen.note(f"{output} is not what the contract gives; generate it again")
        raise typer.Exit(exits.FAILED.code)
    else:
        _write(output, text)
        screen.note(f"wrote {output}")


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _asked(url: str) -> Any:
    """The interface that a server gives to the token in the environment."""
    with load("client").connect(url, token=session.token()) as remote:
        return remote.interface()


def _read(file: str | None, queries: list[Path] | None, role: str | None, wanted: Config) -> Any:
    """The interface of a contract and its queries, or of what a role of the settings allows."""
    contract = compiled(file, wanted)
    files = list(queries) if queries is not None else list(wanted.query_files) if file is None else []
    asked = [query for path in files for query in _queries(path, contract)]
    interface_of = load("client.interface").interface_of
    if role is None:
        return interface_of(contract, asked)
    known = {one.name: one for one in wanted.roles or ()}
    if role not in known:
        raise UnknownName(f"treadle.toml has no role {role}{nearest(role, known)}")
    mine = known[role]
    return interface_of(contract, asked, commands=mine.commands, named=mine.queries, events=mine.streams)


def _queries(path: Path, contract: Any) -> Any:
    made = load("riffql").compile_queries(path.read_bytes(), contract, str(path))
    if made.queries is None:
        screen.note(coloured_findings(made.render()))
        raise typer.Exit(exits.FAILED.code)
    return made.queries
