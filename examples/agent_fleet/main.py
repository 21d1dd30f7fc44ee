"""A hundred agents work off four hundred tasks in a night; one in ten dies, and nothing is done twice.

The agents are simulated and so is the time: a clock that is moved by hand, fifteen seconds a step. What
they do to the database is real. At the end a report is made from the log alone.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import treadle
from treadle import config
from treadle.testing import ManualClock

HERE = Path(__file__).resolve().parent
DATABASE = HERE / "fleet.db"
FLEET = "north"
AGENTS, HOSTS, TASKS = 100, 10, 400
POISON = 13
ATTEMPTS = 3
STEP, LEASE = timedelta(seconds=15), 60
EVENING = datetime(2026, 1, 1, 23, 55, tzinfo=UTC)
MIDNIGHT = datetime(2026, 1, 2, tzinfo=UTC)
NIGHTLY = 1_000

Command = tuple[str, dict[str, Any]]


class Agent:
    """One simulated agent: what it holds, how far it is, and whether it still lives."""

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
        body = {"number": row["number"], "seconds": LEASE, "expected_revision": row["revision"]}
        return self.command("Claim", **body)

    def next_command(self) -> Command:
        """A heartbeat while it works; then the task's end, which for the poisoned one is a failure."""
        proof = {"number": self.task, "token": self.token, "expected_revision": self.revision}
        if self.left > 0:
            return self.command("Heartbeat", seconds=LEASE, **proof)
        if self.task != POISON:
            return self.command("Finish", **proof)
        return self.command("Bury" if self.tries >= ATTEMPTS else "Fail", **proof)

    def command(self, name: str, **body: Any) -> Command:
        return name, {"key": treadle.key(), "fleet": FLEET, "agent": self.id, **body}

    def hear(self, receipt: treadle.Receipt) -> None:
        """Take in what was answered."""
        if receipt.outcome == "Claimed":
            task = receipt.fields["task"]
            self.task, self.token, self.tries = task["number"], task["token"], task["tries"]
            self.left = 2 + self.task * 7 % 5
        elif receipt.outcome == "Alive":
            self.left -= 1
        else:  # it ended its task, or learns that it has none (any more)
            self.done += receipt.outcome == "Finished"
            self.task = None
        if receipt.ok and self.task is not None:
            self.revision = receipt.revisions["task"]


def open_tasks(service: treadle.Acting, now: datetime, host: int) -> list[dict[str, Any]]:
    """Tasks that a host may claim; each host begins at another place, to be in nobody's way."""
    rows = service.query("OpenTasks", {"fleet": FLEET}).rows
    free = [row for row in rows if row["held_until"] is None or row["held_until"] <= now]
    start = len(free) * host // HOSTS
    return free[start:] + free[:start]


def step(services: list[treadle.Acting], agents: list[Agent], now: datetime) -> None:
    """Fifteen seconds: every host's agents claim, beat or finish, each host's commands in one batch."""
    plans = []
    for host, service in enumerate(services):
        mine = [agent for agent in agents[host::HOSTS] if agent.dead_since is None]
        for agent in mine:
            if agent.task is not None and agent.doomed:
                agent.dead_since = now
        alive = [agent for agent in mine if agent.dead_since is None]
        rows = iter(open_tasks(service, now, host) if any(agent.task is None for agent in alive) else [])
        plan = []
        for agent in alive:
            row = next(rows, None) if agent.task is None else None
            if agent.task is not None or row is not None:
                plan.append((agent, agent.next_command() if row is None else agent.claim(row)))
        plans.append(plan)
    for service, plan in zip(services, plans, strict=True):
        for (agent, _), receipt in zip(plan, service.run_many([one for _, one in plan]), strict=True):
            agent.hear(answered(receipt))


def answered(item: treadle.Receipt | treadle.TreadleError) -> treadle.Receipt:
    """An item of a batch: a receipt, or else its error is raised."""
    if isinstance(item, treadle.TreadleError):
        raise item
    return item


