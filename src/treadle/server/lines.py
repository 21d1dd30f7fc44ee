"""`POST /v1/commands`: many commands, one on each line, answered line by line in their order.

Lines are read as they come, put into the queue in groups, and answered as soon as they are durable, so that
a stream of any length takes bounded memory. A client should read while it sends; one that does not may
have eight mebibytes of answers waiting before the server stops reading.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from treadle import limits
from treadle.engine.command import CommandJob
from treadle.engine.receipt import Receipt
from treadle.errors import Malformed, OverCapacity, TooLarge, TreadleError
from treadle.model.json_text import scan_json
from treadle.server import openapi, problems
from treadle.server.answers import COMMON
from treadle.server.call import Call, Gone, preferences
from treadle.server.commands import APPLIED, wait_of
from treadle.server.endpoint import Endpoint, Operation
from treadle.server.requests import request_of

MEDIA: Final = "application/jsonl"
READS: Final = (
    "application/jsonl",
    "application/x-ndjson",
    "application/json-lines",
    "application/x-jsonlines",
)
GROUPS: Final = 3
"""Groups of lines that are in the queue or waiting for it at once: one runs while the next ones gather."""
PAUSE: Final = 0.02
"""Seconds before a group that found the queue full is tried again."""

Line = bytes | TreadleError


class Group(NamedTuple):
    """Lines that were read together: for each an answer, or None where its job will tell; and their bytes."""

    answers: list[Any]
    jobs: list[tuple[int, CommandJob]]
    names: list[str]
    size: int


async def run_lines(call: Call) -> None:
    """Answer each line with a receipt or a problem document."""
    call.check_media(READS)
    call.check_accept(MEDIA)
    preferred = preferences(call.headers.get(b"prefer", b""))
    stream = _Stream(call, wait_of(preferred, call.service.options.request_seconds), preferred)
    headers = [(b"content-type", MEDIA.encode()), (b"trace-id", call.trace.hex().encode()), *COMMON]
    if stream.strings:
        headers += APPLIED
    call.status = 200
    await call.send(
        {"type": "http.response.start", "status": 200, "headers": headers + list(call.cross_origin)}
    )
    await stream.run()


class _Stream:
    """One stream of lines: a reader that fills the queue, and a writer that follows it."""

    def __init__(self, call: Call, timeout: float, preferred: dict[str, str]) -> None:
        self._call = call
        self._service = call.service
        self._timeout = timeout
        self.strings = preferred.get("integers") == "string"
        self._running = asyncio.Semaphore(GROUPS)
        self._groups: asyncio.Queue[asyncio.Task[tuple[Group, bytes]] | None] = asyncio.Queue()
        self._waiting = 0  # bytes of answers that are not sent
        self._room = asyncio.Event()
        self._room.set()

    async def run(self) -> None:
        """Read and write until both ends are reached; what was taken runs even if the client goes away."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._write())
            tasks.create_task(self._read())

    async def _read(self) -> None:
        try:
            async for lines in read_lines(self._call, self._service.options.max_body):
                for start in range(0, len(lines), limits.HTTP_LINES):
                    await self._start(lines[start : start + limits.HTTP_LINES])
        except Gone:
            pass  # nobody will read the answers; the writer goes on until nothing is owed
        finally:
            self._groups.put_nowait(None)

    async def _start(self, lines: Sequence[Line]) -> None:
        """Read a group's lines and put it into the queue, once there is room for it and its answers."""
        await self._room.wait()
        await self._running.acquire()
        group = await self._group(lines)
        self._groups.put_nowait(asyncio.create_task(self._finish(group)))

    async def _group(self, lines: Sequence[Line]) -> Group:
        group = Group([], [], [], sum(len(line) for line in lines if isinstance(line, bytes)))
        for place, line in enumerate(lines):
            try:
                job = await self._job(line)
                group.jobs.append((place, job))
                group.names.append(job.request.command)
                group.answers.append(None)
            except TreadleError as error:
                group.answers.append(error)
        return group

    async def _job(self, line: Line) -> CommandJob:
        if isinstance(line, TreadleError):
            raise line
        body = scan_json(line)
        if not isinstance(body, dict):
            raise Malformed('a line must be a JSON object: {"command": "…", "input": {…}}')
        return await self._service.job(request_of(body, self._call.caller, self._call.trace))

    async def _finish(self, group: Group) -> tuple[Group, bytes]:
        """Run a group, and encode its answers as soon as they are there."""
        try:
            if group.jobs:
                await self._submit(group)
        finally:
            self._running.release()
        text = b"".join(self._encoded(answer) for answer in group.answers)
        self._waiting += len(text)
        if self._waiting > limits.HTTP_ANSWER_BYTES:
            self._room.clear()
        return group, text

    async def _submit(self, group: Group) -> None:
        jobs = [job for _, job in group.jobs]
        until = asyncio.get_running_loop().time() + self._timeout
        results: list[Any] = []
        while not results:
            left = until - asyncio.get_running_loop().time()
            try:
                results = await self._service.submit(jobs, max(0.0, left))
            except OverCapacity as error:
                if left <= PAUSE:
                    results = [error] * len(jobs)
                else:
                    await asyncio.sleep(PAUSE)
        for (place, _), name, answer in zip(group.jobs, group.names, results, strict=True):
            self._service.metrics.answered(name, answer)
            group.answers[place] = answer

    def _encoded(self, answer: Any) -> bytes:
        if isinstance(answer, Receipt):
            return msgspec.json.encode(answer.to_json(integers_as_strings=self.strings)) + b"\n"
        self._service.metrics.problem(answer)
        return problems.encoded(answer) + b"\n"

    async def _write(self) -> None:
        """Send the answers of each group, in order."""
        send = self._call.send
        while (task := await self._groups.get()) is not None:
            group, text = await task
            await send({"type": "http.response.body", "body": text, "more_body": True})
            self._call.release(group.size)
            self._waiting -= len(text)
            if self._waiting <= limits.HTTP_ANSWER_BYTES:
                self._room.set()
        await send({"type": "http.response.body", "body": b""})


