"""What clients sent, heard and know. A worker acts on what it last saw, so some of what it asks is stale."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from sim.jobs.asking import YARD, Answer, Board, Call, Failure, Reply, Request, Seen
from sim.jobs.script import WORKERS, Step
from sim.linear.history import Operation, Recorder

COMMANDS: Final = {
    "create": "Create",
    "claim": "Claim",
    "renew": "Renew",
    "release": "Release",
    "expire": "Expire",
    "start": "Start",
    "finish": "Finish",
    "remove": "Remove",
}
HELD: Final = ("renew", "release", "start", "finish", "remove")
_TIMED: Final = ("claim", "renew")


class Ask(NamedTuple):
    """A request on its way to a handle."""

    handle: int
    request: Request


Talk = Generator[Ask, Reply, None]
"""What one client does in a step: it yields what it asks, and is sent the replies."""


@dataclass
class Sent:
    """A request as a client sent it, where it went last, and every answer that was heard to it."""

    command: str
    input: Mapping[str, Any]
    operation: Operation
    handle: int = 0
    under_way: int = 0
    answers: list[Answer] = field(default_factory=list)


class Known(NamedTuple):
    """What a worker knows of a job: the revision and token that it saw last."""

    seen: int = 1
    token: int = 1


class Clients:
    """All clients of a run. They remember what they sent until they hear an answer."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.sent: dict[str, Sent] = {}
        self.unheard: list[str] = []
        self.heard: list[tuple[str, Answer | Failure]] = []
        self.hasty: set[str] = set()
        self.holders: dict[int, int] = {}
        self._known: dict[tuple[int, int], Known] = {}

    def request(self, step: Step) -> str:
        """Write down the request that the worker of a step makes, and return its key."""
        key = f"key-{len(self.sent) + 1}"
        body: dict[str, Any] = {"key": key, "yard": YARD, "job": step.job}
        if step.kind == "create":
            body["made"] = step.amount
        else:
            known = self._known.get((step.worker, step.job), Known())
            body["seen"] = known.seen
            if step.kind != "expire":
                body["worker"] = uuid.UUID(int=0xA0 + step.worker % WORKERS)
            if step.kind in _TIMED:
                body["seconds"] = 5 + step.amount % 896
            if step.kind in HELD:
                body["token"] = known.token
        command = COMMANDS[step.kind]
        self.sent[key] = Sent(command, body, self.recorder.begins(step.job, (command, body)))
        return key

    def sends(
        self, handle: int, keys: Sequence[str], kind: Any = "run", patience: float | None = None
    ) -> Ask:
        """Requests that are in `sent`, on their way; their client waits `patience` seconds, or for ever."""
        calls: list[Call] = []
        for key in keys:
            sent = self.sent[key]
            sent.handle = handle
            if patience is not None:
                self.hasty.add(key)
            sent.under_way += 1
            calls.append((sent.command, sent.input))
        return Ask(handle, Request(kind, calls, patience=patience))

    def hear(self, keys: Sequence[str], reply: Reply, *, heard: bool) -> list[Answer | None]:
        """What became of requests: for each, the answer that its client heard."""
        replies = [reply] * len(keys) if isinstance(reply, Failure) else reply
        return [self._hear(key, one, heard=heard) for key, one in zip(keys, replies, strict=True)]

    def _hear(self, key: str, reply: Answer | Failure, *, heard: bool) -> Answer | None:
        sent = self.sent[key]
        sent.under_way -= 1
        if not heard or (isinstance(reply, Failure) and not reply.certain):
            sent.operation.doubt = True
            if key not in self.unheard and not sent.answers:
                self.unheard.append(key)
            return None
        self.heard.append((key, reply))
        if isinstance(reply, Failure):
            return None
        self.recorder.ends(sent.operation, reply)
        sent.answers.append(reply)
        if key in self.unheard:
            self.unheard.remove(key)
        return reply

    def learn(self, step: Step, answer: Answer | None) -> None:
        """A worker keeps what an answer tells it."""
        if answer is not None and answer.job is not None:
            self._known[step.worker, step.job] = Known(answer.job.revision, answer.job.fence)
            if answer.command == "Claim":
                self.holders[step.job] = step.worker

    def looked(self, step: Step, operation: Operation, reply: Seen | Failure) -> None:
        """A worker has read a row."""
        if isinstance(reply, Failure):
            self.heard.append(("a look", reply))
        else:
            self.recorder.ends(operation, reply)
            if reply.job is not None:
                self._known[step.worker, step.job] = Known(reply.job.revision, reply.job.fence)

    def boarded(self, operation: Operation, reply: Board | Failure) -> None:
        """Somebody has read all rows at once."""
        if isinstance(reply, Failure):
            self.heard.append(("a board", reply))
        else:
            self.recorder.ends(operation, reply)

    def deployed(self, reply: int | Failure) -> None:
        """Somebody has deployed a successor, or was overtaken."""
        if isinstance(reply, Failure) and reply.code != "version_conflict":
            self.heard.append(("a deployment", reply))
