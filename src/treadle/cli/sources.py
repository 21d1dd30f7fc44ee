"""The contract's text, from a file, standard input or the settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer

from treadle.cli import exits, screen
from treadle.cli.findings import coloured_findings
from treadle.config import Config
from treadle.errors import Malformed
from treadle.limits import SOURCE_BYTES
from treadle.registry import load

STDIN = "-"


class Source(NamedTuple):
    """A text with the name to call it by in messages."""

    data: bytes
    name: str


def read_source(file: str | None, wanted: Config) -> Source:
    """The contract that `file` names (`-`: standard input), or else `contract.source` of the settings.

    Reads at most one byte more than a contract may have, so that a huge file is refused and not read.
    Raises `typer.BadParameter` when nothing names a contract, and `OSError` for a file that cannot be read.
    """
    if file == STDIN:
        return Source(sys.stdin.buffer.read(SOURCE_BYTES + 1), "<stdin>")
    path = _path(file, wanted)
    with path.open("rb") as stream:
        return Source(stream.read(SOURCE_BYTES + 1), shown(path))


def compiled(file: str | None, wanted: Config) -> Any:
    """The checked contract of a source; one with errors shows them and ends the verb.

    Raises as `read_source` does.
    """
    source = read_source(file, wanted)
    made: Any = load("riff").compile_contract(source.data, source.name)
    if made.contract is None:
        screen.note(coloured_findings(made.render()))
        raise typer.Exit(exits.FAILED.code)
    return made.contract


def named(words: Sequence[str], what: str) -> tuple[str | None, str | None]:
    """The file and the name that the words of a verb give; one word is a file if it can be one."""
    match words:
        case []:
            return None, None
        case [file, name]:
            return file, name
        case [word] if word == STDIN or "." in word or "/" in word or Path(word).exists():
            return word, None
        case [word]:
            return None, word
        case _:
            raise typer.BadParameter(f"name a contract's file and {what} of it")


def deployable(file: str | None, wanted: Config) -> str | Path:
    """What to hand to `Database.deploy`: the path of a file, or the text of standard input.

    Raises as `read_source` does, and `Malformed` for standard input that is not UTF-8.
    """
    if file != STDIN:
        return Path(shown(_path(file, wanted)))
    try:
        return read_source(file, wanted).data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed(f"standard input is not UTF-8 at byte {error.start}; send it as UTF-8") from error


def _path(file: str | None, wanted: Config) -> Path:
    path = Path(file) if file is not None else wanted.contract_source
    if path is None:
        where = (
            f"contract.source in {wanted.file.name}" if wanted.file else "contract.source in a treadle.toml"
        )
        raise typer.BadParameter(f"no contract: name its file, or set {where}")
    return path


def shown(path: Path) -> str:
    """A path as the user would write it: relative to the current folder where it lies in or below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
