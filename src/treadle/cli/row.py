"""`treadle row`: one row, by its key."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import treadle
from treadle.cli import exits, options, screen, session
from treadle.cli.receipts import fields_of
from treadle.cli.verbs import examples, verb_app
from treadle.model.showing import plain_json
from treadle.registry import load
from treadle.rows import StoredRow

app = verb_app()


def complete_entity(incomplete: str) -> list[str]:
    """The deployed entities, for the shell."""
    return [name for name in session.names("entities") if name.startswith(incomplete)]


@app.command(epilog=examples("treadle row Job SHOP_ID JOB_ID", "treadle row Job SHOP_ID JOB_ID --json"))
def row(
    entity: Annotated[
        str,
        typer.Argument(metavar="ENTITY", help="An entity of the contract.", autocompletion=complete_entity),
    ],
    key: Annotated[list[str], typer.Argument(metavar="KEY", help="The key's values, in declared order.")],
    reveal: options.Reveal = False,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show one row and its revision.

    Secret fields, lease owners and fencing tokens are shown as ••• unless --reveal is given. Exits 1
    where there is no such row.
    """
    with session.opened(session.settings(config, database, set_)) as opened:
        found = opened.row(entity, session.key_of(opened, entity, key))
        shown = None if found is None else _shown(opened, found, reveal)
    if json:
        screen.out_json(shown)
    elif shown is None:
        screen.out(f"there is no such {screen.plain(entity)}")
    else:
        screen.out(
            f"{screen.strong(shown['entity'])} at revision {shown['revision']}, commit {shown['commit']}"
        )
        screen.indented(fields_of(shown["fields"]))
    raise typer.Exit(exits.FAILED.code if shown is None else exits.SUCCESS.code)


def _shown(database: treadle.Database, found: StoredRow, reveal: bool) -> dict[str, Any]:
    fields = found.fields
    if not reveal:
        history = load("history")
        fields = history.masked(fields, history.hidden_names(session.deployed(database).contract))
    return {
        "entity": found.entity,
        "revision": found.revision,
        "commit": found.commit,
        "fields": plain_json(fields),
    }
