"""`treadle explain`: the plan of a command in words, or what a finding's code means."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any

import typer

from treadle.cli import options, screen, session
from treadle.cli.sources import compiled
from treadle.cli.verbs import examples, verb_app
from treadle.registry import load

app = verb_app()


@app.command(
    epilog=examples("treadle explain Claim", "treadle explain shop.riff Claim", "treadle explain C035")
)
def explain(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[FILE] COMMAND",
            help="The contract (else contract.source), and a command of it; or the code of a finding.",
        ),
    ],
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say in words what a command does.

    What it reads, what it locks, what it checks in which order and answers then, what it writes, and what
    it may answer at all. It is made from the plan that runs. Of a code of `treadle check` it shows the
    page: what the code means, a contract that is refused for it, and the same put right.
    """
    if len(words) > 2:
        raise typer.BadParameter("name a command, or a contract's file and a command")
    page = load("riff.pages").page(words[0]) if len(words) == 1 else None
    if page is not None:
        _show_page(words[0], page.read_text(encoding="utf-8"), json=json)
        return
    file, name = (None, words[0]) if len(words) == 1 else (words[0], words[1])
    contract = compiled(file, session.settings(config, pairs=set_))
    lines = load("explain").explain(load("plan").build(contract), name)
    if json:
        screen.out_json({"command": name, "lines": [line._asdict() for line in lines]})
    else:
        _show(lines)


def _show_page(code: str, text: str, *, json: bool) -> None:
    if json:
        screen.out_json({"code": code, "page": text})
    else:
        screen.out(text.rstrip("\n"))


def _show(lines: Any) -> None:
    for section, members in groupby(lines, key=lambda line: line.section):
        if section != "command":
            screen.out(screen.strong(section))
        for line in members:
            screen.out("  " * (line.depth + (section != "command")) + screen.plain(line.text))
