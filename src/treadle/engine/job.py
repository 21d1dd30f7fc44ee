"""A job: one request that waits for its turn in a batch, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.errors import OutcomeUnknown

if TYPE_CHECKING:
    from treadle.engine.batch import Batch


class Job:
    """One request in the queue. Subclasses say what it does in `step`.

    `size` bounds what it may hold, in bytes; `ticket` is how its caller waits. The batch sets `result` or
    `error` while it runs; they count only once `done` is set, after the commit. `abandoned` is set by a
    caller that stopped waiting while the batch was running, `settled` by a batch that has committed: its
    answers then stand, whatever else goes wrong.
    """

    __slots__ = ("abandoned", "done", "error", "result", "settled", "size", "taken", "ticket")

    exclusive = False
    """True for a job that needs a batch of its own (a deployment, a restore)."""

    any_clock = False
    """True for an operator's act that may run although the clock is far ahead of the last commit."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.ticket: Any = None
        self.taken = False
        self.done = False
        self.settled = False
        self.abandoned = False
        self.result: Any = None
        self.error: BaseException | None = None

    def announce(self, batch: Batch) -> None:
        """Tell the batch which rows and receipts this job needs, before any job is run."""

    def step(self, batch: Batch) -> None:
        """Evaluate in the batch and set `result` or `error`; what it writes it hands to the batch."""
        raise NotImplementedError

    @property
    def answer(self) -> Any:
        """The result, or the error as an object."""
        if self.abandoned:
            return OutcomeUnknown("the time given ran out during the commit; repeat the same key to learn it")
        return self.result if self.error is None else self.error

    def reset(self) -> None:
        """Forget what a batch that was rolled back decided."""
        self.result = None
        self.error = None
        self.settled = False
