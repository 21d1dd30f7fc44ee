"""What the verbs of `treadle graph` share: where the graph is, who acts, and how an error ends."""

from __future__ import annotations

import functools
import json as json_text
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeAlias

import typer

from treadle.cli import options, screen, session
from treadle.cli.progress import progress
from treadle.config import Config
from treadle.database import Database
from treadle.errors import ConfigError, TreadleError
from treadle.graph.client import Indeterminate, Transport, WorkflowClient, exit_code
from treadle.graph.client.embedded import DocumentTransport, EmbeddedTransport
from treadle.graph.load import FORMATS
from treadle.graph.vocabulary import BASE_NS

P = ParamSpec("P")

Url: TypeAlias = options.Url
GraphName: TypeAlias = Annotated[
    str | None, typer.Option("--graph", metavar="IRI", help="The named graph; without it the default graph.")
]
Agent: TypeAlias = Annotated[
    str | None, typer.Option("--agent", metavar="IRI", help="The agent that signs, such as urn:agent:alice.")
]
KeyFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The agent's private key, see `treadle graph keys`."),
]
Trust: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--trust", metavar="NAME=KEY", help="Trust this public key of an agent instead of what is registered."
    ),
]
Document: TypeAlias = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Read an exported document instead: no server, no database."),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help=f"{', '.join(FORMATS)}; else what the file's name says."),
]
ENDINGS = {
    ".ttl": "turtle", ".nt": "ntriples", ".nq": "nquads", ".trig": "trig", ".rdf": "rdfxml", ".xml": "rdfxml",
    ".jsonld": "jsonld", ".json": "jsonld",
}  # fmt: skip


def told(verb: Callable[P, Any]) -> Callable[P, Any]:
    """A verb whose errors end in the exit codes of the workflow client (docs/howto/enroll.md)."""

    @functools.wraps(verb)
    def run(*arguments: P.args, **given: P.kwargs) -> Any:
        try:
            return verb(*arguments, **given)
        except TreadleError as error:
            return _failed(error, bool(given.get("json")), bool(given.get("debug")))

    return run


def _failed(error: TreadleError, json: bool, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    pending = error.pending if isinstance(error, Indeterminate) else None
    if json:
        body = screen.error_json(error)
        screen.out_json(body | ({} if pending is None else {"pending": json_text.loads(pending.to_json())}))
    else:
        screen.note(screen.error_text(error))
        if pending is not None:
            screen.note("keep the next line, and give it to `treadle graph resolve`; sign no second advance")
            screen.out(pending.to_json())
    return exit_code(error)


def format_of(path: Path | None, named: str | None) -> str:
    """A document's format: as it is said, or by the file's ending; raises `ConfigError`."""
    found = named or ENDINGS.get(path.suffix.lower() if path is not None else "")
    if found not in FORMATS:
        raise ConfigError(f"say which format it is: --format {', '.join(FORMATS)}")
    return found


def text_of(given: str) -> str:
    """An argument: the text itself, `@FILE`, or `-` for standard input."""
    if given == "-":
        return sys.stdin.buffer.read().decode("utf-8-sig")
    return Path(given[1:]).read_text(encoding="utf-8-sig") if given.startswith("@") else given


def base_ns(wanted: Config) -> str:
    """The namespace of the vocabulary."""
    found: str = wanted["graph.base_ns"] or BASE_NS
    return found


def keys_of(trust: list[str] | None) -> dict[str, list[str]] | None:
    """Public keys by agent name, from `NAME=KEY`; None where none is given."""
    if not trust:
        return None
    found: dict[str, list[str]] = {}
    for item in trust:
        name, equals, key = item.partition("=")
        if not equals or not name:
            raise ConfigError(f"--trust {item}: write NAME=KEY, such as alice=1f3a…")
        found.setdefault(name, []).append(key)
    return found


@contextmanager
def indexed(wanted: Config, *, create: bool = False) -> Iterator[Database]:
    """The database with the index of its graph, which takes seconds to build where the graph is large."""
    with session.opened(wanted, create=create) as database:
        with ExitStack() as stack:
            bar: list[Callable[[int, int], None] | None] = []

            def shown(done: int, whole: int) -> None:
                if done < whole and not bar:
                    bar.append(stack.enter_context(progress("statements")))
                for tell in filter(None, bar):
                    tell(done, whole)

            database.graph.ready(shown)
        yield database


@contextmanager
def reached(
    wanted: Config,
    url: str | None,
    *,
    principal: str | None = None,
    role: str | None = None,
    file: Path | None = None,
    format: str | None = None,
) -> Iterator[str | Transport]:
    """What a workflow client is made for: a server, a document, or the database of the settings."""
    if url is not None:
        yield url
    elif file is not None:
        yield DocumentTransport(file.read_bytes(), format_of(file, format))
    else:
        with indexed(wanted) as database:
            yield EmbeddedTransport(database.acting_as(principal or "owner", role=role).graph)


@contextmanager
def client(
    wanted: Config,
    where: str | Transport,
    graph: str | None,
    agent: str | None = None,
    key: Path | None = None,
) -> Iterator[WorkflowClient]:
    """A workflow client, closed at the end."""
    made = WorkflowClient(
        where, agent=agent, key=key, graph=graph, token=session.token(), base_ns=base_ns(wanted)
    )
    try:
        yield made
    finally:
        made.close()
