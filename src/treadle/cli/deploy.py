"""`treadle deploy`: put a contract and its roles into force."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.findings import coloured_findings
from treadle.cli.progress import progress
from treadle.cli.sources import deployable
from treadle.cli.verbs import examples, verb_app
from treadle.config import Config
from treadle.errors import ContractError

if TYPE_CHECKING:
    from treadle.engine.succession import Successor

app = verb_app()


@app.command(
    epilog=examples(
        "treadle deploy",
        "treadle deploy shop.riff --database-url sqlite:///shop.db",
        "treadle deploy --expected-version 3",
        "treadle deploy --dry-run",
        "treadle deploy --migration v2.migration",
    )
)
def deploy(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="The contract, or - for standard input; else contract.source."),
    ] = None,
    expected: Annotated[
        int | None,
        typer.Option(
            "--expected-version",
            metavar="N",
            min=0,
            help="The version that must be active now, 0 for none; a lost race is refused.",
        ),
    ] = None,
    migration: Annotated[
        Path | None,
        typer.Option(
            "--migration",
            metavar="FILE",
            help="How live rows become rows of the new version; --dry-run prints one to complete.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would change, and what stands in the way.")
    ] = False,
    abandon: Annotated[
        bool,
        typer.Option("--abandon", help="Give up the migration that is under way; rows stay as they are."),
    ] = False,
    principal: options.Principal = None,
    role: options.Role = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Put a contract and its roles into force.

    Creates the database when it is missing. Where treadle.toml has [[roles]], they replace the database's
    roles in the same transaction. A contract that is active already changes nothing. A contract that
    cannot follow the active one is refused with the reasons, and the database stays as it is. A migration
    brings live rows along while the active contract serves; interrupted, it goes on when called again.
    """
    wanted = session.settings(config, database, set_)
    if abandon:
        _abandon(wanted, principal or "owner", role, json=json)
        return
    if dry_run:
        _compare(wanted, file, json=json)
        return
    roles = wanted.roles
    source = deployable(file, wanted)
    with session.opened(wanted, create=True) as opened:
        before = opened.version
        bar = progress("rows") if migration is not None else nullcontext()
        with _explained(json, migration), bar as shown:
            version = opened.deploy(
                source,
                expected_version=expected,
                roles=roles,
                migration=migration,
                progress=shown,
                principal=principal or "owner",
                role=role,
            )
        contract = session.deployed(opened).contract
    answer = {"contract": contract.name, "version": version, "before": before, "identity": contract.identity}
    if roles is not None:
        answer["roles"] = [one.name for one in roles]
    if json:
        screen.out_json(answer)
    else:
        screen.out(_sentence(answer, session.place(wanted)))


def _abandon(wanted: Config, principal: str, role: str | None, *, json: bool) -> None:
    with session.opened(wanted) as opened:
        version = opened.abandon_migration(principal=principal, role=role)
    if json:
        screen.out_json({"abandoned": version or None})
    elif version:
        screen.out(f"the migration to version {version} is given up; rows are as they were")
    else:
        screen.out("no migration is under way")


def _compare(wanted: Config, file: str | None, *, json: bool) -> None:
    """Say what would change; exits 4 where something is refused."""
    source = deployable(file, wanted)
    with session.opened(wanted) as opened, _explained(json):
        found = opened.compare(source)
    if json:
        screen.out_json(found.to_json())
    else:
        _print_changes(found)
    if not found.possible:
        raise typer.Exit(exits.REFUSED.code)


_COLOURS: Final = {"compatible": "good", "migration": "mild", "refused": "bad"}


def _print_changes(found: Successor) -> None:
    if found.same:
        screen.out(f"version {found.after} is active already; nothing would change")
        return
    screen.out(
        f"from version {found.before} to version {found.after}" if found.before else "nothing is active yet"
    )
    for change in found.changes:
        kind = screen.paint(f"{change.kind:<10}", _COLOURS[change.kind])
        screen.out(f"  {kind}  {screen.plain(str(change))}")
    if found.possible and found.draft:
        screen.out("a migration to complete, for --migration:")
        screen.out()
        screen.out(found.draft.rstrip())


@contextmanager
def _explained(json: bool, migration: Path | None = None) -> Iterator[None]:
    """Shows what is wrong with a text as `check` does, before the one line that ends the verb."""
    try:
        yield
    except ContractError as error:
        errors = sum(found.is_error for found in error.diagnostics)
        if not errors:
            raise
        if not json:
            screen.note(coloured_findings(error.message))
        count = "an error" if errors == 1 else f"{errors} errors"
        of_migration = migration is not None and f"--> {migration}:" in error.message
        text = "migration" if of_migration else "contract"
        raise ContractError(
            f"the {text} has {count}; nothing was deployed", diagnostics=error.diagnostics
        ) from error


def _sentence(answer: dict[str, Any], place: str) -> str:
    name, version, before = answer["contract"], answer["version"], answer["before"]
    was = "was active already" if before == version else "is active" + (f", after {before}" if before else "")
    roles = f"; roles: {', '.join(answer['roles']) or 'none'}" if "roles" in answer else ""
    return f"{name} version {version} {was} in {screen.plain(place)}{roles}"
