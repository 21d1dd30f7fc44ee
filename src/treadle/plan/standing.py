"""What a command's requirements and decisions say of one row, as far as the row and the time settle them.

A condition that reads the row's own fields, constants and the transaction time alone is evaluated, in the
command's order: decisions, then requirements. One that reads an input, a service value or another row is left
open: the answer is then not sure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from treadle.model import contract as c
from treadle.model.facts import Cells
from treadle.plan.entities import EntityPlan
from treadle.plan.expressions import Function, OutOfRange, compile_expr
from treadle.plan.words import expression


class Standing(NamedTuple):
    """`refused` is the outcome that a condition answers, with the reason; None where none refuses. `sure` is
    false where a condition was left open, and `effects` are those on the row of the arms that are taken."""

    refused: tuple[str, str] | None
    sure: bool
    effects: tuple[c.Effect, ...]


class _Open(Exception):
    """A condition reads more than the row and the time."""


def standing(command: c.Command, binding: str, entity: EntityPlan, row: Cells | None, time: int) -> Standing:
    """What the conditions of a command outside its loop say of the row that `binding` names.

    `row` holds the row's cells, None where they are not known; `time` is in microseconds.
    """
    asking = _Asking(binding, entity, row, time)
    refused = next(_refusals(command, asking), None)
    return Standing(refused, asking.sure, tuple(asking.effects))


class _Asking:
    """One row, and what was found out so far."""

    def __init__(self, binding: str, entity: EntityPlan, row: Cells | None, time: int) -> None:
        self.binding = binding
        self.sure = True
        self.effects: list[c.Effect] = []
        self._entity = entity
        self._row = row
        self._time = time

    def forget(self) -> None:
        """The row is no longer known to be as it was."""
        self._row = None

    def holds(self, expr: c.Expr) -> bool | None:
        """Whether a condition holds; None where it is open. Raises `OutOfRange`."""
        try:
            return bool(compile_expr(expr, self._leaf)(None))
        except _Open:
            self.sure = False
            return None

    def _leaf(self, expr: c.Expr) -> Function:
        match expr:
            case c.TxTime():
                return lambda _: self._time
            case c.BindingField() if expr.binding == self.binding and self._row is not None:
                place = self._entity.positions[expr.field]
                if not self._entity.members[place].secret:  # whoever asks is told nothing of that
                    cell = self._row[place]
                    return lambda _: cell
        return _open


def _open(_: object) -> object:
    """Raised when it is asked for: what stands before it in `&&` or `||` may settle the condition."""
    raise _Open


def _refusals(command: c.Command, asking: _Asking) -> Iterator[tuple[str, str]]:
    try:
        for decision in command.decisions:
            yield from _decide(decision, asking)
        if command.loop is not None:
            asking.sure = False
            asking.forget()
        for require in command.requires:
            if asking.holds(require.expr) is False:
                asking.sure = asking.sure and not asking.effects  # an arm's effects come first
                reason = f"requirement {require.name} does not hold: {expression(require.expr)}"
                yield require.failure.name, reason
    except OutOfRange:
        yield "arithmetic", "a condition's arithmetic leaves its type's range"


def _decide(decision: c.Decision, asking: _Asking) -> Iterator[tuple[str, str]]:
    for arm in decision.arms:
        holds = True if arm.when is None else asking.holds(arm.when)
        if holds is None:  # which arm is taken, and what becomes of the row, is not known
            asking.forget()
            return
        if holds:
            yield from _take(arm, asking)
            return


def _take(arm: c.Arm, asking: _Asking) -> Iterator[tuple[str, str]]:
    match arm.action:
        case c.Reject(outcome):
            when = "no other case" if arm.when is None else expression(arm.when)
            yield outcome.name, f"decided by {when}"
        case c.Apply(bindings, effects):
            own = _on(asking.binding, effects)
            asking.effects += own
            if bindings:
                asking.sure = False  # rows that it makes may be there
            if own:
                asking.forget()
        case _:
            pass


def _on(binding: str, effects: Sequence[c.Effect]) -> list[c.Effect]:
    return [one for one in effects if not isinstance(one, c.Emit) and one.binding == binding]
