"""`treadle graph define|start|advance|resolve|status|history|verify`: signed workflows, as a client."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from treadle.cli import options, screen, session
from treadle.cli.graph.common import (
    Agent,
    Document,
    Format,
    GraphName,
    KeyFile,
    Trust,
    Url,
    client,
    keys_of,
    reached,
    told,
)
from treadle.cli.verbs import examples
from treadle.errors import ConfigError, DiskFull
from treadle.graph.client import Advanced, Applied, Edge, Pending
from treadle.graph.client.results import RunView

EDGE: Final = re.compile(r"(?P<name>\S+):\s+(?P<start>\S.*?)\s+->\s+(?P<end>\S.*)")
Run = Annotated[str, typer.Argument(metavar="RUN", help="The run's IRI.")]
Expected = Annotated[
    str | None,
    typer.Option("--expected-revision", metavar="N", help="Refuse when the run is at another revision."),
]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command(
        epilog=examples(
            "treadle graph define http://example.org/plans/release --label Release --initial Draft "
            "--terminal Released --step 'submit: Draft -> Review' --step 'approve: Review -> Released'"
        )
    )(told(define))
    app.command(
        epilog=examples("treadle graph start http://example.org/runs/42 http://example.org/plans/release")
    )(told(start))
    app.command(
        epilog=examples(
            "treadle graph advance http://example.org/runs/42 submit --agent urn:agent:alice --key alice.pem",
            "treadle graph advance RUN submit --agent urn:agent:alice --key alice.pem --keep pending.json",
        )
    )(told(advance))
    app.command(epilog=examples("treadle graph resolve pending.json --url http://127.0.0.1:7480"))(
        told(resolve)
    )
    app.command(epilog=examples("treadle graph status http://example.org/runs/42"))(told(status))
    app.command(epilog=examples("treadle graph history http://example.org/runs/42 --json"))(told(history))
    app.command(
        epilog=examples(
            "treadle graph verify http://example.org/runs/42",
            "treadle graph verify RUN --file export.ttl --trust alice=PUBLIC-KEY",
        )
    )(told(verify))


def define(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The plan's IRI.")],
    label: Annotated[str, typer.Option("--label", metavar="TEXT", help="What people call it.")],
    initial: Annotated[str, typer.Option("--initial", metavar="STATE", help="Where runs start.")],
    terminal: Annotated[list[str], typer.Option("--terminal", metavar="STATE", help="Where runs end.")],
    step: Annotated[
        list[str],
        typer.Option("--step", metavar="'NAME: FROM -> TO'", help="A step; NAME may be an IRI of its own."),
    ],
    graph: GraphName = None,
    url: Url = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Define a plan; once it is committed it does not change. Doing it again exactly is no error."""
    wanted = session.settings(config, database, set_)
    edges = [_edge(plan, text) for text in step]
    with reached(wanted, url, principal=principal, role=role) as where, client(wanted, where, graph) as found:
        done = found.define(plan, label=label, initial=initial, terminal=terminal, steps=edges)
    _applied(done, "defined", plan, json)


def _edge(plan: str, text: str) -> Edge:
    match = EDGE.fullmatch(text)
    if match is None:
        raise ConfigError(f"--step {text!r}: write 'NAME: FROM -> TO'")
    name = match["name"]
    return Edge(name if ":" in name else f"{plan.rstrip('/')}/{name}", match["start"], match["end"])


