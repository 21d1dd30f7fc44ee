"""Changes of the graph as jobs of a batch: each may share its commit with commands and with others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from treadle.access.caller import Caller
from treadle.access.roles import Permission
from treadle.engine.batch import Batch
from treadle.engine.command import contained
from treadle.engine.job import Job
from treadle.errors import SparqlError
from treadle.graph.dataset import Index
from treadle.graph.delta import Delta
from treadle.graph.evaluation import Evaluator
from treadle.graph.live import committing
from treadle.graph.live.changes import Changed
from treadle.graph.live.following import Live, NotReady, Turn
from treadle.graph.live.refusals import Refusals
from treadle.graph.live.rules import check_caller
from treadle.graph.load import Loaded
from treadle.graph.sparql.request import Request
from treadle.graph.sparql.shapes import Ground, Shapes
from treadle.graph.sparql.update import evaluate

AGAIN: Final = object()
"""What a job answers that must be tried outside the batch again; nothing happened."""

QUICK: Final = 0.02
"""Seconds within which an evaluation outside must have ended for one inside to be allowed."""

LATEST: Final = 0.5
"""Seconds after which an evaluation inside is given up after all."""


Condition: TypeAlias = Callable[[Batch, Turn], None]
"""Raises where the graph is not as the caller wants it to be before its change."""


@dataclass(frozen=True, slots=True)
class Site:
    """What all graph jobs of a database share."""

    live: Live
    evaluator: Evaluator
    refusals: Refusals
    most: int
    shapes: Shapes = field(default_factory=Shapes)


class GraphJob(Job):
    """A change of the graph. What goes wrong is its own answer, never its neighbours'."""

    __slots__ = ("caller", "condition", "request_id", "site", "via")

    permission: Permission = "update"

    def __init__(
        self,
        site: Site,
        caller: Caller,
        via: str,
        size: int,
        request_id: bytes | None = None,
        condition: Condition | None = None,
    ) -> None:
        super().__init__(size)
        self.condition = condition
        self.site = site
        self.caller = caller
        self.via = via
        self.request_id = request_id

    def step(self, batch: Batch) -> None:
        contained(self, self._step, batch)

    def _step(self, batch: Batch) -> None:
        caller = batch.confirmed(self.caller)
        check_caller(batch.state.roles, caller, self.permission)
        try:
            turn = self.site.live.join(batch)
        except NotReady:
            self.result = AGAIN
            return
        if self.condition is not None:
            self.condition(batch, turn)
        delta = self.delta(batch, turn)
        self.result = AGAIN if delta is None else self.commit(batch, turn, caller, delta)

    def delta(self, batch: Batch, turn: Turn) -> Delta | None:
        """The whole change from the state that the turn shows; None where it must be computed outside."""
        raise NotImplementedError

    def commit(self, batch: Batch, turn: Turn, caller: Caller, delta: Delta) -> Changed:
        """Carry it out; see `committing.commit`."""
        return committing.commit(
            batch,
            turn,
            caller,
            delta,
            via=self.via,
            refusals=self.site.refusals,
            request_id=self.request_id,
        )


@dataclass(frozen=True, slots=True)
class Tried:
    """What an evaluation outside came to: the change, and the version of the index that it holds for."""

    delta: Delta
    version: int


def attempt(live: Live, compute: Callable[[Index], Delta]) -> Tried | None:
    """Compute a change outside of any batch; None where the index changed meanwhile."""
    index, before = live.index(), live.version
    delta = compute(index)
    return Tried(delta, before) if before % 2 == 0 and live.version == before else None


def weight(text: str) -> int:
    """What a job of an update may hold, in bytes."""
    return 1_024 + 4 * len(text)


class UpdateJob(GraphJob):
    """A SPARQL update.

    `tried` is what it came to outside, None where it was not tried or the index changed meanwhile; `inside`
    says how it may be evaluated in the batch: "free" costs no more than its text, "quick" was quick outside.
    """

    __slots__ = ("inside", "request", "tried")

    def __init__(
        self,
        site: Site,
        caller: Caller,
        request: Request,
        *,
        via: str,
        tried: Tried | None = None,
        inside: str = "",
        request_id: bytes | None = None,
        condition: Condition | None = None,
    ) -> None:
        super().__init__(site, caller, via, weight(request.update.source.text), request_id, condition)
        self.request = request
        self.tried = tried
        self.inside = inside

    def delta(self, batch: Batch, turn: Turn) -> Delta | None:
        tried = self.tried
        if tried is not None and tried.version == self.site.live.version:
            return tried.delta
        if self.inside == "free":
            return evaluate(self.request, turn.index, most=self.site.most).delta
        return self._again(batch, turn) if self.inside else None

    def _again(self, batch: Batch, turn: Turn) -> Delta | None:
        """Evaluate once more, at the sealed time, on a thread that is left if it is quick no longer."""

        def compute(stopped: Any) -> Delta:
            request = replace(self.request, now=batch.time, stopped=stopped)
            return evaluate(request, turn.index, most=self.site.most).delta

        try:
            return self.site.evaluator.run(compute, timeout=LATEST)
        except SparqlError as error:
            if error.code == "deadline":
                return None
            raise


class GroundJob(GraphJob):
    """A SPARQL update of a known shape, whose statements are known; it costs no more than its text."""

    __slots__ = ("ground",)

    def __init__(
        self,
        site: Site,
        caller: Caller,
        ground: Ground,
        *,
        via: str,
        size: int,
        request_id: bytes | None = None,
        condition: Condition | None = None,
    ) -> None:
        super().__init__(site, caller, via, size, request_id, condition)
        self.ground = ground

    def delta(self, batch: Batch, turn: Turn) -> Delta:
        return self.ground.evaluate(turn.facts, self.site.most)


class TimedJob(UpdateJob):
    """An update that asks for the time and is too slow to be evaluated again: its time is that of its try.

    Alone in its batch, whose time it sets; it may not be before the last commit's.
    """

    __slots__ = ()

    exclusive = True

    def delta(self, batch: Batch, turn: Turn) -> Delta | None:
        if self.request.now < batch.tx.head().time:
            return None
        batch.time = self.request.now
        return super().delta(batch, turn)


class LoadJob(GraphJob):
    """A document's statements: they are added to the graph, or take the place of one graph.

    `tried` is what they came to outside. Where the index has changed since, only what changed is looked at.
    """

    __slots__ = ("loaded", "tried")

    def __init__(
        self,
        site: Site,
        caller: Caller,
        loaded: Loaded,
        tried: Tried | None,
        *,
        via: str,
        condition: Condition | None = None,
        request_id: bytes | None = None,
    ) -> None:
        size = 1_024 + 256 * len(loaded.statements)
        super().__init__(site, caller, via, size, request_id, condition)
        self.loaded = loaded
        self.tried = tried

    def delta(self, batch: Batch, turn: Turn) -> Delta | None:
        if self.tried is None:
            return None
        since = self.site.live.since(self.tried.version)
        if since is None:
            return None
        return self.tried.delta if not since else self.loaded.rebased(self.tried.delta, since, turn.index)
