"""`treadle graph enroll|disenroll|doctor|migrate|rollback|archive`: acts of an operator, on the spot."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from treadle import registry
from treadle.access.caller import Caller
from treadle.cli import options, screen, session
from treadle.cli.graph.common import indexed, told
from treadle.cli.verbs import examples
from treadle.config import Config
from treadle.errors import ConfigError, InvalidInput
from treadle.graph.doctor import Finding
from treadle.graph.migrate import Answers, Item, Migration
from treadle.graph.terms import IRI, Resource
from treadle.store import alone, open_store, split_url

Backup = Annotated[
    str | None, typer.Option("--backup", metavar="NAME", help="A name for the backup that is made first.")
]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command(epilog=examples("treadle graph doctor", "treadle graph doctor --json"))(told(doctor))
    app.command(
        epilog=examples(
            "treadle graph migrate --plan",
            "treadle graph migrate --plan --initial http://example.org/plans/release=Draft",
            "treadle graph migrate --apply --backup before-enrollment",
        )
    )(told(migrate))
    app.command(epilog=examples("treadle graph enroll"))(told(enroll))
    app.command(epilog=examples("treadle graph rollback before-enrollment"))(told(rollback))
    app.command(epilog=examples("treadle graph disenroll --as ann"))(told(disenroll))
    app.command(epilog=examples("treadle graph archive done-2026.nq --as ann"))(told(archive))


def doctor(
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> int:
    """Say what stands in the way of enrollment, and what is odd. Exit code 1 where something blocks."""
    with indexed(session.settings(config, database, set_)) as opened:
        findings = opened.graph.doctor()
        enabled = opened.graph.capabilities()["processing"] == "enabled"
    if json:
        screen.out_json({"enrolled": enabled, "findings": [_finding(one) for one in findings]})
    else:
        screen.out("enrolled: the guard is on" if enabled else "not enrolled")
        for one in findings:
            colour = "bad" if one.severity == "blocks" else "mild"
            about = "" if one.entity is None else f" {screen.plain(str(one.entity))}"
            screen.out(f"{screen.paint(one.severity, colour)} {one.code}{about}: {screen.plain(one.detail)}")
            screen.out(f"  {one.remedy}")
    return int(any(one.severity == "blocks" for one in findings))


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "severity": str(one.severity),
        "code": one.code,
        "graph": None if one.graph is None else str(one.graph),
        "entity": None if one.entity is None else str(one.entity),
        "detail": one.detail,
        "remedy": one.remedy,
    }


def migrate(
    plan: Annotated[bool, typer.Option("--plan", help="Say what would be written, and what blocks.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Make a backup, then write it.")] = False,
    backup: Backup = None,
    initial: Annotated[
        list[str] | None, typer.Option("--initial", metavar="PLAN=STATE", help="Where a plan starts.")
    ] = None,
    terminal: Annotated[
        list[str] | None, typer.Option("--terminal", metavar="PLAN=STATE", help="Where a plan may end.")
    ] = None,
    accept_unsigned: Annotated[
        list[str] | None,
        typer.Option(
            "--accept-unsigned", metavar="RUN", help="Accept a run's unsigned events; it is recorded."
        ),
    ] = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> int:
    """Bring data from before enrollment to what enrollment needs: plan first, then apply.

    Exit code 1 where the plan has lines that a person must solve first.
    """
    if plan == apply:
        raise typer.BadParameter("say either --plan or --apply")
    if apply and backup is None:
        raise typer.BadParameter("--apply makes a backup first: name it with --backup NAME")
    answers = Answers(
        initial={subject: states[0] for subject, states in _states(initial, "--initial").items()},
        terminal=_states(terminal, "--terminal"),
        unsigned=frozenset(_iri(run, "--accept-unsigned") for run in accept_unsigned or ()),
    )
    wanted = session.settings(config, database, set_)
    with indexed(wanted) as opened:
        found, tx, kept = opened.graph.plan_migration(answers), None, None
        if apply and not found.blocked:
            kept = registry.load("portability").backup_path(_file(wanted), backup or "")
            opened.backup(kept)
            found, done = opened.graph.migrate(answers, principal=principal, role=role)
            tx = done.tx
    _print_migration(found, tx, kept, json)
    return int(found.blocked)


def _print_migration(found: Migration, tx: int | None, backup: Path | None, json: bool) -> None:
    if json:
        body = {"blocked": found.blocked, "tx": tx, "items": [_item(item) for item in found.items]}
        screen.out_json(body | ({} if backup is None else {"backup": str(backup)}))
        return
    for item in found.items:
        colour = {"blocks": "bad", "warns": "mild"}.get(item.severity, "good")
        field = f" {item.field}" if item.field else ""
        what = screen.plain(f"{item.entity}{field}: {item.detail}")
        screen.out(f"{screen.paint(item.severity, colour)} {what}")
    if backup is not None:
        screen.out(f"backup: {backup}")
    if tx is not None:
        screen.out(f"commit {tx}: migrated")
    elif not found.items:
        screen.out("nothing to migrate")
    elif found.blocked:
        screen.out("nothing was written: lines that block need an answer or a repair")


def _item(item: Item) -> dict[str, Any]:
    return {
        "severity": str(item.severity),
        "graph": None if item.graph is None else str(item.graph),
        "entity": str(item.entity),
        "field": item.field,
        "detail": item.detail,
    }


def _states(given: Iterable[str] | None, flag: str) -> dict[IRI, list[str]]:
    """States by plan, from PLAN=STATE; a plan's IRI may hold =, so the last one parts them."""
    found: dict[IRI, list[str]] = {}
    for text in given or ():
        plan, equals, state = text.rpartition("=")
        if not equals or not state:
            raise ConfigError(f"{flag} {text}: write PLAN=STATE")
        found.setdefault(_iri(plan, flag), []).append(state)
    return found


