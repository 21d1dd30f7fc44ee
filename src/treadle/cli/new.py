"""`treadle new`: start a project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treadle import scaffold
from treadle.cli import options, screen
from treadle.cli.sources import shown
from treadle.cli.verbs import examples, verb_app

app = verb_app()


@app.command(epilog=examples("treadle new shop", "cd shop && treadle check && treadle deploy"))
def new(
    folder: Annotated[
        Path, typer.Argument(metavar="NAME", help="The new folder; its last part names the project.")
    ],
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Start a project: a contract, settings, a worker, a test.

    Writes a folder with a contract that already runs, a named query, treadle.toml with its roles, a worker,
    and a test of what they promise. A folder that exists is left alone.
    """
    written = scaffold.create(folder)
    if json:
        screen.out_json({"files": [str(path) for path in written]})
        return
    for path in written:
        screen.out(f"wrote {screen.plain(shown(path))}")
    screen.out(f"next: cd {screen.plain(str(folder))} && treadle check && treadle deploy")
