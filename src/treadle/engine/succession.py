"""From one contract to its successor: what changes, and what in the database stands in the way.

A deployment is judged twice: in a snapshot, while others write, and again in its own transaction, where only
what was written since is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treadle.engine.state import Deployed
from treadle.engine.usage import Looked, settle
from treadle.errors import ContractError
from treadle.model.contract import Contract
from treadle.model.migration import Migration, Need
from treadle.plan import evolution
from treadle.plan.evolution import Change
from treadle.ports.store import ReadTx
from treadle.registry import load


@dataclass(frozen=True)
class Successor:
    """What a contract changes where it follows the one in force.

    `changes` are all differences, each with what in the database depends on it; `before` and `after` are
    versions, `before` 0 where none is in force; `same` where the contract is in force already.
    """

    before: int
    after: int
    same: bool
    changes: tuple[Change, ...]

    @property
    def refused(self) -> tuple[Change, ...]:
        """What cannot be changed."""
        return tuple(change for change in self.changes if change.kind == "refused")

    @property
    def needs(self) -> tuple[Need, ...]:
        """What needs a migration, because there are rows."""
        return tuple(change.need for change in self.changes if change.kind == "migration" and change.need)

    @property
    def possible(self) -> bool:
        """Whether the contract can be deployed, with a migration where one is needed."""
        return not self.refused

    @property
    def draft(self) -> str:
        """A migration's text to complete, with `…` where a value is to be written; '' if none is needed."""
        if not self.needs:
            return ""
        text: str = load("riff.migrating").draft(self.before, self.after, self.needs)
        return text

    def to_json(self) -> dict[str, Any]:
        """The changes as JSON-ready values."""
        return {
            "before": self.before,
            "after": self.after,
            "same": self.same,
            "possible": self.possible,
            "migration": self.draft or None,
            "changes": [
                {
                    "class": change.kind,
                    "where": change.where,
                    "what": change.what,
                    "remedy": change.remedy,
                    "used_by": list(change.found),
                    "needs": str(change.need) if change.kind == "migration" else None,
                }
                for change in self.changes
            ],
        }


def judged(
    tx: ReadTx, active: Deployed | None, wanted: Contract, now: int, looked: Looked | None = None
) -> Successor:
    """What `wanted` changes and what depends on it; `now` is the time at which tokens count."""
    if active is None or active.identity == wanted.identity:
        version = active.version if active is not None else 0
        return Successor(version, wanted.version, active is not None, ())
    found = settle(tx, active, evolution.changes(active.contract, wanted), now, looked)
    return Successor(active.version, wanted.version, False, tuple(found))


def check(found: Successor) -> None:
    """Raise `ContractError` that names every refused change and what would make it possible."""
    if found.refused:
        raise ContractError(
            "the contract cannot follow the deployed one: " + "; ".join(map(str, found.refused)),
            code="contract_incompatible",
        )


def check_covered(found: Successor, migration: Migration | None) -> None:
    """Raise `ContractError` unless everything that needs a migration is in `migration`."""
    left = [need for need in found.needs if migration is None or not migration.covers(need)]
    if left:
        changes = "; ".join(str(change) for change in found.changes if change.need in left)
        raise ContractError(
            f"there are rows, so version {found.after} needs a migration: {changes}. "
            "`treadle deploy --dry-run` prints one to complete",
            code="contract_incompatible",
        )
