"""`treadle restore`: make a backup a new database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import treadle
from treadle.cli import options, screen
from treadle.cli.verbs import examples, verb_app

app = verb_app()


@app.command(
    epilog=examples(
        "treadle restore work-backup.db restored.db", "treadle restore b.db new.db --advance-fences 1000"
    )
)
def restore(
    backup: Annotated[Path, typer.Argument(help="A file that `treadle backup` made.")],
    target: Annotated[Path, typer.Argument(help="The new database's file.")],
    advance_fences: Annotated[
        int,
        typer.Option(
            "--advance-fences", min=0, metavar="N", help="Add N to the fence of every row with a lease."
        ),
    ] = 0,
    principal: options.Principal = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Make a backup a new database.

    Commits after the backup are not in it, so the new database begins a history incarnation of its own:
    cursors and expectations from before are refused as history_changed. Where an outside resource knows
    only the highest fencing token it has seen, --advance-fences puts the new tokens above those.
    """
    done = treadle.restore(backup, target, advance_fences=advance_fences, principal=principal or "owner")
    if json:
        screen.out_json(
            {
                "path": str(done.path),
                "commit": done.number,
                "history": done.history,
                "advanced": done.advanced,
            }
        )
        return
    screen.out(f"{done.path}: restored, commit {done.number}, history {done.history}")
    if advance_fences:
        screen.out(f"advanced the fences of {screen.counted(done.advanced, 'row')} by {advance_fences}")
