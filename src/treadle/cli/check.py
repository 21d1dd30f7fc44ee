"""`treadle check`: compile a contract and named queries, and say what is wrong with them."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final, NamedTuple

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.findings import coloured_findings
from treadle.cli.sources import Source, read_source, shown
from treadle.cli.verbs import examples, verb_app
from treadle.config import Config
from treadle.registry import load

app = verb_app()

QUERIES: Final = ".riffq"
"""How the names of files with named queries end."""


@app.command(
    epilog=examples(
        "treadle check",
        "treadle check shop.riff",
        "treadle check queries/due.riffq",
        "treadle check --json shop.riff",
        "cat shop.riff | treadle check -",
    )
)
def check(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A contract, queries (.riffq), or - for standard input; else those of the settings.",
        ),
    ] = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say what is wrong with a contract or its queries, and where.

    Without a FILE it is contract.source, and the files that contract.queries names. A .riffq file is checked
    against contract.source. Prints every finding with its place, the source line and help, at most 32 of a
    file. Exits 1 when one of them is an error, 0 when there are none or only warnings. With --json and more
    than one file, each finding names its file.
    """
    checked = _checked(file, session.settings(config, pairs=set_))
    if json:
        screen.out_json({"diagnostics": _json(checked)})
    else:
        for one in checked:
            findings = one.compiled.diagnostics
            screen.out(coloured_findings(one.compiled.render(), sys.stdout) if findings else one.fine)
    failed = any(one.failed for one in checked)
    raise typer.Exit(exits.FAILED.code if failed else exits.SUCCESS.code)


class Checked(NamedTuple):
    """A file with what compiling it gave, and what is said of it where nothing is wrong."""

    name: str
    compiled: Any
    failed: bool
    fine: str


def _checked(file: str | None, wanted: Config) -> list[Checked]:
    """What is asked for; queries only after the contract that they are of can be read."""
    if file is not None and file.endswith(QUERIES):
        contract = _contract(read_source(None, wanted))
        if contract.failed:
            return [contract]
        return [_queries(read_source(file, wanted), contract.compiled.contract)]
    first = _contract(read_source(file, wanted))
    if file is not None or first.failed:
        return [first]
    files = [read_source(shown(path), wanted) for path in wanted.query_files]
    return [first, *(_queries(source, first.compiled.contract) for source in files)]


def _contract(source: Source) -> Checked:
    compiled: Any = load("riff").compile_contract(source.data, source.name)
    contract = compiled.contract
    fine = "" if contract is None else f"{source.name}: {_summary(contract)}"
    return Checked(source.name, compiled, contract is None, fine)


def _queries(source: Source, contract: Any) -> Checked:
    compiled: Any = load("riffql").compile_queries(source.data, contract, source.name)
    queries = compiled.queries
    count = screen.counted(len(queries or ()), "query", "queries")
    fine = f"{source.name}: {count} of contract {contract.name}, fine"
    return Checked(source.name, compiled, queries is None, fine)


def _json(checked: list[Checked]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for one in checked:
        listed = load("riff").to_json(one.compiled.diagnostics)["diagnostics"]
        found += listed if len(checked) == 1 else [each | {"file": one.name} for each in listed]
    return found


def _summary(contract: Any) -> str:
    parts = (
        screen.counted(len(contract.entities), "entity", "entities"),
        screen.counted(len(contract.workflows), "workflow"),
        screen.counted(len(contract.commands), "command"),
    )
    return f"contract {contract.name} version {contract.version} is fine ({', '.join(parts)})"
