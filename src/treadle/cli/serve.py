"""`treadle serve`: answer requests over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from treadle.cli import options, screen, server, session
from treadle.cli.verbs import examples, verb_app

app = verb_app()


@app.command(
    epilog=examples(
        "treadle serve",
        "treadle token create printer-service --role worker && treadle serve --bind 0.0.0.0:7480",
        "treadle serve --insecure-loopback",
    )
)
def serve(
    bind: Annotated[
        str | None,
        typer.Option(
            "--bind", metavar="HOST:PORT", help="Where to listen, instead of server.bind; port 0 takes any."
        ),
    ] = None,
    insecure_loopback: Annotated[
        bool,
        typer.Option(
            "--insecure-loopback",
            help="Take callers without a token as the owner. Only on this machine itself; everyone on it may "
            "then do everything.",
        ),
    ] = False,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    debug: options.Debug = False,
) -> None:
    """Answer requests over HTTP until a signal stops it.

    Every caller sends a token, which `treadle token create` makes. A server that others can reach does not
    start without one. The first signal (Ctrl-C, SIGTERM) lets requests end; the second stops at once, and
    what was acknowledged is there either way. The log goes to standard error, one JSON object a line.
    """
    library = server.library()
    wanted = session.settings(config, database, [*(set_ or []), *([f"server.bind={bind}"] if bind else [])])
    with session.opened(wanted) as opened:
        if not insecure_loopback and not server.has_tokens(opened):
            screen.note(
                "nobody has a valid token, so nobody can call: `treadle token create SERVICE --role ROLE` "
                "makes one; or serve this machine alone with --insecure-loopback"
            )
        library.serve(opened, server.options(wanted, open_owner=insecure_loopback), _started)


def _started(address: str) -> None:
    screen.note(f"serving at {address} (API: {address}/docs)")
