"""Refusals of the guard as records of the log: who tried what kind of thing, never what was to be written.

A caller that is refused over and over fills neither the log nor the disk: each principal has so many records
a minute, and the next one says how many were left out.
"""

from __future__ import annotations

from typing import Any, Final

from treadle.access.caller import Caller
from treadle.engine.acts import act_record
from treadle.engine.batch import Batch
from treadle.graph.guard import Refusal

PER_MINUTE: Final = 60
PRINCIPALS: Final = 1_024
MINUTE: Final = 60_000_000
LONGEST: Final = 512
"""Characters of an entity's or a graph's IRI that are recorded."""


class _Count:
    """What one principal has used of its minute."""

    __slots__ = ("began", "left_out", "recorded")

    def __init__(self, began: int) -> None:
        self.began = began
        self.recorded = 0
        self.left_out = 0


class Refusals:
    """Records refusals, within bounds. One for each process; its counts are of the process alone."""

    def __init__(self, per_minute: int = PER_MINUTE) -> None:
        self._most = per_minute
        self._counts: dict[str, _Count] = {}

    def record(self, batch: Batch, caller: Caller, refusal: Refusal, via: str) -> None:
        """Append the refusal's record to the batch, unless the principal has used its minute up."""
        count = self._count(caller.principal, batch.time)
        if count.recorded >= self._most:
            count.left_out += 1
            return
        body: dict[str, Any] = {
            "entity": _cut(str(refusal.entity)),
            "field": refusal.field,
            "graph": None if refusal.graph is None else _cut(str(refusal.graph)),
            "left_out": count.left_out,
            "via": via,
        }
        batch.append(act_record(batch, caller, "refusal", refusal.reason, body))
        count.recorded, count.left_out = count.recorded + 1, 0

    def _count(self, principal: str, now: int) -> _Count:
        count = self._counts.get(principal)
        if count is None:
            if len(self._counts) >= PRINCIPALS:
                self._counts.clear()
            count = self._counts[principal] = _Count(now)
        elif not 0 <= now - count.began < MINUTE:
            count.began, count.recorded = now, 0
        return count


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
