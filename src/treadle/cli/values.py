"""A command's input from words: `name=value`, `name:=JSON`, and JSON text from a file or standard input."""

from __future__ import annotations

import re
import sys
from base64 import urlsafe_b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import typer

import treadle
from treadle.cli.jsontext import parse_json
from treadle.errors import InvalidInput
from treadle.limits import COMMAND_BYTES
from treadle.model.contract import Command
from treadle.model.query import Query
from treadle.model.types import Uuid, required
from treadle.model.values import parse_word
from treadle.text import nearest

WORD: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(:?=)(.*)", re.DOTALL)
AUTO: Final = "auto"


def input_of(of: Command | Query, given: str | None, words: Sequence[str]) -> dict[str, Any]:
    """The inputs of a command, or parameters of a query: the object that `given` names (`@FILE` or `-`), with
    `words` put over it.

    Raises `typer.BadParameter` for a word that is none, `InvalidInput` and `Malformed` for values.
    """
    values: dict[str, Any] = {} if given is None else object_of(read_text(given), given)
    seen: set[str] = set()
    for word in words:
        name, value = _word(of, word)
        if name in seen:
            raise typer.BadParameter(f"{name} is given twice; keep one of them")
        seen.add(name)
        values[name] = value
    return values


def _word(of: Command | Query, word: str) -> tuple[str, Any]:
    fields, noun = (of.parameters, "parameter") if isinstance(of, Query) else (of.inputs, "input")
    match = WORD.fullmatch(word)
    if match is None:
        raise typer.BadParameter(f"{word!r} is no {noun}: write name=value, or name:=JSON")
    name, sign, text = match.groups()
    types = {field.name: field.type for field in fields}
    if name not in types:
        expected = ", ".join(types) or "none"
        raise InvalidInput(
            f"{of.name} has no {noun} {name}{nearest(name, types)}; its {noun}s are {expected}", path=name
        )
    if sign == ":=":
        return name, parse_json(text, name)
    try:
        return name, parse_word(types[name], text)
    except InvalidInput as error:
        raise InvalidInput(error.message, path=name) from None


def read_text(given: str) -> bytes:
    """The bytes of `@FILE` or, for `-`, of standard input; at most one more than an input may have."""
    if given == "-":
        return sys.stdin.buffer.read(COMMAND_BYTES + 1)
    if not given.startswith("@"):
        raise typer.BadParameter(f"--input {given}: write @FILE, or - for standard input")
    with Path(given[1:]).open("rb") as stream:
        return stream.read(COMMAND_BYTES + 1)


def object_of(data: bytes, name: str) -> dict[str, Any]:
    """A JSON object as a mapping; raises `Malformed` or `InvalidInput` that name where it came from."""
    value = parse_json(data, name)
    if not isinstance(value, dict):
        raise InvalidInput("expects a JSON object that maps input names to values", path=name)
    return value


def with_key(command: Command, values: dict[str, Any], key: str | None) -> str | None:
    """Put the idempotency key that `--key` gives into `values`; returns it if it is a fresh one.

    Raises `typer.BadParameter` where the command has no key, needs one, or would get two.
    """
    name = command.idempotency_key
    if name is None:
        if key is not None:
            raise typer.BadParameter(f"{command.name} has no idempotency key; leave --key out")
        return None
    if key is None:
        if name not in values:
            raise typer.BadParameter(
                f"{command.name} needs an idempotency key: add --key auto for a fresh one"
            )
        return None
    if name in values:
        raise typer.BadParameter(
            f"the idempotency key is given twice, as {name} and as --key; keep one of them"
        )
    values[name] = fresh_key(command) if key == AUTO else key
    return values[name] if key == AUTO else None


def fresh_key(command: Command) -> str:
    """A fresh idempotency key of the type that the command declares, `string` or `uuid`."""
    fresh = treadle.key()
    types = {field.name: field.type for field in command.inputs}
    if not isinstance(required(types[command.idempotency_key or ""]), Uuid):
        return fresh
    return str(UUID(bytes=urlsafe_b64decode(fresh + "=="), version=4))
