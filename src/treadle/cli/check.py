"""`treadle check`: compile a contract and say what is wrong with it."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.findings import coloured_findings
from treadle.cli.sources import read_source
from treadle.cli.verbs import examples, verb_app
from treadle.registry import load

app = verb_app()


@app.command(
    epilog=examples(
        "treadle check",
        "treadle check shop.riff",
        "treadle check --json shop.riff",
        "cat shop.riff | treadle check -",
    )
)
def check(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="The contract, or - for standard input; else contract.source."),
    ] = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say what is wrong with a contract, and where.

    Prints every finding with its place, the source line and help, at most 32 at once. Exits 1 when one of
    them is an error, 0 when there are none or only warnings.
    """
    source = read_source(file, session.settings(config, pairs=set_))
    compiled: Any = load("riff").compile_contract(source.data, source.name)
    failed = compiled.contract is None
    if json:
        screen.out_json(load("riff").to_json(compiled.diagnostics))
    elif compiled.diagnostics:
        screen.out(coloured_findings(compiled.render(), sys.stdout))
    else:
        screen.out(f"{source.name}: {_summary(compiled.contract)}")
    raise typer.Exit(exits.FAILED.code if failed else exits.SUCCESS.code)


def _summary(contract: Any) -> str:
    parts = (
        screen.counted(len(contract.entities), "entity", "entities"),
        screen.counted(len(contract.workflows), "workflow"),
        screen.counted(len(contract.commands), "command"),
    )
    return f"contract {contract.name} version {contract.version} is fine ({', '.join(parts)})"
