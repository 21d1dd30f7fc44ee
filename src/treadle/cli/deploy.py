"""`treadle deploy`: put a contract, its named queries and its roles into force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from treadle.cli import exits, options, screen, session
from treadle.cli.findings import coloured_findings
from treadle.cli.progress import progress
from treadle.cli.sources import deployable, shown
from treadle.cli.verbs import examples, verb_app
from treadle.config import Config
from treadle.database import compiled
from treadle.errors import ConfigError, ContractError

if TYPE_CHECKING:
    from treadle.access.roles import Role
    from treadle.engine.state import State
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
    """Put a contract, its queries and roles into force.

    Creates the database when it is missing. Where treadle.toml has contract.queries or [[roles]], they
    replace the database's queries and roles in the same transaction. A contract that is active already
    changes nothing. A contract that cannot follow the active one is refused with the reasons, and the
    database stays as it is. A migration brings live rows along while the active contract serves;
    interrupted, it goes on when called again.
    """
    wanted = session.settings(config, database, set_)
    if abandon:
        return _abandon(wanted, principal or "owner", role, json=json)
    if dry_run:
        return _compare(wanted, file, role, json=json)
    roles = wanted.roles
    queries = _queries(wanted)
    source = deployable(file, wanted)
    with _explained(json):
        compiled(source)  # before there is a database, so that a refused contract leaves none behind
    with session.opened(wanted, create=True) as opened:
        before = opened.version
        bar = progress("rows") if migration is not None else nullcontext()
        with _explained(json, migration, queries or ()), bar as advanced:
            version = opened.deploy(
                source,
                expected_version=expected,
                queries=queries,
                roles=roles,
                migration=migration,
                progress=advanced,
                principal=principal or "owner",
                role=role,
            )
        state = opened._engine.refresh()
    answer = _answer(state, version, before, queries, roles)
    if json:
        screen.out_json(answer)
    else:
        screen.out(_sentence(answer, session.place(wanted)))


def _answer(
    state: State, version: int, before: int, queries: Sequence[Path] | None, roles: Sequence[Role] | None
) -> dict[str, Any]:
    contract = state.require().contract
    answer = {"contract": contract.name, "version": version, "before": before, "identity": contract.identity}
    if queries is not None:
        answer["queries"] = sorted(state.queries.stored)
    if roles is not None:
        answer["roles"] = [one.name for one in roles]
    return answer


def _queries(wanted: Config) -> list[Path] | None:
    """The files with named queries; None where the settings name none, so that the deployed ones stay.

    Raises `ConfigError` for patterns that find nothing: that would end every deployed query.
    """
    patterns = wanted["contract.queries"]
    if not patterns:
        return None
    found = [Path(shown(path)) for path in wanted.query_files]
    if not found:
        raise ConfigError(f"contract.queries: no file is called {', '.join(patterns)}; correct or remove it")
    return found


def _abandon(wanted: Config, principal: str, role: str | None, *, json: bool) -> None:
    with session.opened(wanted) as opened:
        version = opened.abandon_migration(principal=principal, role=role)
    if json:
        screen.out_json({"abandoned": version or None})
    elif version:
        screen.out(f"the migration to version {version} is given up; rows are as they were")
    else:
        screen.out("no migration is under way")


def _compare(wanted: Config, file: str | None, role: str | None, *, json: bool) -> None:
    """Say what would change; exits 4 where something is refused."""
    source = deployable(file, wanted)
    with session.opened(wanted) as opened, _explained(json):
        found = opened.compare(source, role=role)
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
def _explained(json: bool, migration: Path | None = None, queries: Sequence[Path] = ()) -> Iterator[None]:
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
        text = _text(error.message, migration, queries)
        raise ContractError(
            f"the {text} has {count}; nothing was deployed", diagnostics=error.diagnostics
        ) from error


def _text(findings: str, migration: Path | None, queries: Sequence[Path]) -> str:
    """What the findings are about, by the files that they name."""
    if migration is not None and f"--> {migration}:" in findings:
        return "migration"
    named = [f"--> {path}:" for path in queries] + ["--> <query "]  # deployed ones are compiled again
    return "query text" if any(name in findings for name in named) else "contract"


def _sentence(answer: dict[str, Any], place: str) -> str:
    name, version, before = answer["contract"], answer["version"], answer["before"]
    was = "was active already" if before == version else "is active" + (f", after {before}" if before else "")
    parts = [
        f"; {part}: {', '.join(answer[part]) or 'none'}" for part in ("queries", "roles") if part in answer
    ]
    return f"{name} version {version} {was} in {screen.plain(place)}{''.join(parts)}"
