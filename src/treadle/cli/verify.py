"""`treadle verify`: check the whole history against itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.progress import progress
from treadle.cli.verbs import examples, verb_app

if TYPE_CHECKING:
    from treadle.verify import Report

app = verb_app()

HEAD: Final = re.compile(r"([1-9][0-9]{0,18}):([0-9a-fA-F]{64})")


@app.command(
    epilog=examples(
        "treadle verify", 'treadle verify --head "$(cat kept-elsewhere)"', "treadle verify --json"
    )
)
def verify(
    head: Annotated[
        str | None,
        typer.Option(
            "--head",
            metavar="N:HASH",
            help="A head kept elsewhere (treadle log --head) that the log must contain.",
        ),
    ] = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Check the whole history against itself.

    Walks the chain of hashes, evaluates every command again as it was evaluated then, and compares
    outcomes, fields and rows. Names the first record that does not agree and exits 1. Alone it shows that
    history is consistent; with --head also that it is the one you knew.
    """
    kept = None if head is None else _head(head)
    with session.opened(session.settings(config, database, set_)) as opened, progress("verify") as shown:
        report = opened.verify(head=kept, progress=shown)
    if json:
        screen.out_json(report.to_json())
    else:
        _print(report)
    raise typer.Exit(exits.SUCCESS.code if report.ok else exits.FAILED.code)


def _head(text: str) -> tuple[int, str]:
    match = HEAD.fullmatch(text.strip())
    if match is None:
        raise typer.BadParameter("--head: write N:HASH as `treadle log --head` prints it")
    return int(match[1]), match[2].lower()


def _print(report: Report) -> None:
    number, digest = report.head
    skipped = f", {report.not_evaluated} not evaluated again" if report.not_evaluated else ""
    counts = ", ".join(
        (
            screen.counted(report.records, "record"),
            screen.counted(report.evaluated, "command") + " evaluated again" + skipped,
            screen.counted(report.rows, "row"),
        )
    )
    verdict = (
        screen.paint("history agrees", "good") if report.ok else screen.paint("history does not agree", "bad")
    )
    screen.out(f"{verdict}: {counts}")
    for problem in report.problems:
        screen.out(f"  {screen.plain(str(problem))}")
    if report.pruned:
        screen.out(f"records up to {report.pruned} were pruned; their state was the beginning")
    if report.signatures:
        since = f", of archived events since record {report.signatures_since}" if report.pruned else ""
        screen.out(
            f"{screen.counted(report.signatures, 'signature')} checked under the keys of their time{since}"
        )
    if number:
        screen.out(f"head {number}:{digest}")
