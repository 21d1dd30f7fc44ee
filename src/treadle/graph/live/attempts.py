"""A change from its text to its answer: tried outside the write lock, carried out inside, a few times.

Each class hands out one job after another (`job`) and is told what came of it (`take`), so that threads and
event loops drive it alike.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from treadle.access.caller import Caller
from treadle.errors import Busy
from treadle.graph.live.changes import Changed
from treadle.graph.live.jobs import (
    QUICK,
    Condition,
    GraphJob,
    GroundJob,
    LoadJob,
    Site,
    TimedJob,
    Tried,
    UpdateJob,
    attempt,
    weight,
)
from treadle.graph.load import Loaded
from treadle.graph.sparql.bounded import is_bounded, uses_now
from treadle.graph.sparql.request import Request
from treadle.graph.sparql.shapes import Ground
from treadle.graph.sparql.update import evaluate, prepare
from treadle.graph.terms import Term
from treadle.ports.clock import Clock, Ids

ROUNDS: Final = 5
SHORT: Final = 16_384
"""Characters up to which a text is taken apart on the caller's own thread, whatever its stack."""


@dataclass(frozen=True, slots=True)
class Text:
    """A SPARQL update as it came in.

    Attributes:
        text, base, using, using_named, bindings: as for `treadle.graph.sparql.update.compute_delta`.
        via: the surface that it came through.
        request_id: 16 bytes for the log.
        condition: what must hold of the graph before.
    """

    text: str
    base: str | None = None
    using: tuple[str, ...] = ()
    using_named: tuple[str, ...] = ()
    bindings: Mapping[str, Term] | None = None
    via: str = "sparql"
    request_id: bytes | None = None
    condition: Condition | None = None


class Attempts(Protocol):
    """A change that may take several tries."""

    @property
    def free(self) -> bool:
        """Whether `job` returns at once."""

    def job(self, timeout: float) -> GraphJob:
        """The next job to be put into a batch, after what must be tried outside."""

    def take(self, answer: object) -> Changed | None:
        """The answer of the last job; None where another one must be tried."""


class Rounds:
    """Counts tries, and raises what ended them."""

    def __init__(self) -> None:
        self._left = ROUNDS

    @property
    def again(self) -> bool:
        """Whether a job has found the index too far behind, or the graph changed."""
        return self._left < ROUNDS

    def take(self, answer: object) -> Changed | None:
        """See `Attempts.take`."""
        if isinstance(answer, Changed):
            return answer
        if isinstance(answer, BaseException):
            raise answer
        self._left -= 1
        if self._left <= 0:
            raise Busy("the graph changed each time while this was worked out; nothing happened, try again")
        return None


class Update(Rounds):
    """A SPARQL update."""

    def __init__(self, site: Site, caller: Caller, wanted: Text, clock: Clock, ids: Ids) -> None:
        super().__init__()
        self._site = site
        self._caller = caller
        self._wanted = wanted
        self._clock = clock
        self._ids = ids
        self._request: Request | None = None
        self._bounded = False
        self._ground = self._filled()

    def _filled(self) -> Ground | None:
        """The update's statements where its shape is known."""
        wanted = self._wanted
        if wanted.bindings or wanted.using or wanted.using_named:
            return None
        return self._site.shapes.read(wanted.text, wanted.base)

    @property
    def free(self) -> bool:
        """Whether the next job needs no work outside that could take long."""
        ready = self._site.live.built() and not self.again
        return ready and len(self._wanted.text) <= SHORT and self._prepared()

    def _prepared(self) -> bool:
        return self._ground is not None or (self._read(self._wanted) is not None and self._bounded)

    def _read(self, wanted: Text) -> Request:
        """The update taken apart, once."""
        if self._request is None:
            request = prepare(
                wanted.text,
                now=self._clock.now(),
                labels="b" + self._ids.token(10).hex(),
                base=wanted.base,
                using=wanted.using,
                using_named=wanted.using_named,
                bindings=wanted.bindings,
            )
            self._bounded = is_bounded(request)
            if self._bounded:
                for operation in request.update.operations:
                    request.templates(operation)  # inside, only the index is asked
            self._request = request
        return self._request

    def job(self, timeout: float) -> GraphJob:
        """See `Attempts.job`.

        Raises:
            SparqlSyntax, SparqlLimit, SparqlError: as `treadle.graph.sparql.update.compute_delta`, with code
                `deadline` where trying it took longer than `timeout`, in seconds.
        """
        wanted, evaluator = self._wanted, self._site.evaluator
        if self._ground is not None:
            self._catch_up()
            return self._sure(self._ground)
        if len(wanted.text) <= SHORT:
            request = self._read(wanted)
        else:
            request = evaluator.run(lambda stopped: self._read(wanted), timeout=timeout)
        if self._bounded:
            self._catch_up()
            return self._made(UpdateJob, request, None, "free")
        request = replace(request, now=self._clock.now())
        started = time.perf_counter()
        tried = evaluator.run(lambda stopped: self._try(replace(request, stopped=stopped)), timeout=timeout)
        inside = "quick" if time.perf_counter() - started < QUICK else ""
        if not uses_now(request):
            return self._made(UpdateJob, request, tried, inside)
        if inside:  # at the batch's own time
            return self._made(UpdateJob, request, None, inside)
        return self._made(TimedJob, request, tried, "")

    def _catch_up(self) -> None:
        """Follow outside the write lock, however far behind the index is, where that is needed."""
        if self.again or not self._site.live.built():
            self._site.live.index()

    def _sure(self, ground: Ground) -> GroundJob:
        wanted = self._wanted
        return GroundJob(
            self._site,
            self._caller,
            ground,
            via=wanted.via,
            size=weight(wanted.text),
            request_id=wanted.request_id,
            condition=wanted.condition,
        )

    def _try(self, request: Request) -> Tried | None:
        return attempt(self._site.live, lambda index: evaluate(request, index, most=self._site.most).delta)

    def _made(self, kind: type[UpdateJob], request: Request, tried: Tried | None, inside: str) -> UpdateJob:
        return kind(
            self._site,
            self._caller,
            request,
            via=self._wanted.via,
            tried=tried,
            inside=inside,
            request_id=self._wanted.request_id,
            condition=self._wanted.condition,
        )


class Load(Rounds):
    """A document that was read."""

    free = False

    def __init__(
        self,
        site: Site,
        caller: Caller,
        loaded: Loaded,
        *,
        via: str,
        request_id: bytes | None = None,
        condition: Condition | None = None,
    ) -> None:
        super().__init__()
        self._site = site
        self._caller = caller
        self._loaded = loaded
        self._via = via
        self._request_id = request_id
        self._condition = condition

    def job(self, timeout: float) -> LoadJob:
        """See `Attempts.job`."""
        tried = attempt(self._site.live, self._loaded.delta)
        return LoadJob(
            self._site,
            self._caller,
            self._loaded,
            tried,
            via=self._via,
            request_id=self._request_id,
            condition=self._condition,
        )
