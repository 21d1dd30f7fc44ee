"""What a run saw."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from treadle.model.contract import Contract


@dataclass
class Report:
    """What a simulation saw.

    `outcomes` counts answers by command and outcome, declared ones that were never given with 0; `failures`
    counts by error code what was refused or failed otherwise. `states` counts rows at the end by workflow
    and state, `entered` how often a state was entered. `broken` says what should not be, and is empty.
    """

    seed: int
    steps: int
    outcomes: dict[str, Counter[str]]
    failures: dict[str, Counter[str]]
    states: dict[str, Counter[str]]
    entered: dict[str, Counter[str]]
    events: Counter[str]
    rows: Counter[str]
    replays: int = 0
    records: int = 0
    seconds: float = 0.0
    broken: list[str] = field(default_factory=list)

    @classmethod
    def empty(cls, contract: Contract, seed: int) -> Report:
        """The report of a run that has not begun."""
        enums = {one.name: one.variants for one in contract.enums}
        states = {
            one.name: _state_names(contract, one.entity, one.state, enums) for one in contract.workflows
        }
        return cls(
            seed,
            0,
            {one.name: Counter({out.name: 0 for out in one.outcomes}) for one in contract.commands},
            {one.name: Counter() for one in contract.commands},
            {name: Counter(dict.fromkeys(found, 0)) for name, found in states.items()},
            {name: Counter(dict.fromkeys(found, 0)) for name, found in states.items()},
            Counter({one.name: 0 for one in contract.events}),
            Counter({one.name: 0 for one in contract.entities}),
        )

    @property
    def ok(self) -> bool:
        """Whether nothing was broken."""
        return not self.broken

    @property
    def unreached(self) -> list[str]:
        """Outcomes never given, as `Command.Outcome`, and states never entered, as `Workflow.State`."""
        found = (*self.outcomes.items(), *self.entered.items())
        return [f"{name}.{one}" for name, counts in found for one, count in counts.items() if not count]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON-ready values."""
        tables = ("outcomes", "failures", "states", "entered")
        return {
            "ok": self.ok,
            "seed": self.seed,
            "steps": self.steps,
            **{name: {key: dict(counts) for key, counts in getattr(self, name).items()} for name in tables},
            "events": dict(self.events),
            "rows": dict(self.rows),
            "unreached": self.unreached,
            "replays": self.replays,
            "records": self.records,
            "seconds": self.seconds,
            "broken": self.broken,
        }


def _state_names(
    contract: Contract, entity: str, state: str, enums: dict[str, tuple[str, ...]]
) -> tuple[str, ...]:
    found = next(one for one in contract.entities if one.name == entity)
    kind = next(one.type for one in found.members if one.name == state)
    return enums[getattr(kind, "name", "")]
