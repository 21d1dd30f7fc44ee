"""A run: random requests to a contract in memory, on a clock that moves, some of them repeated."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from treadle.acting import Acting
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.engine.receipt import Receipt
from treadle.errors import Internal, InvalidInput, TreadleError
from treadle.history import entries
from treadle.model.contract import Command, Contract
from treadle.simulation.drawing import Drawer, Row, Rows
from treadle.simulation.laws import Laws
from treadle.simulation.report import Report
from treadle.simulation.values import Values
from treadle.store.ids import SystemIds
from treadle.store.memory import MemoryStore
from treadle.testing.clock import ManualClock

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
STEPS: Final = 2_000
REPEATED: Final = 0.08
"""How often an old request comes again, as after a lost answer."""
MOVED: Final = 0.25
"""How often the clock moves between two requests."""
MOST_BROKEN: Final = 20
PAUSES: Final = (0.5, 1.0, 1.0, 1.0, 5.0, 5.0, 30.0, 300.0, 3_600.0, 86_400.0)
"""Seconds by which the clock moves on."""


class _Run:
    """The database of a run, and what is known of it."""

    def __init__(self, source: str | Path, seed: int) -> None:
        self.dice = random.Random(f"treadle simulation {seed}")
        self.clock = ManualClock(START)
        ids = SystemIds(self.dice.randbytes)
        self.db = Database(Engine(MemoryStore(), self.clock, ids, maximum_jump=None), ":memory:")
        self.db.deploy(source, principal="simulation")
        self.engine = self.db._engine
        self.contract: Contract = self.engine.refresh().require().contract
        self.rows = Rows()
        self.values = Values(self.dice, self.contract, lambda: self.clock.time)
        self.drawer = Drawer(self.dice, self.contract, self.values, self.rows)
        self.laws = Laws(self.contract, self.rows)
        self.report = Report.empty(self.contract, seed)
        self.me: Acting = self.db.acting_as("simulation", instance="1")
        self.seen = 1
        self.sent: list[tuple[Command, Mapping[str, Any], Receipt | TreadleError]] = []

    def step(self) -> None:
        dice = self.dice
        if dice.random() < MOVED:
            self.clock.advance(timedelta(seconds=dice.choice((*PAUSES, *self._bounds()))))
        if self.sent and dice.random() < REPEATED:
            self._repeat(*dice.choice(self.sent))
            return
        command = dice.choices(self.contract.commands, self._weights())[0]
        body = self.drawer.draw(command)
        answer = self._answer(command, body)
        self._count(command, answer)
        if command.idempotency_key is not None and not isinstance(answer, Internal):
            self.sent = [*self.sent[-255:], (command, body, answer)]
        self._learn()

    def _bounds(self) -> list[float]:
        """The bounds of leases, so that some end just now and others just not."""
        leases = [one.lease for one in self.contract.workflows if one.lease is not None]
        return [float(bound) for lease in leases for bound in (lease.minimum, lease.maximum)]

    def _weights(self) -> list[int]:
        """Commands with outcomes that nobody has seen yet come more often; those that only add rows, less."""
        counts = self.report.outcomes
        unseen = (any(not count for count in counts[one.name].values()) for one in self.contract.commands)
        return [
            (1 if _only_creates(one) else 3) * (2 if new else 1)
            for one, new in zip(self.contract.commands, unseen, strict=True)
        ]

    def _answer(self, command: Command, body: Mapping[str, Any]) -> Receipt | TreadleError:
        try:
            return self.me.run(command.name, body)
        except TreadleError as error:
            return error

    def _count(self, command: Command, answer: Receipt | TreadleError) -> None:
        if isinstance(answer, Receipt):
            self.report.outcomes[command.name][answer.outcome] += 1
            return
        self.report.failures[command.name][answer.code] += 1
        if isinstance(answer, Internal):
            self.report.broken.append(f"{command.name}: {answer.__cause__!r}")

    def _repeat(self, command: Command, body: Mapping[str, Any], first: Receipt | TreadleError) -> None:
        again = self._answer(command, body)
        self.report.replays += 1
        same = (
            first == again and again.replayed
            if isinstance(first, Receipt) and isinstance(again, Receipt)
            else isinstance(first, TreadleError)
        )
        if not same:
            self.report.broken.append(f"{command.name} with the same key: first {first!r}, then {again!r}")
        if isinstance(again, Receipt) and not again.replayed:
            self._count(command, again)
        self._learn()

    def _learn(self) -> None:
        """Look at what was recorded since the last look."""
        for entry in entries(self.engine, self.seen + 1, None, unmasked=True):
            self.seen = entry.number
            self.report.broken += self.laws.broken(entry)
            for written in entry.rows:
                self._written(written)
            self.report.events.update(name for name, _ in entry.events)

    def _written(self, written: Any) -> None:
        key, rows = tuple(written.key), self.rows.of(written.entity)
        before = rows.pop(key, None)
        if written.fields is None:
            self.rows.gone[written.entity, key] = written.revision
            return
        row = rows[key] = Row(key, written.revision, written.fields)
        self.drawer.learn(written.entity, row)
        for workflow in self.contract.workflows:
            if workflow.entity == written.entity:
                state = row.fields[workflow.state]
                if before is None or before.fields[workflow.state] != state:
                    self.report.entered[workflow.name][state] += 1

    def conclude(self) -> Report:
        """Verify the history, and count the rows that there are."""
        report = self.report
        verified = self.db.verify()
        report.broken += [str(problem) for problem in verified.problems]
        report.records = verified.records
        report.seconds = (self.clock.time - START).total_seconds()
        for entity, rows in self.rows.now.items():
            report.rows[entity] = len(rows)
        for workflow in self.contract.workflows:
            report.states[workflow.name].update(
                row.fields[workflow.state] for row in self.rows.of(workflow.entity).values()
            )
        return report


def _only_creates(command: Command) -> bool:
    return all(binding.kind in ("create", "read") for binding in command.bindings) and command.loop is None


def simulate(
    contract: str | Path,
    *,
    steps: int = STEPS,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Send `steps` random requests to a contract in memory, on a clock that it moves; say what was seen.

    `contract` is a path or a text. Requests name rows that exist and what they hold, mostly; some are stale,
    wrong, or repeated with the same key. Roles and row policies are not simulated: the owner asks. The run is
    the same for the same contract, seed and steps, and ends early where too much is broken. `progress` is
    called with the steps done and in all. Raises `ContractError` for a contract that does not compile, and
    `InvalidInput` for one that has no command.
    """
    run = _Run(contract, seed)
    try:
        if not run.contract.commands:
            raise InvalidInput(
                "the contract declares no command, so there is nothing to send", path="contract"
            )
        for done in range(1, steps + 1):
            run.step()
            run.report.steps = done
            if progress is not None:
                progress(done, steps)
            if len(run.report.broken) >= MOST_BROKEN:
                break
        return run.conclude()
    finally:
        run.db.close()