def start(
    run: Run,
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The plan's IRI.")],
    graph: GraphName = None,
    url: Url = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Start a run of a plan, at its initial state and revision 0. Doing it again is no error."""
    wanted = session.settings(config, database, set_)
    with reached(wanted, url, principal=principal, role=role) as where, client(wanted, where, graph) as found:
        done = found.start(run, plan)
    _applied(done, "started", run, json)


def _applied(done: Applied, what: str, which: str, json: bool) -> None:
    if json:
        screen.out_json({"tx": done.tx, "asserted": done.asserted, "retracted": done.retracted})
    else:
        screen.out(f"{which}: {what}" if done.tx is not None else f"{which}: was {what} already")


def advance(
    run: Run,
    step: Annotated[str, typer.Argument(metavar="STEP", help="The step's name, or its IRI.")],
    agent: Agent = None,
    key: KeyFile = None,
    expected: Expected = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FILE", help="Write the signed advance here before it is sent."),
    ] = None,
    graph: GraphName = None,
    url: Url = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Take a step: sign it for the revision that was read, and send it.

    Exit codes: 0 done · 2 refused · 4 another advance came first · 7 not reached, nothing happened · 8 sent,
    and nothing could be learned since: give what is printed to `treadle graph resolve`.
    """
    wanted = session.settings(config, database, set_)
    with (
        reached(wanted, url, principal=principal, role=role) as where,
        client(wanted, where, graph, agent, key) as found,
    ):
        kept = None if keep is None else lambda pending: _write(keep, pending)
        done = found.advance(run, step, expected_revision=expected, keep=kept)
    _advanced(done, json)


def _write(path: Path, pending: Pending) -> None:
    try:
        path.write_text(pending.to_json() + "\n", encoding="utf-8")
    except OSError as error:
        raise DiskFull(f"{path} cannot be written: {error.strerror}; nothing was sent") from error


def resolve(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A signed advance that was kept, or -.")],
    url: Url = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Learn what became of a signed advance, and send the same bytes again if it is not there."""
    text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    pending = Pending.from_json(text)
    wanted = session.settings(config, database, set_)
    with (
        reached(wanted, url, principal=principal, role=role) as where,
        client(wanted, where, pending.graph) as found,
    ):
        done = found.resolve(pending)
    _advanced(done, json)


def _advanced(done: Advanced, json: bool) -> None:
    if json:
        screen.out_json(done._asdict())
    else:
        again = " (it had landed before)" if done.resolved else ""
        screen.out(f"{done.run}: {done.from_state} -> {done.to_state}, revision {done.revision}{again}")


def status(
    run: Run,
    graph: GraphName = None,
    url: Url = None,
    file: Document = None,
    format: Format = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show where a run is, and the steps that may be taken now."""
    wanted = session.settings(config, database, set_)
    with reached(wanted, url, file=file, format=format) as where, client(wanted, where, graph) as found:
        view = found.status(run)
    if json:
        screen.out_json(_view(view))
        return
    screen.out(
        f"{view.run}: {view.state}, revision {view.revision}" + (", finished" if view.finished else "")
    )
    screen.out(f"  plan {view.plan.iri}")
    for step in view.legal:
        screen.out(f"  may: {screen.plain(view.named(step))} -> {screen.plain(step.to_state)}")


def _view(view: RunView) -> dict[str, Any]:
    legal = [
        {"step": step.iri.value, "name": step.name, "label": view.labels.get(step.iri), "to": step.to_state}
        for step in view.legal
    ]
    return {
        "run": view.run.value,
        "plan": view.plan.iri.value,
        "state": view.state,
        "revision": view.revision,
        "finished": view.finished,
        "legal": legal,
    }


def history(
    run: Run,
    trust: Trust = None,
    graph: GraphName = None,
    url: Url = None,
    file: Document = None,
    format: Format = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show a run's events in order, each with what verification says of it."""
    wanted = session.settings(config, database, set_)
    with reached(wanted, url, file=file, format=format) as where, client(wanted, where, graph) as found:
        lines = found.history(run, keys=keys_of(trust))
    if json:
        screen.out_json(
            {
                "run": run,
                "events": [
                    {
                        "event": str(line.event.iri),
                        "step": line.event.step.value,
                        "from": line.event.from_state,
                        "to": line.event.to_state,
                        "at": line.event.at,
                        "by": line.event.performer.value,
                        "from_revision": line.event.from_revision,
                        "problem": line.problem,
                    }
                    for line in lines
                ],
            }
        )
        return
    for number, line in enumerate(lines, start=1):
        event, verdict = line.event, line.problem
        shown = screen.paint("signed", "good") if verdict is None else screen.paint(verdict, "bad")
        move = screen.plain(f"{event.from_state} -> {event.to_state}")
        screen.out(
            f"{number:>5}  {move}  {screen.plain(event.at)}  {screen.plain(event.performer.value)}  {shown}"
        )


def verify(
    run: Run,
    trust: Trust = None,
    graph: GraphName = None,
    url: Url = None,
    file: Document = None,
    format: Format = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Replay a run's events through its plan, and check every signature. Exit code 1 when it does not hold.

    With --file and --trust it needs an exported document and a public key, and nothing else.
    """
    wanted = session.settings(config, database, set_)
    with reached(wanted, url, file=file, format=format) as where, client(wanted, where, graph) as found:
        folded = found.verify(run, keys=keys_of(trust))
    if json:
        screen.out_json(
            {
                "run": run,
                "ok": True,
                "state": folded.state,
                "revision": folded.revision,
                "events": len(folded.events),
            }
        )
    else:
        signed = screen.counted(len(folded.events), "signed event")
        screen.out(f"{run}: holds, {signed} to {folded.state} at revision {folded.revision}")
