"""`treadle deploy`: put a contract and its roles into force."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from treadle.cli import options, screen, session
from treadle.cli.findings import coloured_findings
from treadle.cli.sources import deployable
from treadle.cli.verbs import examples, verb_app
from treadle.errors import ContractError

app = verb_app()


@app.command(
    epilog=examples(
        "treadle deploy",
        "treadle deploy shop.riff --database-url sqlite:///shop.db",
        "treadle deploy --expected-version 3",
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
    cannot follow the active one is refused with the reasons, and the database stays as it is.
    """
    wanted = session.settings(config, database, set_)
    roles = wanted.roles
    source = deployable(file, wanted)
    with session.opened(wanted, create=True) as opened:
        before = opened.version
        with _explained(json):
            version = opened.deploy(
                source,
                expected_version=expected,
                roles=roles,
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


@contextmanager
def _explained(json: bool) -> Iterator[None]:
    """Shows what is wrong with a contract as `check` does, before the one line that ends the verb."""
    try:
        yield
    except ContractError as error:
        errors = sum(found.is_error for found in error.diagnostics)
        if not errors:
            raise
        if not json:
            screen.note(coloured_findings(error.message))
        count = "an error" if errors == 1 else f"{errors} errors"
        raise ContractError(
            f"the contract has {count}; nothing was deployed", diagnostics=error.diagnostics
        ) from error


def _sentence(answer: dict[str, Any], place: str) -> str:
    name, version, before = answer["contract"], answer["version"], answer["before"]
    was = "was active already" if before == version else "is active" + (f", after {before}" if before else "")
    roles = f"; roles: {', '.join(answer['roles']) or 'none'}" if "roles" in answer else ""
    return f"{name} version {version} {was} in {screen.plain(place)}{roles}"
