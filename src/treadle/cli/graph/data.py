"""`treadle graph load|query|update|export`: statements in and out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from treadle.cli import options, screen, session
from treadle.cli.graph.common import Format, GraphName, format_of, indexed, text_of, told
from treadle.cli.progress import progress
from treadle.cli.verbs import examples
from treadle.errors import InvalidInput
from treadle.graph.live.changes import Changed
from treadle.graph.query import Rows, Triples

Base = Annotated[
    str | None, typer.Option("--base", metavar="IRI", help="What relative IRIs are resolved against.")
]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command(
        epilog=examples(
            "treadle graph load plan.ttl --as ann",
            "treadle graph load registration.ttl --graph http://example.org/identity --as admin",
            "curl -s URL | treadle graph load - --format turtle --as ann",
        )
    )(told(load))
    app.command(
        epilog=examples(
            "treadle graph query 'SELECT * { ?s ?p ?o } LIMIT 10'",
            "treadle graph query @report.rq --form csv",
        )
    )(told(query))
    app.command(
        epilog=examples(
            "treadle graph update 'DELETE WHERE { <urn:a> ?p ?o }' --as ann",
            "treadle graph update @u.ru --as ann",
        )
    )(told(update))
    app.command(
        epilog=examples(
            "treadle graph export > graph.nq", "treadle graph export --graph urn:g --format turtle"
        )
    )(told(export))


def load(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A document, or - for standard input.")],
    graph: GraphName = None,
    format: Format = None,
    base: Base = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of what the graph holds.")
    ] = False,
    history: Annotated[
        bool,
        typer.Option(
            "--history", help="Bring whole signed runs, folded instead of advanced; needs `restore`."
        ),
    ] = False,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Add a document's statements to the graph; one transaction, judged by the guard.

    Creates the database when it is missing.
    """
    path = None if file == "-" else Path(file)
    data = sys.stdin.buffer.read() if path is None else path.read_bytes()
    chosen = format_of(path, format)
    wanted = session.settings(config, database, set_)
    with indexed(wanted, create=True) as opened, progress("statements") as shown:
        if history:
            if replace:
                raise InvalidInput("history is added, never put in the place of anything", path="--replace")
            done = opened.graph.bring_history(
                data, chosen, graph, base, principal=principal or "owner", role=role
            )
        else:
            done = opened.graph.load(
                data,
                chosen,
                graph,
                base,
                replace=replace,
                principal=principal,
                role=role,
                timeout=3_600.0,
                progress=None if shown is None else lambda count: shown(count, 0),
            )
    _print(done, json)


def update(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="SPARQL 1.1 Update, @FILE, or -.")],
    base: Base = None,
    principal: options.Principal = None,
    role: options.Role = None,
    timeout: options.Timeout = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Run a SPARQL update; one transaction, judged by the guard."""
    wanted = session.settings(config, database, set_)
    with indexed(wanted, create=True) as opened:
        done = opened.graph.update(text_of(text), base, principal=principal, role=role, timeout=timeout)
    _print(done, json)


def _print(done: Changed, json: bool) -> None:
    if json:
        screen.out_json(done.to_json())
    elif done.tx is None:
        screen.out("nothing changed")
    else:
        screen.out(
            f"commit {done.tx}: {screen.counted(done.asserted, 'statement')} added, {done.retracted} removed"
        )


def query(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="SPARQL 1.1 Query, @FILE, or -.")],
    base: Base = None,
    form: Annotated[
        str | None,
        typer.Option("--form", metavar="NAME", help="json, turtle or ntriples; else a table, or Turtle."),
    ] = None,
    union: Annotated[bool, typer.Option("--union", help="Ask the union of all graphs.")] = False,
    principal: options.Principal = None,
    role: options.Role = None,
    timeout: options.Timeout = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Ask a SPARQL query."""
    over = ("urn:x-treadle:union",) if union else ()
    with indexed(session.settings(config, database, set_)) as opened:
        found = opened.graph.query(
            text_of(text), base=base, default_graphs=over, principal=principal, role=role, timeout=timeout
        )
    if isinstance(found, Rows):
        if json or form == "json":
            screen.out(found.to_json())
        else:
            cells = (
                [screen.plain("" if term is None else term.n3()) for term in row] for row in found.tuples()
            )
            screen.table([[f"?{name}" for name in found.variables], *cells] if found.variables else [])
    elif isinstance(found, Triples):
        screen.out(found.serialize("ntriples" if json else form or "turtle").rstrip("\n"))
    elif json:
        screen.out_json({"head": {}, "boolean": found})
    else:
        screen.out("yes" if found else "no")


def export(
    format: Format = None,
    graph: GraphName = None,
    target: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="A file to write.")
    ] = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Write the whole dataset as N-Quads or TriG, or one graph; the state of one moment."""
    chosen = format_of(target, format) if format or target else ("nquads" if graph is None else "turtle")
    with indexed(session.settings(config, database, set_)) as opened:
        text = opened.graph.export(chosen, graph, principal=principal, role=role, timeout=3_600.0)
    if target is not None:
        target.write_text(text, encoding="utf-8")
        screen.note(f"{target}: written")
    else:
        sys.stdout.write(text)
