"""Operations as an observer saw them begin and end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(eq=False, slots=True)
class Operation:
    """Something asked about `row`, and its answer once it was heard.

    It took effect at one moment between `invoked` and `answered`. Without an answer it may have taken
    effect at any later time, once or never, if it is in `doubt`; otherwise it certainly did not.
    """

    row: Any
    asked: Any
    invoked: int
    answered: int | None = None
    answer: Any = None
    doubt: bool = False


class Recorder:
    """Numbers beginnings and ends in the order in which one observer sees them."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._now = 0

    def begins(self, row: Any, asked: Any) -> Operation:
        """Note an operation before it is sent."""
        operation = Operation(row, asked, self._tick())
        self.operations.append(operation)
        return operation

    def ends(self, operation: Operation, answer: Any) -> None:
        """Note an answer after it came; of several to the same request the first counts."""
        if operation.answered is None:
            operation.answered, operation.answer = self._tick(), answer

    def _tick(self) -> int:
        self._now += 1
        return self._now
