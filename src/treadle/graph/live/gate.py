"""The gate: whoever saw a change in memory answers once it is durable, or looks again if it was taken back.

A change enters the index within its batch, so that later updates of the batch see it; the disk has it only
when the batch has committed. Queries run beside and may see it meanwhile. They wait here before they answer.
"""

from __future__ import annotations

import threading


class Gate:
    """Counts what was applied to the index and what of it is durable.

    `round` rises whenever something applied was taken back: what was computed in an earlier round may rest on
    what never was.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._applied = 0
        self._durable = 0
        self.round = 0

    def applying(self) -> None:
        """A change is about to enter the index."""
        self._applied += 1

    def kept(self) -> None:
        """Everything applied so far is durable."""
        with self._changed:
            self._durable = self._applied
            self._changed.notify_all()

    def undone(self) -> None:
        """What was applied and is not durable was taken back."""
        with self._changed:
            self._durable = self._applied
            self.round += 1
            self._changed.notify_all()

    def passed(self, round_: int, timeout: float | None = None) -> bool | None:
        """Wait until all that may have been seen by now is durable.

        Args:
            round_: the round before the caller began to look.
            timeout: seconds to wait; None waits for ever.

        Returns:
            True when it is durable, False when something was taken back and the caller must look again, None
            when the time is over.
        """
        seen = self._applied
        if self._durable >= seen and self.round == round_:
            return True
        with self._changed:
            if not self._changed.wait_for(lambda: self._durable >= seen or self.round != round_, timeout):
                return None
        return self.round == round_