def plan_the_night(db: treadle.Database) -> int:
    """Every host's scheduler fires. The key is the night's, so only one of them makes it happen."""
    planner = db.acting_as("planner", role="planner")
    body = {"key": f"nightly-{MIDNIGHT:%Y-%m-%d}", "fleet": FLEET, "due": MIDNIGHT, "number": NIGHTLY}
    answers = [planner.run("Nightly", body) for _ in range(HOSTS)]
    for answer in answers:
        answer.expect("Planned")
    return sum(not answer.replayed for answer in answers)


def simulate(db: treadle.Database, clock: ManualClock) -> list[Agent]:
    tasks = [
        ("Add", {"key": f"add-{number}", "fleet": FLEET, "number": number, "title": f"task {number}"})
        for number in range(TASKS)
    ]
    db.run_many(tasks, principal="planner", role="planner")
    services = [db.acting_as("agents", role="agent", instance=f"host-{host}/1") for host in range(HOSTS)]
    agents = [Agent(number) for number in range(AGENTS)]
    now, planned = EVENING, False
    say(now, f"{AGENTS} agents on {HOSTS} hosts begin with {TASKS} tasks; task {POISON} cannot be done")
    while not planned or services[0].query("OpenTasks", {"fleet": FLEET}).rows:
        if not planned and now >= MIDNIGHT:
            say(now, f"midnight: {HOSTS} schedulers fire the nightly report, {plan_the_night(db)} plans it")
            planned = True
        step(services, agents, now)
        clock.advance(STEP)
        now += STEP
    say(now, "no task is open")
    wake(services[3], [agent for agent in agents if agent.dead_since is not None], now)
    return agents


def wake(service: treadle.Acting, dead: list[Agent], now: datetime) -> None:
    """The dead were only unreachable: they come back and report work that others have done meanwhile."""
    late = [agent.command("Finish", number=agent.task, token=agent.token, expected_revision=agent.revision)
            for agent in dead]  # fmt: skip
    outcomes = Counter(answered(receipt).outcome for receipt in service.run_many(late))
    shown = ", ".join(f"{count} × {outcome}" for outcome, count in outcomes.items())
    say(now, f"{len(dead)} agents that were thought dead report their tasks as finished: {shown}")


def say(now: datetime, line: str) -> None:
    print(f"  {now:%H:%M:%S}  {line}", flush=True)


def report(db: treadle.Database) -> bool:
    """Whether every task was done once, told by the log and nothing else."""
    ends: dict[int, list[str]] = {number: [] for number in (*range(TASKS), NIGHTLY)}
    tokens: dict[int, list[int]] = {number: [] for number in ends}
    counts: Counter[str] = Counter()
    for entry in db.log(unmasked=True):
        if entry.kind != "command":
            continue
        counts[f"{entry.name} → {entry.outcome}"] += 1
        number = entry.input["number"]
        if entry.outcome in ("Finished", "Buried"):
            ends[number].append(entry.outcome)
        elif entry.outcome == "Claimed":
            tokens[number].append(entry.fields["task"]["token"])
    once = all(found == (["Buried"] if number == POISON else ["Finished"]) for number, found in ends.items())
    fenced = all(found == list(range(1, len(found) + 1)) for found in tokens.values())
    again = sum(len(found) > 1 for found in tokens.values())
    checked = db.verify()
    print("From the log:")
    for what, count in sorted(counts.items()):
        print(f"  {count:>5}  {what}")
    print(f"  every task ended once: {'yes' if once else 'NO'}; the poisoned one died after {ATTEMPTS} tries")
    print(f"  {again} tasks were claimed again; tokens without gap or repeat: {'yes' if fenced else 'NO'}")
    print(f"  history: {checked.evaluated} commands evaluated again, {len(checked.problems)} disagree")
    return once and fenced and checked.ok and counts["Nightly → Planned"] == 1


def main() -> None:
    for old in HERE.glob("fleet.db*"):
        old.unlink()
    settings = config.load(start=HERE)
    clock = ManualClock(EVENING)
    with treadle.open(DATABASE, clock=clock) as db:
        db.deploy(HERE / "fleet.riff", queries=settings.query_files, roles=settings.roles)
        print("A night of the fleet:")
        agents = simulate(db, clock)
        dead = sum(agent.dead_since is not None for agent in agents)
        good = report(db)
    if not good or dead != AGENTS // 10:
        raise SystemExit("the log does not prove it")


if __name__ == "__main__":
    main()
