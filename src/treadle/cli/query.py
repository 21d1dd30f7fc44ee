"""`treadle query`: a page of a named query, or all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

import treadle
from treadle.cli import exits, options, screen, session
from treadle.cli.receipts import fields_of
from treadle.cli.values import input_of
from treadle.cli.verbs import examples, verb_app

app = verb_app()


def complete_query(incomplete: str) -> list[str]:
    """The deployed queries, for the shell; none where there is no database."""
    return [name for name in session.query_names() if name.startswith(incomplete)]


@app.command(
    epilog=examples(
        "treadle query WaitingJobs shop=…",
        "treadle query WaitingJobs shop=… --all --json",
        "treadle query WaitingJobs shop=… --after CURSOR --at-least 17",
    )
)
def query(
    name: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="A deployed named query.", autocompletion=complete_query),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="Parameters: name=value, or name:=JSON for anything else."),
    ] = None,
    given: Annotated[
        str | None,
        typer.Option("--input", metavar="@FILE|-", help="A JSON object with parameters; words go over it."),
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="CURSOR", help="Go on after this page's cursor.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All pages; with --json, one a line.")] = False,
    at_least: Annotated[
        int | None,
        typer.Option("--at-least", metavar="N", min=0, help="See at least commit N; it is waited for."),
    ] = None,
    principal: options.Principal = None,
    role: options.Role = None,
    tenant: options.Tenant = "",
    timeout: options.Timeout = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Ask a named query and print its page.

    A page comes from one snapshot. Where there are more rows, it ends with the cursor to go on after.
    Exits 3 for another declared outcome than the query's success.
    """
    with session.opened(session.settings(config, database, set_)) as opened:
        acting = opened.acting_as(principal or "owner", role=role, tenant=tenant)
        asked = opened._engine.refresh().queries.get(name)
        parameters = input_of(asked, given, words or [])
        code = exits.SUCCESS
        for page in _pages(acting, name, parameters, after, at_least, timeout, all_=all_):
            if json:
                screen.out_json(page.to_json())
            else:
                _print(page, more=not all_)
            code = exits.SUCCESS if page.ok else exits.OTHER_OUTCOME
    raise typer.Exit(code.code)


def _pages(
    acting: treadle.Acting,
    name: str,
    parameters: dict[str, Any],
    after: str | None,
    at_least: int | None,
    timeout: float | None,
    *,
    all_: bool,
) -> Iterator[treadle.Page]:
    """One page, or one after another, none older than the one before."""
    while True:
        page = acting.query(name, parameters, after=after, at_least=at_least, timeout=timeout)
        yield page
        if not all_ or page.next is None:
            return
        after, at_least = page.next, page.commit


def _print(page: treadle.Page, *, more: bool) -> None:
    """The outcome, single fields, then each list as a table."""
    outcome = screen.strong(screen.paint(page.outcome, "good" if page.ok else "mild"))
    screen.out(f"{outcome}  as of commit {page.commit}")
    fields = page.to_json()["fields"]
    lists = {name: value for name, value in fields.items() if _is_table(value)}
    screen.indented(fields_of({name: value for name, value in fields.items() if name not in lists}))
    for name, records in lists.items():
        screen.out(f"{name}: {screen.counted(len(records), 'row')}")
        if records:
            lines = [dict(fields_of(record)) for record in records]
            columns = list(dict.fromkeys(column for line in lines for column in line))
            screen.table([columns, *([line.get(column, "") for column in columns] for line in lines)])
    if page.next is not None and more:
        screen.out(f"more: --after {page.next}")


def _is_table(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)
