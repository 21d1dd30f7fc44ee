"""Refusals of the guard as records of the log: who tried what kind of thing, on what, never with what values.

A caller that is refused over and over fills neither the log nor the disk: each principal has so many records
a minute, and the next one says how many were left out.
"""

from __future__ import annotations

from typing import Any, Final

from treadle.access.caller import Caller
from treadle.engine.acts import act_record
from treadle.engine.batch import Batch
from treadle.graph.delta import Delta
from treadle.graph.guard import Refusal
from treadle.graph.terms import IRI
from treadle.graph.view import Lookups
from treadle.graph.vocabulary import RDF_TYPE, Vocabulary

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

    def record(
        self, batch: Batch, caller: Caller, refusal: Refusal, via: str, run: IRI | None = None
    ) -> None:
        """Append the refusal's record to the batch, unless the principal has used its minute up.

        `run` is the workflow run that the refusal is about, where it is about one.
        """
        count = self._count(caller.principal, batch.time)
        if count.recorded >= self._most:
            count.left_out += 1
            return
        body: dict[str, Any] = {
            "entity": cut(str(refusal.entity)),
            "field": refusal.field,
            "graph": None if refusal.graph is None else cut(str(refusal.graph)),
            "left_out": count.left_out,
            "via": via,
        }
        if run is not None:
            body["run"] = cut(str(run))
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


def run_of(refusal: Refusal, delta: Delta, before: Lookups, names: Vocabulary) -> IRI | None:
    """The run that a refusal is about: its entity, or the run of the event that is its entity."""
    entity, graph = refusal.entity, refusal.graph
    told = [
        (quad.p, quad.o)
        for quad in delta.added
        if quad.s == entity and quad.g == graph and quad.p in (RDF_TYPE, names.in_run)
    ]
    kinds = {value for predicate, value in told if predicate == RDF_TYPE}
    if names.run in kinds or names.run in before.objects(entity, RDF_TYPE, graph):
        return entity if isinstance(entity, IRI) else None
    runs = {value for predicate, value in told if predicate == names.in_run}
    runs = runs or set(before.objects(entity, names.in_run, graph))
    only = next(iter(runs)) if len(runs) == 1 else None
    return only if isinstance(only, IRI) else None


def cut(text: str) -> str:
    """A text as it is recorded."""
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
