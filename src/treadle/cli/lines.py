"""`treadle run --lines`: JSON Lines in, JSON Lines out, committed in groups."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Final, cast

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
CHUNK: Final = 1 << 18
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
        for group in _Groups(stream):
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
def _stream(given: str | None) -> Iterator[BufferedIOBase]:
    if given is None or given == "-":
        yield cast(BufferedIOBase, sys.stdin.buffer)
    elif given.startswith("@"):
        with Path(given[1:]).open("rb") as file:
            yield file
    else:
        raise typer.BadParameter(f"--input {given}: write @FILE, or - for standard input")


class _Groups:
    """Lines of a stream in groups that are run together: what has arrived, bounded by count and by bytes.

    A group does not wait for lines that are still to come, so that a slow writer is answered at once and a
    quick one in large groups. Blank lines are left out; of a line that is too long only the beginning is
    kept, which is enough to refuse it.
    """

    def __init__(self, stream: BufferedIOBase) -> None:
        self._stream = stream
        self._number = 0
        self._lines: deque[tuple[int, bytes]] = deque()
        self._rest = bytearray()
        self._ended = False

    def __iter__(self) -> Iterator[list[tuple[int, bytes]]]:
        while True:
            while not self._lines and not self._ended:
                self._receive()
            if not self._lines:
                return
            yield self._group()

    def _receive(self) -> None:
        chunk = self._stream.read1(CHUNK)
        self._ended = not chunk
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            self._extend(line)
            self._end_line()
        self._extend(rest)
        if self._ended:
            self._end_line()

    def _extend(self, piece: bytes) -> None:
        room = COMMAND_BYTES + 1 - len(self._rest)
        self._rest += piece[: max(0, room)]

    def _end_line(self) -> None:
        self._number += 1
        line = bytes(self._rest).rstrip(b"\r")
        self._rest.clear()
        if line.strip():
            self._lines.append((self._number, line))

    def _group(self) -> list[tuple[int, bytes]]:
        group: list[tuple[int, bytes]] = []
        size = 0
        while self._lines and len(group) < BATCH_COMMANDS and size <= ROOM:
            group.append(self._lines.popleft())
            size += len(group[-1][1])
        return group
