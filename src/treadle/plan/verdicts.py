"""Verdicts: the constants, the failures that end a command at once, and outcomes with their payloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from treadle.model import contract as c
from treadle.model.facts import (
    Cells,
    EventFact,
    Key,
    RevisionFact,
    RowChange,
    UniqueRef,
    Verdict,
)
from treadle.plan.expressions import Leaf, compile_expr
from treadle.plan.frame import Failure, Frame, Value

# A NamedTuple's own constructor goes through a Python function; this one does not.
_new: Final = tuple.__new__


class Terminal(Exception):
    """Ends the command with a terminal failure; `verdict` says which."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.failure)
        self.verdict = verdict


class OutcomePlan(NamedTuple):
    """A declared outcome: the fields of its payload in order, and whether it is the success."""

    name: str
    fields: tuple[c.Field, ...]
    success: bool


def outcome_plans(outcomes: Sequence[c.OutcomeDecl]) -> dict[str, OutcomePlan]:
    """Declared outcomes by name, in the order in which they stand."""
    return {each.name: OutcomePlan(each.name, each.fields, each.success) for each in outcomes}


def terminal(code: str, constraint: str | None = None) -> Verdict:
    """The verdict of a terminal failure. It has no outcome name and changes nothing."""
    return Verdict("", (), False, failure=code, constraint=constraint)


ARITHMETIC: Final = terminal("arithmetic")
DUPLICATE: Final = terminal("duplicate_target")
EXHAUSTED: Final = terminal("revision_exhausted")
TOO_LARGE: Final = terminal("row_too_large")


def declared(name: str, fields: Cells) -> Verdict:
    """The verdict of a declared failure outcome."""
    return _new(Verdict, (name, fields, False, (), (), (), (), (), None, None))


def success(
    name: str,
    fields: Cells,
    changes: Sequence[RowChange],
    released: Sequence[UniqueRef],
    taken: Sequence[tuple[UniqueRef, Key]],
    events: Sequence[EventFact],
    revisions: Sequence[RevisionFact],
) -> Verdict:
    """The verdict of the success outcome."""
    return _new(Verdict, (name, fields, True, changes, released, taken, events, revisions, None, None))


def payload(
    outcome: c.Outcome, declarations: Mapping[str, c.OutcomeDecl], leaf: Leaf
) -> Callable[[Frame], Cells]:
    """The fields of an outcome in the order in which the outcome declares them."""
    values = {assign.name: assign.value for assign in outcome.fields}
    names = [member.name for member in declarations[outcome.name].fields]
    if all(isinstance(values[name], c.Literal | c.Variant) for name in names):
        fields = tuple(compile_expr(values[name], leaf)([]) for name in names)
        return lambda frame: fields
    return tuple_of([compile_expr(values[name], leaf) for name in names])


def tuple_of(values: Sequence[Value]) -> Callable[[Frame], Cells]:
    """A function that evaluates each and makes a tuple of them."""
    if len(values) == 1:
        (only,) = values
        return lambda frame: (only(frame),)
    if len(values) == 2:
        first, second = values
        return lambda frame: (first(frame), second(frame))
    fixed = tuple(values)
    return lambda frame: tuple([value(frame) for value in fixed])


def failure(outcome: c.Outcome, declarations: Mapping[str, c.OutcomeDecl], leaf: Leaf) -> Failure:
    """A declared failure outcome: no row, no event."""
    name = outcome.name
    if not outcome.fields:
        fixed = declared(name, ())
        return lambda frame: fixed
    fields = payload(outcome, declarations, leaf)
    return lambda frame: declared(name, fields(frame))
