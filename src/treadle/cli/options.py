"""Options that verbs share, so that each is spelled and explained in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Database: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--database-url", "-d", metavar="URL", help="The database, instead of database.url in treadle.toml."
    ),
]
ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="The settings file, instead of the nearest treadle.toml upward."
    ),
]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any setting for this call; may be repeated."),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Debug: TypeAlias = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Principal: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="PRINCIPAL",
        help="The service that acts, such as printer-service. It is part of the idempotency identity.",
    ),
]
Url: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", help="A server, with the token in TREADLE_TOKEN; else the database."
    ),
]
Role: TypeAlias = Annotated[
    str | None,
    typer.Option("--role", metavar="ROLE", help="Act in this role; without one, as the file's owner."),
]
Instance: TypeAlias = Annotated[
    str,
    typer.Option(
        "--instance", metavar="NAME", help="Which process acts, such as host-7/4242; recorded only."
    ),
]
Tenant: TypeAlias = Annotated[
    str, typer.Option("--tenant", metavar="VALUE", help="The tenant that the caller is bound to.")
]
Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--timeout", metavar="SECONDS", min=0, help="Give up waiting for other writers after this long."
    ),
]
Reveal: TypeAlias = Annotated[
    bool, typer.Option("--reveal", help="Show secret fields, lease owners and fencing tokens as they are.")
]
