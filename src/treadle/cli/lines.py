"""`treadle run --lines`: JSON Lines in, JSON Lines out, committed in groups."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import typer

import treadle
from treadle.cli import exits, screen, session
from treadle.cli.exits import Exit
from treadle.cli.jsontext import parse_json
from treadle.cli.values import input_of, with_key
from treadle.engine.state import Deployed
from treadle.errors import InvalidInput, TooLarge, TreadleError
from treadle.limits import BATCH_COMMANDS, COMMAND_BYTES

SHAPE: Final = '{"command": "Claim", "input": {…}}'
ROOM: Final = 2 * COMMAND_BYTES
"""Bytes of lines that one group takes at most before it is run."""


class Line:
    """One line: what it asks for, or why it cannot be read; then its answer."""

    def __init__(self) -> None:
        self.command = ""
        self.values: dict[str, Any] = {}
        self.fresh: str | None = None
        self.answer: treadle.Receipt | TreadleError | None = None

    def to_json(self) -> dict[str, Any]:
        if isinstance(self.answer, TreadleError):
            body = screen.error_json(self.answer)
        else:
            body = self.answer.to_json() if self.answer is not None else {}
        return body if self.fresh is None else body | {"key": self.fresh}


def run_lines(
    acting: treadle.Acting,
    deployed: Deployed,
    command: str | None,
    given: str | None,
    words: Sequence[str],
    key: str | None,
    timeout: float | None,
) -> Exit:
    """Run every line as `acting`; prints an answer a line, in order, and returns the worst exit code."""
    reader = _Reader(deployed, command, words, key)
    code = exits.SUCCESS
    with _stream(given) as stream:
        raw = _raw_lines(stream)
        while group := _group(raw):
            lines = [reader.read(number, text) for number, text in group]
            _answer(acting, lines, timeout)
            for line in lines:
                screen.out_json(line.to_json())
                code = exits.worst(code, _exit_of(line.answer))
            sys.stdout.flush()
    return code


class _Reader:
    """Makes requests of lines."""

    def __init__(
        self, deployed: Deployed, command: str | None, words: Sequence[str], key: str | None
    ) -> None:
        if key is not None and key != "auto":
            raise typer.BadParameter("with --lines only --key auto: each line needs a key of its own")
        self._deployed = deployed
        self._command = command
        self._words = words
        self._key = key

    def read(self, number: int, text: bytes) -> Line:
        line = Line()
        try:
            self._fill(line, f"line {number}", text)
        except typer.BadParameter as error:
            line.answer = InvalidInput(error.message, path=f"line {number}")
        except TreadleError as error:
            line.answer = error
        return line

    def _fill(self, line: Line, name: str, text: bytes) -> None:
        if len(text) > COMMAND_BYTES:
            raise TooLarge(f"{name}: more than {COMMAND_BYTES >> 20} MiB; send it in parts")
        value = parse_json(text, name)
        if self._command is None:
            line.command, value = _unwrapped(value, name)
        else:
            line.command = self._command
        if not isinstance(value, dict):
            raise InvalidInput("expects a JSON object that maps input names to values", path=name)
        command = session.declaration(self._deployed, line.command)
        line.values = value | input_of(command, None, self._words)
        line.fresh = with_key(command, line.values, self._key)


def _unwrapped(value: Any, name: str) -> tuple[str, Any]:
    if (
        not isinstance(value, dict)
        or set(value) != {"command", "input"}
        or not isinstance(value["command"], str)
    ):
        raise InvalidInput(f"expects {SHAPE}; or name the command: treadle run COMMAND --lines", path=name)
    return value["command"], value["input"]


def _answer(acting: treadle.Acting, lines: list[Line], timeout: float | None) -> None:
    asked = [line for line in lines if line.answer is None]
    answers = acting.run_many([(line.command, line.values) for line in asked], timeout=timeout)
    for line, answer in zip(asked, answers, strict=True):
        line.answer = answer


def _exit_of(answer: treadle.Receipt | TreadleError | None) -> Exit:
    if isinstance(answer, TreadleError):
        return exits.of_error(answer)
    return exits.SUCCESS if answer is not None and answer.ok else exits.OTHER_OUTCOME


@contextmanager
def _stream(given: str | None) -> Iterator[IO[bytes]]:
    if given is None or given == "-":
        yield sys.stdin.buffer
    elif given.startswith("@"):
        with Path(given[1:]).open("rb") as file:
            yield file
    else:
        raise typer.BadParameter(f"--input {given}: write @FILE, or - for standard input")


def _raw_lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, with their numbers; of a line that is too long, only its beginning."""
    number = 0
    while line := stream.readline(COMMAND_BYTES + 2):
        number += 1
        beginning = line
        while not line.endswith(b"\n") and (line := stream.readline(COMMAND_BYTES)):
            pass
        if beginning.strip():
            yield number, beginning.rstrip(b"\r\n")


def _group(raw: Iterator[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """The next lines that are run together: bounded by count and by bytes."""
    group: list[tuple[int, bytes]] = []
    size = 0
    for numbered in islice(raw, BATCH_COMMANDS):
        group.append(numbered)
        size += len(numbered[1])
        if size > ROOM:
            break
    return group
