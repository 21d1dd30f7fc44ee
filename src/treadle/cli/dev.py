"""`treadle dev`: serve a project while it is being written."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

import typer

import treadle
from treadle.access.tokens import SIZE, text_of
from treadle.cli import options, screen, server, session
from treadle.cli.findings import coloured_findings
from treadle.cli.jsontext import parse_json
from treadle.cli.verbs import examples, verb_app
from treadle.config import Config
from treadle.errors import ConfigError, ContractError, InvalidInput, TreadleError
from treadle.model.contract import Command
from treadle.model.types import String, Uuid, required

app = verb_app()
LOOK_SECONDS: Final = 0.4
PRINCIPAL: Final = "dev"


@app.command(
    epilog=examples(
        "treadle dev",
        "treadle dev --seed seed.jsonl",
        "treadle dev --database-url :memory: --bind 127.0.0.1:0",
    )
)
def dev(
    seed: Annotated[
        Path | None,
        typer.Option(
            "--seed",
            metavar="FILE",
            help='Commands to run at the start, one {"command": …, "input": {…}} a line. A line without a '
            "key gets one from its number, so that it runs once.",
        ),
    ] = None,
    bind: Annotated[
        str | None,
        typer.Option(
            "--bind", metavar="HOST:PORT", help="Where to listen, instead of server.bind; port 0 takes any."
        ),
    ] = None,
    database: options.Database = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    debug: options.Debug = False,
) -> None:
    """Serve a project while you write it.

    Creates the database if it is missing, deploys contract.source with its queries and roles, and again
    whenever one of the files changes; what is wrong with a change is shown, and what was deployed stays.
    Prints a token that ends with the process and may do everything. Only on this machine itself.
    """
    library = server.library()
    pairs = [*(set_ or []), *([f"server.bind={bind}"] if bind else [])]
    wanted = session.settings(config, database, pairs)
    with session.opened(wanted, create=True) as opened:
        project = Project(opened, wanted, lambda: session.settings(config, database, pairs))
        project.try_deploy()
        if seed is not None:
            run_seed(opened, seed)
        token = text_of(opened._engine.ids.token(SIZE))
        chosen = server.options(wanted, throwaway=token)
        if not chosen.loopback:
            raise ConfigError(
                "treadle dev serves this machine alone: bind to 127.0.0.1, or use treadle serve"
            )
        with Watch(project):
            library.serve(opened, chosen, lambda address: _started(address, token))


def _started(address: str, token: str) -> None:
    screen.note(f"serving at {address} (API: {address}/docs)")
    screen.note(f"token for this run: {token}")


class Project:
    """The project's files and the database that follows them. `again` reads the settings anew."""

    def __init__(self, database: treadle.Database, wanted: Config, again: Any) -> None:
        self._database = database
        self._wanted = wanted
        self._again = again
        self._seen = self.stamp()

    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """When each file was changed, and how long it is; a missing one is left out."""
        return tuple(
            (str(path), found.st_mtime_ns, found.st_size)
            for path in self._files()
            if (found := _stat(path)) is not None
        )

    def _files(self) -> Iterator[Path]:
        source = self._wanted.contract_source
        if source is not None:
            yield source
        if self._wanted.file is not None:
            yield self._wanted.file
        yield from self._queries()

    def _queries(self) -> list[Path]:
        folder, patterns = self._wanted.folder, self._wanted["contract.queries"]
        try:
            return sorted({path for pattern in patterns for path in folder.glob(pattern)})
        except (NotImplementedError, ValueError) as error:
            raise ConfigError("contract.queries: patterns start from the file's folder") from error

    def deploy(self) -> None:
        """Deploy what the files say; raises `ContractError`, `ConfigError` or `OSError`."""
        source = self._wanted.contract_source
        if source is None:
            raise ConfigError("contract.source names no contract; set it in treadle.toml")
        before = self._database.version
        version = self._database.deploy(
            source,
            queries=self._queries() if self._wanted["contract.queries"] else None,
            roles=self._wanted.roles,
            principal=PRINCIPAL,
        )
        screen.note(
            f"version {version} is active" + (f", after {before}" if before not in (0, version) else "")
        )

    def follow(self) -> None:
        """Deploy again if a file has changed."""
        if self.stamp() != self._seen:
            self.try_deploy()

    def try_deploy(self) -> None:
        """Read the settings and deploy; what is wrong is told, and what was deployed stays."""
        self._seen = self.stamp()
        try:
            self._wanted = self._again()
            self._seen = self.stamp()
            self.deploy()
        except ContractError as error:
            screen.note(coloured_findings(error.message) if error.diagnostics else screen.error_text(error))
        except TreadleError as error:
            screen.note(screen.error_text(error))
        except OSError as error:
            screen.note(f"{screen.plain(str(error.filename))}: {error.strerror}")


def _stat(path: Path) -> Any:
    try:
        return path.stat()
    except OSError:
        return None


class Watch:
    """A thread that looks at the project's files again and again, for the length of a block."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="treadle-watch", daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(LOOK_SECONDS):
            self._project.follow()


def run_seed(database: treadle.Database, path: Path) -> None:
    """Run the commands of a file, each once: a line without a key gets one from its number.

    Raises what the first line that is refused raises, with the line's number.
    """
    acting = database.acting_as(PRINCIPAL)
    ran = 0
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            ran += not _seeded(database, acting, line, number).replayed
        except TreadleError as error:
            raise InvalidInput(error.message, path=f"{path.name} line {number}", code=error.code) from error
    screen.note(f"seed: {ran} commands run")


def _seeded(database: treadle.Database, acting: treadle.Acting, line: bytes, number: int) -> treadle.Receipt:
    body = parse_json(line, "the line")
    if not isinstance(body, dict) or not isinstance(body.get("command"), str):
        raise InvalidInput('write {"command": "…", "input": {…}}')
    command = session.command(database, body["command"])
    given = dict(body.get("input") or {})
    if command.idempotency_key is not None:
        given.setdefault(command.idempotency_key, seed_key(command, number))
    return acting.run(command.name, given)


def seed_key(command: Command, number: int) -> str:
    """The idempotency key of a line without one, the same at every start."""
    kind = next(field.type for field in command.inputs if field.name == command.idempotency_key)
    match required(kind):
        case Uuid():
            return str(UUID(int=number))
        case String():
            return f"seed-{number}"
        case other:
            raise InvalidInput(f"has no key, and {other} has no form that could be made up; give it one")
