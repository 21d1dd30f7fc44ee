"""The loop of a bulk command: each element's bindings, decisions and requirements in order, then, after
the command's own requirements, each element's effects in order."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.model.facts import Verdict
from treadle.plan.frame import NUMBER, PASSES, Frame, Scope, Step


def loop_step(outer: Scope, inner: Scope, list_input: str, steps: Sequence[Step]) -> Step:
    """The step that runs the body's first part for each element, on a frame of its own."""
    source = outer.slots[list_input]
    blank = [None] * (inner.next_slot - outer.next_slot - 1)
    body = tuple(steps)

    def run(frame: Frame) -> Verdict | None:
        for number, element in enumerate(frame[source]):
            own = [*frame, element, *blank]
            own[NUMBER] = number
            frame[PASSES].append(own)
            for step in body:
                verdict = step(own)
                if verdict is not None:
                    return verdict
        return None

    return run


def loop_effects(steps: Sequence[Step]) -> Step:
    """The step that runs the body's effects for each element."""
    body = tuple(steps)

    def run(frame: Frame) -> Verdict | None:
        for own in frame[PASSES]:
            for step in body:
                verdict = step(own)
                if verdict is not None:
                    return verdict
        return None

    return run
