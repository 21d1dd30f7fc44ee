"""A hundred agents work off four hundred tasks in a night; one in ten dies, and nothing is done twice.

The agents (agents.py) are simulated and so is the time: a clock that is moved by hand, fifteen seconds a
step. What they do to the database is real, and fleet.riff says what they may do. At the end a report is made
from the log alone.

Read this from `main` on: the fleet is set up, lives through a night, and is called to account.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agents import ATTEMPTS, FLEET, HOSTS, POISON, Agent, answered, step

import treadle
from treadle import config
from treadle.testing import ManualClock

HERE = Path(__file__).resolve().parent
DATABASE = HERE / "fleet.db"
AGENTS, TASKS = 100, 400
STEP = timedelta(seconds=15)
EVENING = datetime(2026, 1, 1, 23, 55, tzinfo=UTC)
REPORTS = 1_000
"""The nightly report of a day of the month is the task of this number and the day's."""


def main() -> None:
    for old in HERE.glob("fleet.db*"):
        old.unlink()
    settings = config.load(start=HERE)
    clock = ManualClock(EVENING)
    with treadle.open(DATABASE, clock=clock) as db:
        db.deploy(HERE / "fleet.riff", queries=settings.query_files, roles=settings.roles)
        print("A night of the fleet:")
        add_tasks(db)
        dead = live_through(db, clock)
        proved = report(db)
    if not proved or len(dead) != AGENTS // 10:
        raise SystemExit("the log does not prove it")


def add_tasks(db: treadle.Database) -> None:
    tasks = [
        ("Add", {"key": f"add-{number}", "fleet": FLEET, "number": number, "title": f"task {number}"})
        for number in range(TASKS)
    ]
    for answer in db.run_many(tasks, principal="planner", role="planner"):
        answered(answer).expect("Added")


# The schedule. Every host runs one like it, and there is nothing else: no leader, no table of jobs.


def nightly() -> treadle.Schedule:
    """Plans the report at midnight, by a command of the contract.

    The fleet was off for three nights before this one. `missed="latest"` makes up for the last of them, once,
    and leaves the older two; "all" would plan all three, "none" none.
    """
    return treadle.Schedule(
        "nightly-report",
        command="Nightly",
        cron="0 0 * * *",
        zone="UTC",
        input=lambda due: {"fleet": FLEET, "number": REPORTS + due.day},
        missed="latest",
        start=EVENING - timedelta(days=3),
        horizon=timedelta(days=7),
    )


class Schedulers:
    """The schedule on ten hosts, each of which comes to a due time by itself."""

    def __init__(self, db: treadle.Database) -> None:
        self.hosts = [
            db.acting_as("planner", role="planner", instance=f"host-{host}/2") for host in range(HOSTS)
        ]
        self.schedules = [nightly() for _ in self.hosts]

    def run(self) -> int:
        """Every host fires what is due. How often the command was carried out: the others got its receipt."""
        before = self.count("fired")
        for schedule, host in zip(self.schedules, self.hosts, strict=True):
            schedule.run(host, until_idle=True)
        return self.count("fired") - before

    def count(self, what: str) -> int:
        return sum(schedule.counters[what] for schedule in self.schedules)


# The night.


def live_through(db: treadle.Database, clock: ManualClock) -> list[Agent]:
    """Let the fleet work until no task is open; the agents that died."""
    services = [db.acting_as("agents", role="agent", instance=f"host-{host}/1") for host in range(HOSTS)]
    agents = [Agent(number) for number in range(AGENTS)]
    schedulers = Schedulers(db)
    made_up = schedulers.run()
    say(clock, f"{AGENTS} agents on {HOSTS} hosts begin with {TASKS} tasks; task {POISON} cannot be done")
    say(clock, f"{HOSTS} schedulers find three nights missed; {made_up} plans the report of the last one")
    planned = 0
    while not planned or services[0].query("OpenTasks", {"fleet": FLEET}).rows:
        fired = schedulers.run()
        if fired:
            say(clock, f"midnight: {HOSTS} schedulers fire the nightly report, {fired} plans it")
            planned += fired
        step(services, agents, clock.time)
        clock.advance(STEP)
    say(clock, "no task is open")
    dead = [agent for agent in agents if agent.dead_since is not None]
    wake(services[3], dead, clock)
    return dead


def wake(service: treadle.Acting, dead: list[Agent], clock: ManualClock) -> None:
    """The dead were only unreachable: they come back and report work that others have done meanwhile."""
    late = [agent.command("Finish", **agent.proof()) for agent in dead]
    outcomes = Counter(answered(receipt).outcome for receipt in service.run_many(late))
    shown = ", ".join(f"{count} × {outcome}" for outcome, count in outcomes.items())
    say(clock, f"{len(dead)} agents that were thought dead report their tasks as finished: {shown}")


def say(clock: ManualClock, line: str) -> None:
    print(f"  {clock.time:%H:%M:%S}  {line}", flush=True)


# The report.


def report(db: treadle.Database) -> bool:
    """Whether every task was done once, told by the log and nothing else."""
    ends: dict[int, list[str]] = {}
    tokens: dict[int, list[int]] = {}
    counts: Counter[str] = Counter()
    for entry in db.log(unmasked=True):
        if entry.kind != "command":
            continue
        counts[f"{entry.name} → {entry.outcome}"] += 1
        number = entry.input["number"]
        if entry.outcome in ("Added", "Planned"):
            ends[number], tokens[number] = [], []
        elif entry.outcome in ("Finished", "Buried"):
            ends[number].append(entry.outcome)
        elif entry.outcome == "Claimed":
            tokens[number].append(entry.fields["task"]["token"])
    once = all(found == (["Buried"] if number == POISON else ["Finished"]) for number, found in ends.items())
    fenced = all(found == list(range(1, len(found) + 1)) for found in tokens.values())
    again = sum(len(found) > 1 for found in tokens.values())
    nights = [number - REPORTS for number in ends if number >= REPORTS]
    checked = db.verify()
    print("From the log:")
    for what, count in sorted(counts.items()):
        print(f"  {count:>5}  {what}")
    print(f"  all {len(ends)} tasks ended once: {yes(once)}; the poisoned one died after {ATTEMPTS} tries")
    print(f"  nightly reports of days {nights}: one each, that of the missed night among them")
    print(f"  {again} tasks were claimed again; tokens without gap or repeat: {yes(fenced)}")
    print(f"  history: {checked.evaluated} commands evaluated again, {len(checked.problems)} disagree")
    return once and fenced and checked.ok and len(ends) == TASKS + 2 and nights == [1, 2]


def yes(good: bool) -> str:
    return "yes" if good else "NO"


if __name__ == "__main__":
    main()
