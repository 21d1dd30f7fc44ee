"""`treadle prune`: let go of what is old, each an act of its own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from treadle.cli import options, screen, session
from treadle.cli.progress import progress
from treadle.cli.verbs import examples, verb_app
from treadle.errors import ConfigError

if TYPE_CHECKING:
    from treadle.retention import Pruned

app = verb_app("Let go of old receipts and log records. Nothing is pruned by itself.", no_args_is_help=True)
OWNER = "owner"
MORE = ("more receipt becomes a stub", "more receipts become stubs")
RECEIPTS = ("receipt becomes a stub", "receipts become stubs")
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Say what would go, and change nothing.")]


@app.command(
    epilog=examples(
        "treadle prune receipts --older-than 90 --dry-run", "treadle prune receipts --before 120000"
    )
)
def receipts(
    older_than: Annotated[
        float | None, typer.Option("--older-than", metavar="DAYS", min=0, help="Of commands older than this.")
    ] = None,
    before: Annotated[
        int | None, typer.Option("--before", metavar="N", min=1, help="Of records before this number.")
    ] = None,
    dry_run: DryRun = False,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Make old receipts stubs, which refuse their keys as idempotency_key_expired.

    A stub keeps a command from executing twice; the answer itself is no longer given. Goes in steps, each
    recorded in the log; after an interruption the same call goes on.
    """
    if (older_than is None) == (before is None):
        raise typer.BadParameter("say --older-than DAYS or --before N")
    age = None if older_than is None else timedelta(days=older_than)
    with session.opened(session.settings(config, database, set_)) as opened, progress("prune") as shown:
        retention = opened.retention(principal=principal or OWNER, role=role)
        done = retention.receipts(older_than=age, before=before, dry_run=dry_run, progress=shown)
    _say(done, RECEIPTS, json=json, dry_run=dry_run)


@app.command(epilog=examples("treadle prune stubs --before 2026-01-31 --yes"))
def stubs(
    before: Annotated[
        datetime,
        typer.Option(
            "--before",
            metavar="DATE",
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"],
            help="Of commands committed before this day or time, in UTC.",
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Yes, I have read what it does.")] = False,
    dry_run: DryRun = False,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Drop the stubs of old receipts: the keys of those commands EXECUTE AGAIN when they are sent again.

    Only stubs go, never receipts. Be sure that nobody repeats a command from before that date any more.
    Goes in steps, each recorded in the log with the date.
    """
    if not yes and not dry_run:
        raise typer.BadParameter("keys from before that date will execute again: add --yes, or --dry-run")
    with session.opened(session.settings(config, database, set_)) as opened, progress("prune") as shown:
        retention = opened.retention(principal=principal or OWNER, role=role)
        done = retention.stubs(before=before.replace(tzinfo=UTC), dry_run=dry_run, progress=shown)
    _say(done, ("stub is dropped", "stubs are dropped"), json=json, dry_run=dry_run)


@app.command(
    epilog=examples("treadle prune log --through 120000 --dry-run", "treadle prune log --older-than 365")
)
def log(
    through: Annotated[
        int | None, typer.Option("--through", metavar="N", min=1, help="The last record that goes.")
    ] = None,
    older_than: Annotated[
        float | None, typer.Option("--older-than", metavar="DAYS", min=0, help="Records older than this go.")
    ] = None,
    dry_run: DryRun = False,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Drop the log's records up to N, or those older than DAYS, and keep the state that they led to.

    The history is verified up to there first; receipts up to there become stubs. From then on `treadle
    verify` begins with the state that was kept, and earlier records are not shown any more: keep a backup.
    Goes in steps; after an interruption the same call goes on. Then `treadle vacuum` makes the file smaller.
    """
    if (older_than is None) == (through is None):
        raise typer.BadParameter("say --through N or --older-than DAYS")
    age = None if older_than is None else timedelta(days=older_than)
    with session.opened(session.settings(config, database, set_)) as opened, progress("verify") as shown:
        retention = opened.retention(principal=principal or OWNER, role=role)
        done = retention.log(through=through, older_than=age, dry_run=dry_run, progress=shown)
    _say_bytes(done, json=json, dry_run=dry_run)
    _say(done, RECEIPTS, json=json, dry_run=dry_run)


@app.command(epilog=examples("treadle prune windows --dry-run", "treadle prune windows"))
def windows(
    dry_run: DryRun = False,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Let go of what is older than the windows under [retention] in treadle.toml.

    `receipts_days` makes older receipts stubs, `log_days` drops older records of the log, as far as no event
    that is still in its stream needs them. Made to be run by a timer, say every night.
    """
    wanted = session.settings(config, database, set_)
    days = [wanted[f"retention.{name}"] for name in ("receipts_days", "log_days")]
    if days == [None, None]:
        raise ConfigError(
            "no window is stated: set receipts_days or log_days under [retention] in treadle.toml"
        )
    ages = [None if one is None else timedelta(days=one) for one in days]
    with session.opened(wanted) as opened, progress("prune") as shown:
        retention = opened.retention(principal=principal or OWNER, role=role)
        done = retention.windows(receipts=ages[0], log=ages[1], dry_run=dry_run, progress=shown)
    if json:
        parts = {"receipts": done.receipts._asdict(), "log": done.log._asdict()}
        screen.out_json({"dry_run": dry_run, **parts, "held": done.held})
        return
    _say(done.receipts, RECEIPTS, json=False, dry_run=dry_run)
    if days[1] is not None:
        _say_bytes(done.log, json=False, dry_run=dry_run)
        _say(
            done.log,
            MORE,
            json=False,
            dry_run=dry_run,
        )
    if done.held:
        screen.out(f"{done.held}, so the log was not pruned to its window")


def _say_bytes(done: Pruned, *, json: bool, dry_run: bool) -> None:
    if not json and (dry_run or done.commits):
        screen.out(f"{done.bytes} bytes of records go, {done.state_bytes} bytes of their state stay")


def _say(done: Pruned, what: tuple[str, str], *, json: bool, dry_run: bool) -> None:
    if json:
        screen.out_json({"dry_run": dry_run, **done._asdict()})
        return
    line = f"{screen.counted(done.keys, *what)}, up to record {done.through}"
    if dry_run:
        screen.out(f"would prune: {line}; nothing was changed")
    elif not done.commits:
        screen.out("nothing to prune")
    else:
        screen.out(
            f"{line}; recorded as {screen.counted(len(done.commits), 'commit')} up to {done.commits[-1]}"
        )
