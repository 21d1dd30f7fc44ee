"""What the result of a command has to pass besides its constraints: row policies and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treadle import limits
from treadle.errors import TooLarge
from treadle.model.facts import RowChange, Sealed, Verdict, View
from treadle.plan.entities import EntityPlan
from treadle.plan.frame import CHANGES, EVENTS, FIRST, OWNERS, SEALED, VIEW, Frame, Step
from treadle.plan.policies import PolicyPlan, denied
from treadle.plan.sizes import Measure
from treadle.plan.verdicts import TOO_LARGE


def check_policies(frame: Frame) -> None:
    """The step that asks row policies about each change; raises `Denied`."""
    sealed: Sealed = frame[SEALED]
    if not sealed.policed:
        return
    for change, (write, _) in zip(frame[CHANGES], frame[OWNERS], strict=True):
        policy = write.entity.policy
        if policy is not None and not _allowed(policy, change, sealed, frame[VIEW]):
            raise denied()


def _allowed(policy: PolicyPlan, change: RowChange, sealed: Sealed, view: View) -> bool:
    """A new row needs `create`, a removed one `delete`, and a changed one `update` before and after."""
    if change.before is None:
        return change.cells is None or policy.create(change.cells, sealed, view)
    if change.cells is None:
        return policy.delete(change.before.cells, sealed, view)
    return policy.update(change.before.cells, sealed, view) and policy.update(change.cells, sealed, view)


def row_size_step(entities: Iterable[EntityPlan]) -> Step | None:
    """The step that refuses a row over the limit; None where no row of these entities can pass it."""
    measures = {entity.name: entity.sizes.row_measure(entity.name) for entity in entities}
    measured = {name: measure for name, measure in measures.items() if measure is not None}
    if not measured:
        return None

    def check_sizes(frame: Frame) -> Verdict | None:
        for change in frame[CHANGES]:
            measure = measured.get(change.entity)
            if measure is not None and change.cells is not None and measure(change.cells) > limits.ROW_BYTES:
                return TOO_LARGE
        return None

    return check_sizes


def command_size_step(
    inputs: Measure, rows: Mapping[str, Measure], events: Mapping[str, Measure], count: int
) -> Step:
    """The step that refuses a command whose input, rows and events together pass the limit.

    `count` is the number of inputs, which stand first in a frame. Raises `TooLarge`: nothing is recorded.
    """

    def check_size(frame: Frame) -> None:
        size = inputs(tuple(frame[FIRST : FIRST + count]))
        for change in frame[CHANGES]:
            if change.cells is not None:
                size += rows[change.entity](change.cells)
        for event in frame[EVENTS]:
            size += events[event.name](event.cells)
        if size > limits.COMMAND_BYTES:
            raise TooLarge(f"the command has {size} bytes, more than {limits.COMMAND_BYTES}; split it")

    return check_size


def mutation_count_step() -> Step:
    """The step that refuses a bulk command which writes more rows than one command may."""

    def check_count(frame: Frame) -> None:
        count = len(frame[CHANGES])
        if count > limits.BULK_MUTATIONS:
            raise TooLarge(
                f"the command writes {count} rows, more than {limits.BULK_MUTATIONS}; split its list"
            )

    return check_count
