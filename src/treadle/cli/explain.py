"""`treadle explain`: the plan of a command in words."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.findings import coloured_findings
from treadle.cli.sources import read_source
from treadle.cli.verbs import examples, verb_app
from treadle.registry import load

app = verb_app()


@app.command(epilog=examples("treadle explain Claim", "treadle explain shop.riff Claim"))
def explain(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[FILE] COMMAND", help="The contract (else contract.source), and a command of it."
        ),
    ],
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say in words what a command does.

    What it reads, what it locks, what it checks in which order and answers then, what it writes, and what
    it may answer at all. It is made from the plan that runs.
    """
    if len(words) > 2:
        raise typer.BadParameter("name a command, or a contract's file and a command")
    file, name = (None, words[0]) if len(words) == 1 else (words[0], words[1])
    source = read_source(file, session.settings(config, pairs=set_))
    compiled: Any = load("riff").compile_contract(source.data, source.name)
    if compiled.contract is None:
        screen.note(coloured_findings(compiled.render()))
        raise typer.Exit(exits.FAILED.code)
    lines = load("explain").explain(load("plan").build(compiled.contract), name)
    if json:
        screen.out_json({"command": name, "lines": [line._asdict() for line in lines]})
        return
    for section, members in groupby(lines, key=lambda line: line.section):
        if section != "command":
            screen.out(screen.strong(section))
        for line in members:
            screen.out("  " * (line.depth + (section != "command")) + screen.plain(line.text))
