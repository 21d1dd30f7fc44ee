"""`treadle export`: write all rows and events as text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treadle.cli import options, screen, session
from treadle.cli.progress import progress
from treadle.cli.verbs import examples, verb_app

app = verb_app()


@app.command(epilog=examples("treadle export work-export"))
def export(
    target: Annotated[Path, typer.Argument(help="A new folder.")],
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Write all rows and events of one snapshot as JSON Lines.

    A manifest names and hashes each file, so that a changed archive is noticed. The folder holds
    everything, secrets and lease evidence too; it is readable by you alone.
    """
    with session.opened(session.settings(config, database, set_)) as opened, progress("export") as shown:
        made = opened.export(target, principal=principal or "owner", role=role, progress=shown)
    if json:
        screen.out_json({"path": str(made.path), "rows": made.rows, "events": made.events, "head": made.head})
    else:
        counts = f"{screen.counted(made.rows, 'row')}, {screen.counted(made.events, 'event')}"
        screen.out(f"{made.path}: {counts}, as of commit {made.head}")
