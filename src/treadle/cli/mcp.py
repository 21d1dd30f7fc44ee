"""`treadle mcp`: the Model Context Protocol on standard input and output."""

from __future__ import annotations

from typing import Any

import typer

from treadle.cli import options, screen, session
from treadle.cli.verbs import examples, verb_app
from treadle.errors import ConfigError
from treadle.registry import load

app = verb_app()


@app.command(
    epilog=examples(
        "treadle mcp --as assistant --role worker",
        "treadle mcp --as assistant --database-url sqlite:///shop.db",
    )
)
def mcp(
    principal: options.Principal = None,
    role: options.Role = None,
    instance: options.Instance = "",
    tenant: options.Tenant = "",
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    debug: options.Debug = False,
) -> None:
    """Offer commands and queries as tools, on standard input and output.

    A program that speaks the Model Context Protocol starts this one and talks to it; nothing else is written
    on standard output. There is a tool for each command and query that the role allows; without a role, for
    all of them. It ends when its input ends. A server offers the same at /mcp, to callers with a token.
    """
    try:
        stdio: Any = load("server.mcp_stdio")
    except ImportError as error:
        raise ConfigError(
            f"this needs more packages ({error.name} is missing): pip install 'treadle[mcp]'"
        ) from error
    if principal is None:
        raise typer.BadParameter("say who acts: --as assistant")
    wanted = session.settings(config, database, set_)
    with session.opened(wanted) as opened:
        acting = opened.acting_as(principal, role=role, instance=instance, tenant=tenant)
        screen.note(f"speaking the Model Context Protocol for {principal} on {session.place(wanted)}")
        stdio.serve(acting)
