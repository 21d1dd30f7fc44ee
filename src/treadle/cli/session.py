"""What a verb works with: the settings in force and the open database."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import treadle
from treadle import config
from treadle.cli.sources import shown
from treadle.config import Config
from treadle.config.loading import DEFAULT
from treadle.errors import ConfigError, DatabaseMissing, Denied, InvalidInput, TreadleError, UnknownName
from treadle.model.contract import Command
from treadle.model.values import parse_word
from treadle.registry import load
from treadle.text import nearest, were_given

if TYPE_CHECKING:
    from treadle.client.remote import Remote
    from treadle.engine.state import Deployed

TOKEN: Final = "TREADLE_TOKEN"
"""The variable that holds a client's token; with `_FILE` after it, the one that names a file with it."""


def settings(
    file: Path | None = None, database: str | None = None, pairs: Sequence[str] | None = None
) -> Config:
    """The settings for one call: flags, then `TREADLE_…` variables, then `treadle.toml`, then defaults."""
    if file is not None and not file.is_file():
        raise ConfigError(f"--config {file}: there is no such file")
    flags = {} if database is None else {"database.url": database}
    return config.load(file=file, environment=os.environ, flags=flags, pairs=pairs or ())


def place(wanted: Config) -> str:
    """The database as a person would name it: a file by its path, anything else by its URL, no password."""
    url = wanted.database_url
    if not url.startswith("sqlite:///"):
        return str(load("store").shown_url(url))
    return shown(Path(unquote(url.removeprefix("sqlite:///"))))


def graph_options(wanted: Config) -> treadle.GraphOptions:
    """What the settings say of the graph; what they do not say follows the database."""
    base = wanted.value("graph.base_ns")
    return treadle.GraphOptions(
        enforce_workflows=wanted["graph.governance.enforce_workflows"],
        verify_transitions=wanted["graph.governance.verify_transitions"],
        identity_graphs=wanted["graph.governance.identity_graphs"],
        base_ns=None if base.origin == DEFAULT else base.value,
        update_full_copy_max_facts=wanted["graph.server.update_full_copy_max_facts"],
    )


@contextmanager
def opened(wanted: Config, *, create: bool = False) -> Iterator[treadle.Database]:
    """The database that the settings name, closed at the end. A missing one is created by `deploy` alone."""
    try:
        database = treadle.open(
            wanted.database_url,
            create=create,
            max_clock_jump=wanted.max_clock_jump,
            graph=graph_options(wanted),
        )
    except DatabaseMissing as error:
        origin = wanted.value("database.url").origin
        raise DatabaseMissing(
            f"there is no database at {place(wanted)} (set by: {origin}); `treadle deploy` creates it"
        ) from error
    with database:
        yield database


def token() -> str | None:
    """The token in `TREADLE_TOKEN`, or in the file that `TREADLE_TOKEN_FILE` names; None for no token.

    Raises `ConfigError` for a file that cannot be read, or holds none.
    """
    text, name = os.environ.get(TOKEN), os.environ.get(TOKEN + "_FILE")
    if text or not name:
        return text or None
    try:
        found = Path(name).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text of ASCII"
        raise ConfigError(f"environment variable {TOKEN}_FILE: {name} cannot be read: {why}") from error
    if not found:
        raise ConfigError(f"environment variable {TOKEN}_FILE: {name} is empty")
    return found


@contextmanager
def connected(url: str, instance: str = "") -> Iterator[Remote]:
    """The server at an address, as whoever the token in the environment says; closed at the end.

    Raises `ConfigError` where the packages of the extra `client` are not installed.
    """
    try:
        connect = load("client").connect
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "treadle":
            raise
        raise ConfigError(
            f"a client over HTTP needs more packages ({error.name} is missing): pip install 'treadle[client]'"
        ) from error
    given = token()
    remote: Remote = connect(url, token=given, instance=instance or None)
    with remote:
        try:
            yield remote
        except Denied as error:
            if given is not None or error.code != "unauthenticated":
                raise
            wanted = f"the server wants a token: set {TOKEN}, or {TOKEN}_FILE to a file that holds one"
            raise Denied(wanted, code=error.code) from error


def no_caller(**given: object) -> None:
    """Raise `ConfigError` for an option that says who acts, or on what, beside `--url`: the token says it."""
    for option, value in given.items():
        if value:
            raise ConfigError(
                f"--{option.replace('_', '-')} does not go with --url: the token in {TOKEN} says who acts"
            )


def deployed(database: treadle.Database) -> Deployed:
    """What is deployed now; raises `UnknownName` where nothing is."""
    return database._engine.refresh().require()


def command(database: treadle.Database, name: str) -> Command:
    """The declaration of a command; raises `UnknownName` that names the nearest."""
    return declaration(deployed(database), name)


def declaration(known: Deployed, name: str) -> Command:
    """The declaration of a command of what is deployed; raises `UnknownName` that names the nearest."""
    known.command(name)
    return next(one for one in known.contract.commands if one.name == name)


def key_of(database: treadle.Database, entity: str, words: Sequence[str]) -> tuple[object, ...]:
    """A row's key from words, one for each key field in declared order.

    Raises `UnknownName` for an unknown entity and `InvalidInput` for a wrong number of words.
    """
    contract = deployed(database).contract
    found = {one.name: one for one in contract.entities}
    if entity not in found:
        raise UnknownName(f"no entity {entity} in contract {contract.name}{nearest(entity, found)}")
    fields = found[entity].key
    if len(words) != len(fields):
        names = " ".join(field.name.upper() for field in fields)
        raise InvalidInput(f"the key of {entity} is {names}; {were_given(len(words))}", path="key")
    return tuple(parse_word(field.type, word) for field, word in zip(fields, words, strict=True))


def query_names() -> list[str]:
    """Names of the deployed queries, for shell completion; none when anything is amiss."""
    try:
        with opened(settings()) as database:
            return sorted(database._engine.refresh().queries.stored)
    except TreadleError:
        return []


def names(kind: str) -> list[str]:
    """Names of the deployed `commands` or `entities`, for shell completion; none when anything is amiss."""
    try:
        with opened(settings()) as database:
            return [one.name for one in getattr(deployed(database).contract, kind)]
    except TreadleError:
        return []
