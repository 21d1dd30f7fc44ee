"""`treadle run`: run a command, or many."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import treadle
from treadle.cli import exits, options, screen, session
from treadle.cli.lines import run_lines
from treadle.cli.receipts import print_receipt
from treadle.cli.values import input_of, with_key
from treadle.cli.verbs import examples, verb_app
from treadle.errors import OutcomeUnknown

app = verb_app()


def complete_command(incomplete: str) -> list[str]:
    """The deployed commands, for the shell; none where there is no database."""
    return [name for name in session.names("commands") if name.startswith(incomplete)]


@app.command(
    epilog=examples(
        "treadle run Claim shop_id=… job_id=… seconds=60 --as printer-service --key auto",
        "treadle run AddJob --input @job.json title='Menu, two sides' --as desk --key desk-2031",
        'treadle run AddJobs \'job_ids:=["…", "…"]\' --as desk --key auto',
        "treadle run AddJob --lines --as desk --key auto < jobs.jsonl",
    )
)
def run(
    command: Annotated[
        str | None,
        typer.Argument(
            metavar="COMMAND", help="A command of the deployed contract.", autocompletion=complete_command
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="Inputs: name=value, or name:=JSON for anything else."),
    ] = None,
    given: Annotated[
        str | None,
        typer.Option("--input", metavar="@FILE|-", help="A JSON object with inputs; words are put over it."),
    ] = None,
    principal: options.Principal = None,
    role: options.Role = None,
    instance: options.Instance = "",
    tenant: options.Tenant = "",
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="KEY|auto", help="The idempotency key; auto makes a fresh one, printed."
        ),
    ] = None,
    lines: Annotated[
        bool,
        typer.Option("--lines", help="Run every line of JSON in --input (standard input without it)."),
    ] = False,
    timeout: options.Timeout = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Run a command, or many, and print the receipt.

    Values are written as in JSON, but bare: a uuid, a number, a text. The answer is durable when it is
    printed. Repeating a call with the same key gives the same answer and executes nothing.

    With --lines each line is an object of inputs; without a COMMAND it is {"command": …, "input": {…}}.
    Answers come in order, one JSON object a line, and each line succeeds or fails for itself.
    """
    if principal is None:
        raise typer.BadParameter("say who acts: --as printer-service")
    with session.opened(session.settings(config, database, set_)) as opened:
        acting = opened.acting_as(principal, role=role, instance=instance, tenant=tenant)
        if lines:
            code = run_lines(acting, session.deployed(opened), command, given, words or [], key, timeout)
        elif command is None:
            raise typer.BadParameter("name a command, or use --lines")
        else:
            code = _one(acting, session.command(opened, command), given, words or [], key, timeout, json)
    raise typer.Exit(code.code)


def _one(
    acting: treadle.Acting,
    command: Any,
    given: str | None,
    words: list[str],
    key: str | None,
    timeout: float | None,
    json: bool,
) -> exits.Exit:
    values = input_of(command, given, words)
    fresh = with_key(command, values, key)
    if fresh is not None and not json:
        screen.note(f"key {fresh}")  # before the call: whoever is interrupted can repeat it
    try:
        receipt = acting.run(command.name, values, timeout=timeout)
    except OutcomeUnknown as error:
        if fresh is not None:
            error.details["key"] = fresh
        raise
    if json:
        screen.out_json(receipt.to_json() | ({} if fresh is None else {"key": fresh}))
    else:
        print_receipt(receipt)
    return exits.SUCCESS if receipt.ok else exits.OTHER_OUTCOME
