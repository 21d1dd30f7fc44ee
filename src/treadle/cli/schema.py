"""`treadle schema`: what a contract takes and answers, as JSON Schema."""

from __future__ import annotations

import json as text
from typing import Annotated, Any

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.findings import coloured_findings
from treadle.cli.sources import compiled, named
from treadle.cli.verbs import examples, verb_app
from treadle.config import Config
from treadle.registry import load

app = verb_app()


@app.command(
    epilog=examples(
        "treadle schema > shop.schema.json",
        "treadle schema Claim",
        "treadle schema shop.riff Claim",
    )
)
def schema(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE] [COMMAND]",
            help="The contract (else contract.source), and a command or query of it.",
        ),
    ] = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    debug: options.Debug = False,
) -> None:
    """Print the JSON Schema of every command's input and outcomes.

    Without a COMMAND it is one document for the whole contract, with the queries of contract.queries where
    no FILE is named; the parts are found by name, such as #/$defs/command.Claim.input. With one it is an
    object with its input, each of its outcomes and the whole receipt, each a schema by itself; for a query
    its parameters and its page.
    """
    wanted = session.settings(config, pairs=set_)
    file, name = named(words or [], "a command")
    contract = compiled(file, wanted)
    queries = _queries(contract, wanted) if file is None else []
    schemas = load("json_schema")
    chosen = [query for query in queries if query.name == name]
    if name is None:
        document = schemas.contract_document(contract, queries)
    elif chosen:
        document = schemas.query_document(contract, chosen[0])
    else:
        document = schemas.command_document(contract, name)
    screen.out(text.dumps(document, indent=2, ensure_ascii=False))


def _queries(contract: Any, wanted: Config) -> list[Any]:
    found: list[Any] = []
    for path in wanted.query_files:
        made = load("riffql").compile_queries(path.read_bytes(), contract, str(path))
        if made.queries is None:
            screen.note(coloured_findings(made.render()))
            raise typer.Exit(exits.FAILED.code)
        found += made.queries
    return found
