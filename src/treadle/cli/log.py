"""`treadle log`: what happened, who did it, when, with which outcome."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import treadle
from treadle.cli import options, screen, session
from treadle.cli.receipts import fields_of
from treadle.cli.verbs import examples, verb_app
from treadle.model.showing import plain_json
from treadle.text import nearest

if TYPE_CHECKING:
    from treadle.history import Entry

app = verb_app()


@app.command(
    epilog=examples(
        "treadle log",
        "treadle log --of Job SHOP_ID JOB_ID",
        "treadle log --command Claim --outcome Stale --json",
        "treadle log --kind refusal --by mallory",
        "treadle log --head > kept-elsewhere",
    )
)
def log(
    key: Annotated[list[str] | None, typer.Argument(metavar="KEY", help="With --of: the row's key.")] = None,
    of: Annotated[
        str | None, typer.Option("--of", metavar="ENTITY", help="Only what wrote one row, newest first.")
    ] = None,
    first: Annotated[int, typer.Option("--from", metavar="N", min=1, help="From this record on.")] = 1,
    last: Annotated[int | None, typer.Option("--to", metavar="N", min=1, help="Up to this record.")] = None,
    command: Annotated[
        list[str] | None, typer.Option("--command", metavar="NAME", help="Only this command.")
    ] = None,
    outcome: Annotated[
        list[str] | None, typer.Option("--outcome", metavar="NAME", help="Only this outcome.")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only this kind, such as command, update or refusal."),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option("--about", metavar="IRI", help="Only changes of statements about this subject."),
    ] = None,
    principal: Annotated[
        str | None, typer.Option("--by", metavar="PRINCIPAL", help="Only this principal.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="At most this many.")
    ] = None,
    head: Annotated[
        bool, typer.Option("--head", help="Print the log's head, N:HASH, to keep elsewhere.")
    ] = False,
    long: Annotated[bool, typer.Option("--long", "-l", help="Also inputs, fields and rows.")] = False,
    reveal: options.Reveal = False,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show what happened: who, when, which outcome.

    One line a record, oldest first; of one row, newest first. Secret fields, lease owners and fencing
    tokens are shown as ••• unless --reveal is given. With --json, one JSON object a line.
    """
    if bool(key) != (of is not None):
        raise typer.BadParameter("name a row by words: treadle log --of Job SHOP_ID JOB_ID")
    with session.opened(session.settings(config, database, set_)) as opened:
        if head:
            _print_head(opened, json)
            return
        begins = opened.retention().begins
        row = None if of is None else (of, session.key_of(opened, of, key or []))
        wanted = _Wanted(kind or (), command or (), outcome or (), principal, about)
        found = filter(wanted.fits, opened.log(first, last, of=row, unmasked=reveal))
        shown = False
        for entry in islice(found, limit):
            shown = True
            if json:
                screen.out_json(entry.to_json())
            else:
                _print(entry, long)
        if not shown:
            _doubt(opened, command or (), outcome or ())
    if first <= begins:
        screen.note(f"records up to {begins} were pruned from the log")


def _doubt(database: treadle.Database, commands: Sequence[str], outcomes: Sequence[str]) -> None:
    """Where nothing was found, name what the deployed contract does not have: it may be misspelt."""
    known = database._engine.refresh().deployed
    declared = known.contract.commands if known is not None else ()
    names = [one.name for one in declared]
    for name in commands:
        if name not in names:
            screen.note(f"the deployed contract has no command {name}{nearest(name, names)}")
    answers = {outcome.name for one in declared for outcome in one.outcomes}
    for name in outcomes:
        if name not in answers:
            screen.note(f"no command of the deployed contract answers {name}{nearest(name, answers)}")


class _Wanted(NamedTuple):
    """Which records are shown; an empty field asks for nothing."""

    kinds: Collection[str]
    names: Collection[str]
    outcomes: Collection[str]
    principal: str | None
    about: str | None

    def fits(self, entry: Entry) -> bool:
        asked = (
            (self.kinds, entry.kind),
            (self.names, entry.name),
            (self.outcomes, entry.outcome or entry.failure),
        )
        if self.principal not in (None, entry.principal) or any(
            said and got not in said for said, got in asked
        ):
            return False
        return self.about is None or (entry.graph is not None and entry.graph.about(self.about))


def _print_head(database: treadle.Database, json: bool) -> None:
    number, digest = database.head
    if json:
        screen.out_json({"number": number, "hash": digest})
    else:
        screen.out(f"{number}:{digest}")


def _print(entry: Entry, long: bool) -> None:
    role = f" ({entry.role})" if entry.role else ""
    who = entry.principal + role + (f" on {entry.instance}" if entry.instance else "")
    what = screen.plain(f"{entry.kind} {entry.name}".strip() if entry.kind != "command" else entry.name)
    moved = ", ".join(f"{binding} at revision {revision}" for binding, _, revision in entry.revisions)
    line = f"{entry.number:>6}  {entry.time:%Y-%m-%d %H:%M:%S}  {what}{_ending(entry)}  {screen.plain(who)}"
    screen.out(line + (f"  {moved}" if moved else ""))
    if long:
        for title, fields in (("input", entry.input), ("fields", entry.fields)):
            screen.indented([(f"{title}.{name}", text) for name, text in fields_of(plain_json(fields))], 10)
        graph = entry.graph
        for sign, lines in () if graph is None else (("-", graph.removed), ("+", graph.added)):
            screen.indented([(sign, line) for line in lines], 10)


def _ending(entry: Entry) -> str:
    if entry.kind == "deploy":
        return f" version {entry.contract_version}"
    if entry.kind == "update" and entry.graph is not None:
        return f" +{len(entry.graph.added)} -{len(entry.graph.removed)}"
    if entry.failure is not None:
        return " → " + screen.paint(entry.failure, "bad")
    if entry.outcome is None:
        return ""
    return " → " + screen.paint(entry.outcome, "good" if entry.success else "mild")
