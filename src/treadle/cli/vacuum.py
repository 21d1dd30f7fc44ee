"""`treadle vacuum`: give the space of what was removed back to the system."""

from __future__ import annotations

from treadle.cli import options, screen, session
from treadle.cli.verbs import examples, verb_app

app = verb_app()
OWNER = "owner"


@app.command(epilog=examples("treadle vacuum", "treadle vacuum --timeout 60 --json"))
def vacuum(
    timeout: options.Timeout = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Make the file smaller after pruning.

    Writes the database anew without its free pages: it needs room for a second copy while it goes on, and
    is all or nothing. Writers wait, readers do not; the file shrinks when the snapshots that are open have
    ended.
    """
    with session.opened(session.settings(config, database, set_)) as opened:
        before, after = opened.retention(principal=principal or OWNER, role=role).vacuum(timeout)
    if json:
        screen.out_json({"before": before, "after": after})
    else:
        screen.out(f"{before} bytes before, {after} bytes now")
