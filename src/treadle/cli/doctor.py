"""`treadle doctor`: what an operator should know."""

from __future__ import annotations

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.verbs import examples, verb_app

app = verb_app()
_COLOURS = {"error": "bad", "warning": "bad", "note": "good"}


@app.command(epilog=examples("treadle doctor", "treadle doctor --json"))
def doctor(
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say what an operator should know: clock, file, disk, tokens, principals, leases.

    Changes nothing. Exits 1 when one of the findings is an error. `treadle verify` checks the history
    itself.
    """
    with session.opened(session.settings(config, database, set_)) as opened:
        findings = opened.doctor()
    if json:
        screen.out_json({"findings": [finding._asdict() for finding in findings]})
    elif not findings:
        screen.out("nothing to report")
    for finding in findings if not json else ():
        level = screen.paint(finding.level, _COLOURS[finding.level])
        screen.out(f"{level} {finding.code}: {screen.plain(finding.what)}")
        screen.out(f"  {finding.remedy}")
    errors = any(finding.level == "error" for finding in findings)
    raise typer.Exit(exits.FAILED.code if errors else exits.SUCCESS.code)
