"""The table of verbs. A verb's module is imported when the verb is used, so that `--help` stays quick."""

from __future__ import annotations

from importlib import import_module
from itertools import groupby
from keyword import iskeyword
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

from treadle.text import nearest


class Verb(NamedTuple):
    """A verb: its module has a Typer `app`, with one function or, for a group of verbs, several."""

    name: str
    section: str
    summary: str

    @property
    def module(self) -> str:
        name = self.name.replace("-", "_")
        return f"treadle.cli.{name}_" if iskeyword(name) else f"treadle.cli.{name}"


CONTRACT: Final = "Write a contract"
DATABASE: Final = "Use a database"
SERVER: Final = "Serve it"
SETUP: Final = "Look after it"

VERBS: Final = (
    Verb("new", CONTRACT, "Start a project: a contract, settings, a worker, a test."),
    Verb("check", CONTRACT, "Say what is wrong with a contract or its queries, and where."),
    Verb("format", CONTRACT, "Lay contracts and queries out in the one layout."),
    Verb("explain", CONTRACT, "Say in words what a command does."),
    Verb("diagram", CONTRACT, "Draw a workflow: its states, its steps, its lease."),
    Verb("simulate", CONTRACT, "Send a contract random requests, and say what it reached."),
    Verb("lsp", CONTRACT, "Speak the Language Server Protocol over standard input and output."),
    Verb("schema", CONTRACT, "Print the JSON Schema of every command's input and outcomes."),
    Verb("generate", CONTRACT, "Write a typed client, in Python or TypeScript."),
    Verb("deploy", DATABASE, "Put a contract, its queries and roles into force."),
    Verb("run", DATABASE, "Run a command, or many."),
    Verb("query", DATABASE, "Ask a named query."),
    Verb("row", DATABASE, "Show one row and its revision."),
    Verb("why", DATABASE, "Say what stands in a row's way."),
    Verb("log", DATABASE, "Show what happened: who, when, which outcome."),
    Verb("graph", DATABASE, "The RDF graph, and signed workflows in it."),
    Verb("stream", DATABASE, "Follow events; look after consumers and dead letters."),
    Verb("worker", DATABASE, "Run workers and schedules until a signal stops them."),
    Verb("serve", SERVER, "Answer requests over HTTP."),
    Verb("dev", SERVER, "Serve a project while you write it."),
    Verb("token", SERVER, "Give, list, rotate and end tokens."),
    Verb("mcp", SERVER, "Offer commands and queries as tools, on standard input and output."),
    Verb("verify", SETUP, "Check the whole history against itself."),
    Verb("doctor", SETUP, "Say what an operator should know."),
    Verb("backup", SETUP, "Copy the database while it is in use."),
    Verb("restore", SETUP, "Make a backup a new database."),
    Verb("export", SETUP, "Write all rows and events of one snapshot as JSON Lines."),
    Verb("import", SETUP, "Bring an export's rows into a database."),
    Verb("clock", SETUP, "Confirm or reset the database's clock."),
    Verb("prune", SETUP, "Let go of old receipts and log records."),
    Verb("vacuum", SETUP, "Make the file smaller after pruning."),
    Verb("config", SETUP, "Show the settings, and where each comes from."),
)
"""Every verb, in the order of `treadle --help`."""

_BY_NAME: Final = {verb.name: verb for verb in VERBS}


class Verbs(TyperGroup):
    """The root command: knows its verbs by the table alone, and loads the one that is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_BY_NAME)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        verb = _BY_NAME.get(cmd_name)
        if verb is None:
            return None
        command: Any = get_command(import_module(verb.module).app)
        command.name = verb.name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in _BY_NAME and not args[0].startswith("-"):
            ctx.fail(f"there is no verb {args[0]!r}{nearest(args[0], _BY_NAME)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for section, verbs in groupby(VERBS, key=lambda verb: verb.section):
            with formatter.section(section):
                formatter.write_dl([(verb.name, verb.summary) for verb in verbs])


def verb_app(summary: str = "", **settings: Any) -> typer.Typer:
    """The Typer application of one verb's module."""
    return typer.Typer(
        help=summary,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )


def examples(*lines: str) -> str:
    """The examples at the end of a verb's help; `\\b` keeps them as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
