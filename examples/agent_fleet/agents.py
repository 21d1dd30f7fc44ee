"""Simulated agents: each claims a task, shows by heartbeats that it lives, and ends the task. Some die."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import treadle

FLEET = "north"
HOSTS = 10
LEASE = 60
"""Seconds for which a claim or a heartbeat holds a task."""
POISON = 13
"""The task that nobody can do."""
ATTEMPTS = 3
"""So often it is tried before it is given up."""

Command = tuple[str, dict[str, Any]]


class Agent:
    """One agent: what it holds, how far it is, and whether it still lives."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.id = UUID(int=number + 1)
        self.task: int | None = None
        self.token = self.revision = self.tries = self.left = self.done = 0
        self.dead_since: datetime | None = None

    @property
    def doomed(self) -> bool:
        """One in ten dies in the middle of its second task."""
        return self.number % 10 == 3 and self.done == 1 and self.left == 1

    def claim(self, row: dict[str, Any]) -> Command:
        """Ask for a task that was seen at a revision: whoever saw an older one is refused."""
        return self.command("Claim", number=row["number"], seconds=LEASE, expected_revision=row["revision"])

    def next_command(self) -> Command:
        """A heartbeat while it works; then the task's end, which for the poisoned one is a failure."""
        if self.left > 0:
            return self.command("Heartbeat", seconds=LEASE, **self.proof())
        if self.task != POISON:
            return self.command("Finish", **self.proof())
        return self.command("Bury" if self.tries >= ATTEMPTS else "Fail", **self.proof())

    def proof(self) -> dict[str, Any]:
        """What shows that the task is this agent's: the fencing token, and the revision that it knows."""
        return {"number": self.task, "token": self.token, "expected_revision": self.revision}

    def command(self, name: str, **body: Any) -> Command:
        return name, {"key": treadle.key(), "fleet": FLEET, "agent": self.id, **body}

    def hear(self, receipt: treadle.Receipt) -> None:
        """Take in what was answered."""
        if receipt.outcome == "Claimed":
            task = receipt.fields["task"]
            self.task, self.token, self.tries = task["number"], task["token"], task["tries"]
            self.left = 2 + self.task * 7 % 5  # so many heartbeats does it take
        elif receipt.outcome == "Alive":
            self.left -= 1
        else:  # it ended its task, or learns that it has none (any more)
            self.done += receipt.outcome == "Finished"
            self.task = None
        if receipt.ok and self.task is not None:
            self.revision = receipt.revisions["task"]


def step(services: list[treadle.Acting], agents: list[Agent], now: datetime) -> None:
    """A moment of the fleet: every host's agents claim, beat or finish, each host's commands in one batch."""
    plans = [plan(service, agents[host::HOSTS], host, now) for host, service in enumerate(services)]
    for service, planned in zip(services, plans, strict=True):
        answers = service.run_many([command for _, command in planned])
        for (agent, _), answer in zip(planned, answers, strict=True):
            agent.hear(answered(answer))


def plan(
    service: treadle.Acting, agents: list[Agent], host: int, now: datetime
) -> list[tuple[Agent, Command]]:
    """What each agent of a host does next. The doomed die here, without a word to anybody."""
    for agent in agents:
        if agent.dead_since is None and agent.task is not None and agent.doomed:
            agent.dead_since = now
    alive = [agent for agent in agents if agent.dead_since is None]
    idle = any(agent.task is None for agent in alive)
    rows = iter(open_tasks(service, now, host) if idle else [])
    planned = []
    for agent in alive:
        row = next(rows, None) if agent.task is None else None
        if agent.task is not None:
            planned.append((agent, agent.next_command()))
        elif row is not None:
            planned.append((agent, agent.claim(row)))
    return planned


def open_tasks(service: treadle.Acting, now: datetime, host: int) -> list[dict[str, Any]]:
    """Tasks that a host may claim; each host begins at another place, to be in nobody's way."""
    rows = service.query("OpenTasks", {"fleet": FLEET}).rows
    free = [row for row in rows if row["held_until"] is None or row["held_until"] <= now]
    start = len(free) * host // HOSTS
    return free[start:] + free[:start]


def answered(item: treadle.Receipt | treadle.TreadleError) -> treadle.Receipt:
    """An item of a batch: a receipt, or else its error is raised."""
    if isinstance(item, treadle.TreadleError):
        raise item
    return item