def _iri(text: str, flag: str) -> IRI:
    try:
        return IRI(text)
    except ValueError as error:
        raise ConfigError(f"{flag} {text}: {error}") from error


def _file(wanted: Config) -> Path:
    """The database's file; raises `InvalidInput` for one that is none."""
    scheme, name = split_url(wanted.database_url)
    if scheme != "sqlite":
        raise InvalidInput(
            "named backups lie beside a database's file; this one has no file", path="database"
        )
    return Path(os.path.realpath(name))


def enroll(
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Switch workflow processing on, as enforce_workflows = true does when a process opens the database."""
    with indexed(session.settings(config, database, set_)) as opened:
        done = opened.graph.enroll(principal=principal, role=role)
    if json:
        screen.out_json({"commit": done.number or None, "enrollment": done.enrollment.to_fields()})
        return
    screen.out(f"commit {done.number}: enrolled" if done.number else "it was enrolled already")
    for one in done.warnings:
        screen.note(f"{one.code}: {screen.plain(one.detail)}; {one.remedy}")


def disenroll(
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Switch workflow processing and verification off; logged. There is no way over HTTP."""
    with indexed(session.settings(config, database, set_)) as opened:
        number = opened.graph.disenroll(principal=principal, role=role)
    if json:
        screen.out_json({"commit": number or None})
    else:
        screen.out(f"commit {number}: the guard is off" if number else "it was off already")


def rollback(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The backup's name.")],
    discard_advances: Annotated[
        bool, typer.Option("--discard-advances", help="Lose the signed advances that came after it.")
    ] = False,
    principal: options.Principal = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Put a named backup in the place of the database, which is kept beside it. Stop the server first."""
    wanted = session.settings(config, database, set_)
    done = registry.load("portability").rollback(
        _file(wanted),
        name,
        open_store,
        alone,
        registry.load("clock").SystemClock(),
        registry.load("ids").SystemIds(),
        discard_advances=discard_advances,
        caller=Caller(principal or "owner"),
    )
    if json:
        screen.out_json({**done._asdict(), "path": str(done.path), "kept": str(done.kept)})
    else:
        screen.out(f"{done.path}: rolled back to {name}, history {done.history}")
        screen.out(f"{done.kept}: what was there, with {screen.counted(done.commits, 'commit')} more")


def archive(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for what leaves, as N-Quads.")],
    run: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="IRI", help="This run; without it every finished one."),
    ] = None,
    plan: Annotated[
        list[str] | None, typer.Option("--plan", metavar="IRI", help="An abandoned plan, with its steps.")
    ] = None,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Write finished runs to a file and take them out of the graph; folded before, and logged.

    A record stays on each run's IRI, so that no run of it starts again.
    """
    runs: list[Resource] | None = None if run is None else [_iri(one, "--run") for one in run]
    plans = [_iri(one, "--plan") for one in plan or ()]
    with indexed(session.settings(config, database, set_)) as opened:
        planned, done = opened.graph.archive(target, runs, plans, principal=principal, role=role)
    if json:
        kept = [{"entity": str(entity), "why": why} for entity, _, why in planned.kept]
        counts = {"tx": done.tx, "runs": len(planned.runs), "plans": len(planned.plans)}
        screen.out_json({**counts, "statements": len(planned.delta.removed), "kept": kept})
        return
    screen.out(
        f"{target}: {screen.counted(len(planned.runs), 'run')}, {screen.counted(len(planned.plans), 'plan')}"
    )
    for entity, _, why in planned.kept:
        screen.out(f"  stays: {screen.plain(str(entity))}: {why}")
