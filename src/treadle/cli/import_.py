"""`treadle import`: bring an export's rows into a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.progress import progress
from treadle.cli.verbs import examples, verb_app

if TYPE_CHECKING:
    from treadle.portability import ImportPlan

app = verb_app()


@app.command(
    epilog=examples(
        "treadle import work-export --campaign move-2026 --dry-run",
        "treadle import work-export --campaign move-2026",
    )
)
def import_(
    folder: Annotated[Path, typer.Argument(help="The folder of an export.")],
    campaign: Annotated[
        str, typer.Option("--campaign", metavar="NAME", help="A name of your choice; the same one goes on.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check the archive and list what cannot go in.")
    ] = False,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Bring an export's rows into a database, through its contract's reimport commands.

    The archive is checked first, and nothing is written unless everything in it can be. State, leases and
    fences stay as they were; revisions go on above the exported ones. After an interruption, run the same
    import again: what is in already is not done twice.
    """
    who = principal or "owner"
    with session.opened(session.settings(config, database, set_)) as opened, progress("import") as shown:
        if dry_run:
            _show_plan(opened.plan_import(folder, campaign, principal=who, role=role), json)
        else:
            done = opened.import_archive(folder, campaign, principal=who, role=role, progress=shown)
            if json:
                screen.out_json({"rows": done.rows, "already": done.already, "commit": done.commit})
            else:
                screen.out(f"imported {screen.counted(done.rows, 'row')}; {done.already} were in already")


def _show_plan(plan: ImportPlan, json: bool) -> None:
    if json:
        screen.out_json({"rows": plan.rows, "already": plan.already, "problems": list(plan.problems)})
    else:
        for entity, count in plan.rows.items():
            screen.out(f"{screen.counted(count, 'row')} of {entity}")
        for problem in plan.problems:
            screen.out(f"cannot go in: {screen.plain(problem)}")
    raise typer.Exit(exits.FAILED.code if plan.problems else exits.SUCCESS.code)
