"""`treadle simulate`: a contract under random clients, in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.progress import progress
from treadle.cli.sources import deployable
from treadle.cli.verbs import examples, verb_app
from treadle.registry import load

app = verb_app()

FEW = 12
"""Outcomes that nobody reached, shown on one line each up to so many."""


@app.command(
    epilog=examples(
        "treadle simulate",
        "treadle simulate shop.riff --steps 20000",
        "treadle simulate shop.riff --seed 7 --json",
    )
)
def simulate(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]", help="The contract, or - for standard input (else contract.source)."
        ),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", min=1, help="How many requests are sent.")] = 2_000,
    seed: Annotated[int, typer.Option("--seed", help="Another seed sends other requests.")] = 0,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> int:
    """Send a contract random requests, and say what it reached.

    Requests name rows that exist and what these hold, mostly; some are stale, wrong, or come twice. The clock
    moves between them. The report counts outcomes, states and events, names what was never reached, and says
    where a law of rows, workflows and leases was broken: then the exit code is 1. Roles and row policies are
    not simulated. It happens in memory; no database is opened.
    """
    source = deployable(file, session.settings(config, pairs=set_))
    with progress("requests") as shown:
        report = load("simulation").simulate(source, steps=steps, seed=seed, progress=shown)
    if json:
        screen.out_json(report.to_json())
    else:
        _show(report)
    return exits.SUCCESS.code if report.ok else exits.FAILED.code


def _show(report: Any) -> None:
    requests = screen.counted(report.steps, "request")
    screen.out(f"{requests}, {report.replays} of them repeated; {_span(report.seconds)} of simulated time")
    for name, counts in report.outcomes.items():
        failures = report.failures[name]
        screen.out(screen.strong(name))
        screen.indented(_rows(counts | failures))
    for name, counts in report.entered.items():
        screen.out(screen.strong(f"workflow {name}"))
        now = report.states[name]
        screen.indented(
            [(state, f"entered {count} times, {now[state]} rows now") for state, count in counts.items()]
        )
    if any(report.events.values()):
        screen.out(screen.strong("events"))
        screen.indented(_rows(report.events))
    _unreached(report.unreached)
    for one in report.broken:
        screen.out(f"broken: {one}")
    screen.out(
        "no law was broken" if report.ok else f"repeat it with --seed {report.seed} --steps {report.steps}"
    )


def _rows(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    return [(name, str(count)) for name, count in counts.items() if count]


def _unreached(names: list[str]) -> None:
    if names:
        screen.out(screen.strong("never reached"))
        for name in names[:FEW]:
            screen.out(f"  {name}")
        if len(names) > FEW:
            screen.out(f"  and {len(names) - FEW} more; --json lists them all")


def _span(seconds: float) -> str:
    days, rest = divmod(int(seconds), 86_400)
    return f"{screen.counted(days, 'day')}, {rest // 3_600} hours" if days else f"{rest // 60} minutes"
