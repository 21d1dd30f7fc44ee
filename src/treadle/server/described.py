"""What an OpenAPI document is about."""

from __future__ import annotations

from typing import NamedTuple

from treadle.access.caller import Caller
from treadle.engine.state import State
from treadle.model.contract import Command, Contract


class Described(NamedTuple):
    """What a document is about: the state of the database, and whose view of it."""

    state: State
    caller: Caller

    @property
    def contract(self) -> Contract | None:
        return self.state.deployed.contract if self.state.deployed is not None else None

    @property
    def commands(self) -> list[Command]:
        """The commands that the caller may run, in declared order."""
        contract = self.contract
        if contract is None:
            return []
        by_name = {command.name: command for command in contract.commands}
        return [by_name[name] for name in self.state.roles.allowed(self.caller, by_name, "commands")]
