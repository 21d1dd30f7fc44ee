"""The plan of a contract: checked contract in, executable commands out. Pure: no text, no store, no clock.

Read in this order:

    positions, sizes, expressions   values: where cells stand, how long they are, how they are computed
    aggregates, policies, entities  what evaluation knows of the data
    frame, names, verdicts          where a running command keeps its values; how it ends
    bindings, leases, transitions,
    effects, decisions, loops       one clause each
    writes, deletes, checks,
    uniques, invariants, results    what becomes of the result
    program, access, partition,
    command                         a command: steps in order, and what they touch
    reimport                        restoring exported rows
    schema                          the tables of a contract
    explain, answers                a plan in words; what a command would answer now
    json_schema, diagram            what a contract takes and answers; its workflows as pictures
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from treadle.model.contract import Contract
from treadle.plan.command import CommandPlan
from treadle.plan.entities import EntityPlan, data_of
from treadle.plan.program import Builder
from treadle.plan.reimport import ReimportPlan
from treadle.plan.schema import tables
from treadle.plan.verdicts import OutcomePlan

SEMANTICS_VERSION: Final = 1
"""Rises when evaluation would decide anything differently: a log record says under which it was decided."""


class Plan:
    """The plan of a contract. Immutable; safe to share between threads.

    `names` are the table and column names fixed by earlier deployments (see `treadle.plan.schema`).
    """

    semantics_version = SEMANTICS_VERSION

    def __init__(self, contract: Contract, names: Mapping[str, str] | None = None) -> None:
        self.contract = contract
        self.tables = tables(contract, names)
        data = data_of(contract)
        self.entities: Mapping[str, EntityPlan] = data.entities
        self.commands: Mapping[str, CommandPlan] = {
            command.name: CommandPlan(Builder(data, command)) for command in contract.commands
        }
        self.reimports: Mapping[str, ReimportPlan] = {
            reimport.name: ReimportPlan(reimport, self.entities) for reimport in contract.reimports
        }


def build(contract: Contract, names: Mapping[str, str] | None = None) -> Plan:
    """The plan of a checked contract; raises `InvariantBroken` for one that the compiler would refuse."""
    return Plan(contract, names)


__all__ = ["SEMANTICS_VERSION", "CommandPlan", "EntityPlan", "OutcomePlan", "Plan", "ReimportPlan", "build"]
