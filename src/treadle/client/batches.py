"""Many commands at once: lines in groups of one request each, until every one has its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from treadle.client.exchange import (
    Answer,
    Attempts,
    Deadline,
    Policy,
    Reply,
    Send,
    Steps,
    document_of,
    in_doubt,
    lost,
    refusal,
    repeats,
)
from treadle.client.problems import error_of, is_problem
from treadle.client.wire import Face, Line, encoded, parsed
from treadle.engine.receipt import Receipt
from treadle.errors import Busy, ContractMismatch, Malformed, OutcomeUnknown, TreadleError

Command = tuple[str, Mapping[str, Any] | Any]
Progress = Callable[[int, int], None]

LINES: Final = 1_000
"""Commands that go in one request, and at most so many bytes of them:"""
BYTES: Final = 8 * 1024 * 1024
_HEADERS: Final = {"Content-Type": "application/jsonl", "Accept": "application/jsonl"}


class _Sent(NamedTuple):
    """A line with its place among the commands."""

    place: int
    line: Line
    text: bytes


class Batch:
    """Commands and their answers so far: None where there is none yet."""

    def __init__(self, commands: Sequence[Command], face: Face, progress: Progress | None) -> None:
        self.face = face
        self._commands = commands
        self._progress = progress
        self._answers: list[Receipt | TreadleError | None] = [None] * len(commands)
        self._doubtful: set[int] = set()
        self._lines: list[_Sent] = []
        self._sent = False
        self._told = 0

    @property
    def answers(self) -> list[Receipt | TreadleError]:
        """For each command its receipt or its error."""
        return [answer or OutcomeUnknown("no answer came") for answer in self._answers]

    @property
    def mismatched(self) -> bool:
        """Whether some command was refused because another contract is deployed; none of these has run."""
        return any(isinstance(answer, ContractMismatch) for answer in self._answers)

    @property
    def readable(self) -> bool:
        """Whether every input can be read under the contract that is known."""
        try:
            for command, given in self._commands:
                self.face.line(command, given)
        except TreadleError:
            return False
        return True

    def write(self, *, history: str | None, contract: str | None) -> bool:
        """Write the commands as lines; once they were sent, those that were refused as mismatched.

        What is wrong with a command is its answer. Returns whether nothing was wrong with any.
        """
        self._lines, refused = [], False
        for place, (command, given) in enumerate(self._commands):
            if self._sent and not isinstance(self._answers[place], ContractMismatch):
                continue
            self._answers[place] = None
            try:
                line = self.face.line(command, given, history=history, contract=contract)
            except TreadleError as error:
                self._answers[place], refused = error, True
            else:
                self._lines.append(_Sent(place, line, encoded({"command": command, **line.body}) + b"\n"))
        return not refused

    def send(self, policy: Policy, limit: Deadline | None) -> Steps[None]:
        """Send the lines, group by group.

        Each group has the policy's time, or all of them what is left of `limit`.
        """
        self._sent = True
        for chunk in _chunks(self._lines):
            seconds = policy.timeout if limit is None else min(policy.timeout, limit.left())
            if seconds > 0:
                yield from self._settle(Attempts(policy, seconds), chunk)
            else:
                for one in chunk:
                    self._answers[one.place] = Busy("the time given is over; this command was not sent")
            self._tell(chunk[-1].place + 1)
        self._tell(len(self._commands))

    def _tell(self, done: int) -> None:
        if self._progress is not None and done > self._told:
            self._progress(done, len(self._commands))
            self._told = done

    def _settle(self, attempts: Attempts, left: list[_Sent]) -> Steps[None]:
        """Send lines until each has its answer. Those that may be repeated are, in order."""
        while left:
            body = b"".join(one.text for one in left)
            headers = _HEADERS | {"Prefer": attempts.wait()}
            answer = yield Send("POST", "v1/commands", attempts.seconds(), body, headers)
            said = zip(left, _said(answer, len(left)), strict=True)
            left = [one for one, its in said if self._again(one, its, isinstance(answer, Reply))]
            if not left:
                return
            error = self._answers[left[0].place]
            retry_after = answer.retry_after if isinstance(answer, Reply) else None
            try:
                yield from attempts.failed(_error(error), retry_after)
            except TreadleError:
                return  # every line that is left has its own error

    def _again(self, one: _Sent, said: Any, answered: bool) -> bool:
        """Note what was said of a line (`answered`: by somebody); whether it is to be sent again."""
        if not isinstance(said, TreadleError):
            try:
                self._answers[one.place] = self.face.receipt(one.line.command, said)
            except ContractMismatch as error:
                self._answers[one.place] = in_doubt(error)  # it has an outcome, which cannot be read
            return False
        if isinstance(said, OutcomeUnknown):
            self._doubtful.add(one.place)
            self._answers[one.place] = said
            return one.line.keyed
        self._answers[one.place] = in_doubt(said) if one.place in self._doubtful else said
        return repeats(said) or not answered


def _error(answer: Any) -> TreadleError:
    return answer if isinstance(answer, TreadleError) else OutcomeUnknown("no answer came")


def _said(answer: Answer, count: int) -> list[Any]:
    """What an answer says of each of `count` lines: a receipt's document, or an error."""
    if not isinstance(answer, Reply):
        return [lost(answer)] * count
    if answer.status != 200:
        return [refusal(answer, document_of(answer))] * count
    found = [_line(text) for text in answer.body.splitlines()[:count]]
    return found + [OutcomeUnknown("the answer ended early; repeat the same key")] * (count - len(found))


def _line(text: bytes) -> Any:
    try:
        document = parsed(text)
    except Malformed:
        document = None
    if is_problem(document):
        return error_of(document)
    return document if isinstance(document, dict) else OutcomeUnknown("the server's answer cannot be read")


def _chunks(lines: Sequence[_Sent]) -> Iterator[list[_Sent]]:
    """Lines in groups of one request each."""
    chunk: list[_Sent] = []
    size = 0
    for one in lines:
        if chunk and (len(chunk) >= LINES or size + len(one.text) > BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(one)
        size += len(one.text)
    if chunk:
        yield chunk
