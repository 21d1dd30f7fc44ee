"""A contract from text, run command by command over a dictionary view, with what must always hold checked.

Every run is evaluated twice (the same verdict), asks the view only for what its access set lists (unless
the set says that it cannot know), and changes nothing unless it succeeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.support.view import DictView
from treadle.model.contract import Contract
from treadle.model.facts import Cells, Row, RowChange, Sealed, Verdict
from treadle.plan import Plan, build
from treadle.riff import compile_contract

NOW = 1_700_000_000_000_000


@cache
def planned(source: str) -> Plan:
    """The plan of a contract's text; made once."""
    compiled = compile_contract(source)
    if compiled.contract is None:
        raise ValueError(compiled.render())
    return build(compiled.contract)


class Machine:
    """A plan and the rows it runs over.

    `time` is the transaction time of the next commands, `asked` what the last one asked its view for.
    """

    def __init__(self, source: str) -> None:
        self.plan = planned(source)
        self.view = DictView(self.contract)
        self.time = NOW
        self.asked: list[tuple[str, Any]] = []

    @property
    def contract(self) -> Contract:
        return self.plan.contract

    def put(self, entity: str, *cells: Any, revision: int = 1) -> None:
        """Place a row without a command."""
        self.view.put(entity, cells, revision)

    def row(self, entity: str, *key: Any) -> Row | None:
        return self.view.rows.get((entity, key))

    def fields(self, entity: str, *key: Any) -> dict[str, Any] | None:
        """The row's cells by field name, or None."""
        row = self.row(entity, *key)
        names = [member.name for member in self.plan.entities[entity].members]
        return None if row is None else dict(zip(names, row.cells, strict=True))

    def input(self, command: str, **given: Any) -> Cells:
        """A command's input; the idempotency key, named `key`, and optional inputs may be left out."""
        plan = self.plan.commands[command]
        names = [field.name for field in plan.inputs]
        unknown = set(given) - set(names)
        if unknown:
            raise ValueError(f"{command} has no input {unknown}")
        return tuple(given.get(name, "k" if name == "key" else None) for name in names)

    def run(
        self,
        command: str,
        *,
        apply: bool = True,
        services: Cells = (),
        facts: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> Verdict:
        """Evaluate a command, take over its changes, give its verdict. `facts` makes the caller policed."""
        plan, input = self.plan.commands[command], self.input(command, **given)
        sealed = Sealed(self.time, services, dict(facts or {}), facts is not None)
        self.view.asked.clear()
        verdict = plan.evaluate(input, sealed, self.view)
        self.asked = list(self.view.asked)
        self._check_asked(command, input, services)
        again = plan.evaluate(input, sealed, self.view)
        if again != verdict:
            raise AssertionError(f"{command} gave two verdicts: {verdict} and {again}")
        check_shape(verdict)
        if apply:
            self.view.apply(verdict)
        return verdict

    def _check_asked(self, command: str, input: Cells, services: Cells) -> None:
        plan = self.plan.commands[command]
        access = plan.access(input, services, None)
        if access.ranges != plan.ranges:
            raise AssertionError(f"{command}: ranges differ")
        known = {("row", ref) for ref in access.rows} | {("holder", ref) for ref in access.uniques}
        unknown = [asked for asked in self.asked if asked not in known]
        if unknown and not access.ranges:
            raise AssertionError(f"{command} asked for what its access set does not list: {unknown}")


def check_shape(verdict: Verdict) -> None:
    """A verdict is a success, a declared failure or a terminal one, and only a success changes anything."""
    changed = (*verdict.changes, *verdict.taken, *verdict.released, *verdict.events, *verdict.revisions)
    if not verdict.success and changed:
        raise AssertionError(f"{verdict.outcome or verdict.failure} changes something")
    if (verdict.failure is None) != bool(verdict.outcome):
        raise AssertionError("a verdict has an outcome or a failure, and not both")
    if verdict.constraint is not None and verdict.failure is None:
        raise AssertionError("only a terminal failure names a constraint")
    keys = [(change.entity, change.key) for change in verdict.changes]
    if len(set(keys)) < len(keys):
        raise AssertionError("a row is changed twice")


def answer(verdict: Verdict) -> str:
    """The outcome, or the terminal failure with its constraint, as one word."""
    return verdict.outcome or ":".join(filter(None, (verdict.failure, verdict.constraint)))


def images(verdict: Verdict) -> list[Cells | None]:
    """The cells of all changed rows, in order; None for a deleted one."""
    changes: list[RowChange] = list(verdict.changes)
    return [change.cells for change in changes]
