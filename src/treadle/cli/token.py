"""`treadle token`: credentials for callers over HTTP."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Final

import typer

import treadle
from treadle.access.tokens import Token
from treadle.cli import options, screen, session
from treadle.cli.jsontext import parse_json
from treadle.cli.verbs import examples, verb_app
from treadle.model.values import parse_word

app = verb_app("Give, list, rotate and end tokens.", no_args_is_help=True)
OWNER: Final = "owner"
LENGTH: Final = re.compile(r"([0-9]{1,9})(s|m|h|d)")
UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def length(text: str) -> timedelta:
    """A length of time such as 90d, 12h, 30m, 45s; raises `typer.BadParameter`."""
    found = LENGTH.fullmatch(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no length of time: write 90d, 12h, 30m or 45s")
    try:
        return timedelta(seconds=int(found[1]) * UNITS[found[2]])
    except OverflowError:
        raise typer.BadParameter(f"{text} is longer than a token can be valid") from None


@app.command(
    epilog=examples(
        "treadle token create printer-service --role worker",
        "treadle token create front-desk --role desk --valid 90d --as ann",
        "treadle token create agent --role worker --tenant SHOP_ID --fact region=north",
    )
)
def create(
    principal: Annotated[
        str, typer.Argument(metavar="SERVICE", help="The service that the token stands for.")
    ],
    token_role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="What its holder may do: a role of the database.")
    ],
    tenant: Annotated[
        str, typer.Option("--tenant", metavar="VALUE", help="The one partition that its holder may touch.")
    ] = "",
    facts: Annotated[
        list[str] | None,
        typer.Option(
            "--fact", metavar="NAME=VALUE", help="A fact of the principal for row policies; name:=JSON too."
        ),
    ] = None,
    valid: Annotated[
        str | None,
        typer.Option("--valid", metavar="LENGTH", help="How long, such as 90d or 12h; else until revoked."),
    ] = None,
    operator: options.Principal = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Make a token and print it, this once.

    It is printed alone on standard output, for a pipe. The database keeps only a digest of it, and the log
    tells who made it for whom.
    """
    with session.opened(session.settings(config, database, set_)) as opened:
        granted = opened.tokens.create(
            principal,
            role=token_role,
            tenant=tenant,
            facts=facts_of(opened, facts or []),
            valid_for=None if valid is None else length(valid),
            operator=operator or OWNER,
        )
    _print(granted, json)


@app.command("list", epilog=examples("treadle token list", "treadle token list --all --json"))
def list_(
    every: Annotated[bool, typer.Option("--all", help="Also those that have ended.")] = False,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show the tokens, oldest first. The tokens themselves cannot be shown."""
    with session.opened(session.settings(config, database, set_)) as opened:
        now = opened._engine.clock.now()
        found = [one for one in opened.tokens.list() if every or one.valid(now)]
    if json:
        for one in found:
            screen.out_json(one.to_json() | {"valid": one.valid(now)})
        return
    rows = [(one.id, one.principal, one.role, one.tenant or "-", _ending(one, now)) for one in found]
    screen.table([("id", "service", "role", "tenant", "valid"), *rows])


@app.command(epilog=examples("treadle token revoke 4f1c09ab77de --as ann"))
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, as `token list` shows it.")],
    operator: options.Principal = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """End a token at once; commands that wait in a queue with it are refused too."""
    with session.opened(session.settings(config, database, set_)) as opened:
        token = opened.tokens.revoke(id, operator=operator or OWNER)
    if json:
        screen.out_json(token.to_json())
    else:
        screen.out(f"token {token.id} of {screen.plain(token.principal)} is revoked")


@app.command(epilog=examples("treadle token rotate 4f1c09ab77de --overlap 1h"))
def rotate(
    id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, as `token list` shows it.")],
    overlap: Annotated[
        str, typer.Option("--overlap", metavar="LENGTH", help="How long the old token is still valid.")
    ] = "0s",
    valid: Annotated[
        str | None,
        typer.Option("--valid", metavar="LENGTH", help="How long the new one is; else as the old one was."),
    ] = None,
    operator: options.Principal = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Give a token a successor alike, and print it, this once; both are valid for the overlap."""
    with session.opened(session.settings(config, database, set_)) as opened:
        granted = opened.tokens.rotate(
            id,
            overlap=length(overlap),
            valid_for=None if valid is None else length(valid),
            operator=operator or OWNER,
        )
    _print(granted, json)


def facts_of(database: treadle.Database, words: Sequence[str]) -> dict[str, Any]:
    """Facts from words `name=value` and `name:=JSON`; raises `typer.BadParameter` for a word that is none."""
    found: dict[str, Any] = {}
    types = (
        {one.name: one.type for one in session.deployed(database).contract.principal_facts} if words else {}
    )
    for word in words:
        name, sign, text = word.partition("=")
        if not sign:
            raise typer.BadParameter(f"{word!r} is no fact: write name=value, or name:=JSON")
        if name.endswith(":"):
            found[name[:-1]] = parse_json(text, name[:-1])
        else:
            found[name] = parse_word(types[name], text) if name in types else text
    return found


def _print(granted: Any, json: bool) -> None:
    token: Token = granted.token
    if json:
        screen.out_json(token.to_json() | {"token": granted.text})
        return
    screen.note(
        f"token {token.id} of {screen.plain(token.principal)} in role {token.role}; it is shown this once:"
    )
    screen.out(granted.text)


def _ending(token: Token, now: int) -> str:
    shown = token.to_json()
    if token.revoked is not None:
        return f"revoked {shown['revoked']}"
    if token.expires is None:
        return "until revoked"
    return f"{'until' if token.valid(now) else 'ended'} {shown['expires']}"