async def read_lines(call: Call, longest: int) -> AsyncIterator[list[Line]]:
    """The lines that are there, each time some are; a line over `longest` bytes comes as `TooLarge`.

    Empty lines are left out. A line that a lost connection cut off is not run. When no byte comes in time,
    the last line is the error that says so.
    """
    splitter = Splitter(longest)
    while True:
        before = splitter.kept
        try:
            part, more = await call.receive()
        except Gone:
            raise
        except TreadleError as error:
            yield [error]
            return
        lines = list(splitter.feed(part))
        if not more:
            lines += splitter.rest()
        # Held until their answers are sent: the lines. Held until the line is complete: what was begun.
        owed = sum(len(line) for line in lines if isinstance(line, bytes))
        call.release(before + len(part) - owed - splitter.kept)
        if lines:
            yield lines
        if not more:
            return


class Splitter:
    """Bytes to lines, holding at most one line that is not complete, of at most `longest` bytes."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._begun = bytearray()
        self._size = 0

    @property
    def kept(self) -> int:
        """Bytes of the line that was begun."""
        return len(self._begun)

    def feed(self, part: bytes) -> Iterator[Line]:
        """The lines that `part` completes."""
        *complete, rest = part.split(b"\n")
        for end in complete:
            self._add(end)
            yield from self.rest()
        self._add(rest)

    def rest(self) -> list[Line]:
        """What was begun, as a line; nothing where it is empty."""
        line, size = bytes(self._begun), self._size
        self._begun, self._size = bytearray(), 0
        if size > self._longest:
            return [TooLarge(f"the line is larger than {self._longest:,} bytes; send less in one command")]
        return [line] if line.strip() else []

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._longest:
            self._begun += part
        else:
            self._begun = bytearray()  # too long already: what comes is counted and not kept


def describe(described: openapi.Described) -> Iterator[Operation]:
    """The stream of lines."""
    yield (
        "/v1/commands",
        {
            "operationId": "runCommands",
            "summary": "Run many commands, one on each line; answers come in order, one on each line.",
            "tags": ["commands"],
            "requestBody": {
                "required": True,
                "content": {MEDIA: {"schema": {"type": "string", "description": openapi.LINE_IN}}},
            },
            "responses": {
                "200": {
                    "description": "One line for each line: a receipt, or a problem document.",
                    "content": {MEDIA: {"schema": {"type": "string", "description": openapi.LINE_OUT}}},
                },
                **openapi.problems(401, 403, 406, 408, 415, 503),
            },
        },
    )


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/commands",
        run_lines,
        "Run many commands: JSON Lines in, JSON Lines out.",
        writes=True,
        produces="",
        describe=describe,
    ),
)
