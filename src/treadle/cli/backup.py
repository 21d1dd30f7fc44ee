"""`treadle backup`: copy the database while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treadle.cli import options, screen, session
from treadle.cli.progress import progress
from treadle.cli.verbs import examples, verb_app

app = verb_app()


@app.command(epilog=examples("treadle backup work-backup.db", "treadle backup backups/ --keep 7"))
def backup(
    target: Annotated[Path, typer.Argument(help="A new file, or a folder with --keep.")],
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep", min=1, metavar="N", help="TARGET is a folder; leave the newest N backups in it."
        ),
    ] = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Copy the database while it is in use.

    The copy is one snapshot. It is opened and checked before it appears under its name, and nothing is ever
    overwritten. With --keep each backup gets a name of its own in the folder, and older ones that were made
    this way are removed: the form for a timer.
    """
    with session.opened(session.settings(config, database, set_)) as opened, progress("backup") as shown:
        if keep is None:
            made, removed = opened.backup(target, progress=shown), list[Path]()
        else:
            made, removed = opened.backup_into(target, keep=keep, progress=shown)
    if json:
        screen.out_json(
            {
                "path": str(made.path),
                "head": {"number": made.number, "hash": made.hash},
                "bytes": made.bytes,
                "removed": [str(path) for path in removed],
            }
        )
        return
    screen.out(f"{made.path}: {made.bytes} bytes, checked")
    screen.out(f"head {made.number}:{made.hash}")
    for path in removed:
        screen.out(f"removed {path}")
