"""`treadle clock`: what an operator says about the database's clock."""

from __future__ import annotations

from typing import Annotated

import typer

from treadle.cli import options, screen, session
from treadle.cli.verbs import examples, verb_app

app = verb_app("Confirm or reset the database's clock.", no_args_is_help=True)
OWNER = "owner"


@app.command(epilog=examples("treadle clock confirm --as operator"))
def confirm(
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say that the clock is right although it is far ahead of the last commit.

    After a long rest, or a clock that was wrong until now, commands are refused as clock_jumped. Look at
    the machine's clock first; then this lets them run again. It is recorded in the log.
    """
    with session.opened(session.settings(config, database, set_)) as opened:
        number = opened.confirm_clock(principal=principal or OWNER, role=role)
    if json:
        screen.out_json({"commit": number})
    else:
        screen.out(f"the clock is confirmed, commit {number}")


@app.command(epilog=examples("treadle clock reset --yes --as operator"))
def reset(
    yes: Annotated[bool, typer.Option("--yes", help="Yes, I have read what it does.")] = False,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Recover from a commit that was stamped far in the future.

    Time goes on from the clock's now. Leases that would be held until that far day lose owner and expiry;
    fencing tokens stay, so that whoever held one cannot write. The history incarnation rises: callers that
    rely on the old one are told so. It is recorded in the log.
    """
    if not yes:
        raise typer.BadParameter("this clears leases and begins a new history incarnation: add --yes")
    with session.opened(session.settings(config, database, set_)) as opened:
        number, leases = opened.reset_clock(principal=principal or OWNER, role=role)
    if json:
        screen.out_json({"commit": number, "leases_cleared": leases})
    else:
        screen.out(f"the clock is reset, commit {number}; {leases} leases were cleared")
