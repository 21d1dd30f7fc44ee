"""The graph of one open database: what all its surfaces share."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from treadle.access.caller import Caller
from treadle.engine.core import Engine
from treadle.engine.grants import confirm
from treadle.engine.job import Job
from treadle.graph.dataset import Index
from treadle.graph.evaluation import Evaluator, Stopped, given_up
from treadle.graph.live import acts, rules
from treadle.graph.live.attempts import Attempts, Text, Update
from treadle.graph.live.changes import Changed
from treadle.graph.live.following import Live, Progress
from treadle.graph.live.jobs import Site
from treadle.graph.live.refusals import Refusals
from treadle.graph.live.rules import Rules, check_caller
from treadle.graph.options import GraphOptions
from treadle.ports.store import ReadTx

Result = TypeVar("Result")
OWNER = Caller("owner")


class Core:
    """The graph of an engine's database. Any number of threads may use it.

    Args:
        engine: the engine behind the handle.
        options: what the process says of the graph.
    """

    def __init__(self, engine: Engine, options: GraphOptions) -> None:
        self.engine = engine
        self.options = options
        self.live = Live(engine.store, options)
        self.evaluator = Evaluator()
        most = options.update_full_copy_max_facts
        self.site = Site(self.live, self.evaluator, Refusals(), most)

    def open(self) -> None:
        """Compare what the process says with the database, and enroll it where the process says so.

        Raises:
            ConfigError: the process says false, and the database is enrolled or verifies transitions.
            TreadleError: code `enrollment_mismatch`.
            Refused: reason `unmigrated`, it cannot be enrolled yet.
        """
        options = self.options
        with self.engine.store.read() as tx:
            known = self.live.rules(tx)
        wanted = rules.check(known, options)
        if wanted == "enroll":
            self.run(acts.Enroll(OWNER, self.live))
        elif wanted == "verify":
            self.run(acts.Verify(OWNER, self.live))

    def close(self) -> None:
        """End the threads that wait for work."""
        self.evaluator.close()

    def run(self, job: Job, timeout: float | None = None) -> Any:
        """Put one job into a batch; raises its error."""
        answer = self.engine.submit([job], timeout)[0]
        if isinstance(answer, BaseException):
            raise answer
        if job.exclusive:
            self.engine.refresh()
        return answer

    # Changes.

    def update(self, caller: Caller, wanted: Text) -> Update:
        """A SPARQL update, to be carried out by `settle`."""
        return Update(self.site, caller, wanted, self.engine.clock, self.engine.ids)

    def settle(self, attempts: Attempts, timeout: float | None = None) -> Changed:
        """Carry a change out from the calling thread.

        Args:
            attempts: the change.
            timeout: seconds for all tries together; the process's bound without it.

        Raises:
            Busy: the graph changed during each of several tries, or no batch came in time; nothing happened.
            TreadleError: what an attempt or its job raises.
        """
        until = time.monotonic() + self.seconds(timeout)
        while True:
            left = max(0.0, until - time.monotonic())
            job = attempts.job(left)
            answer = self.engine.submit([job], max(0.001, until - time.monotonic()))[0]
            done = attempts.take(answer)
            if done is not None:
                return done

    def labels(self) -> str:
        """A prefix of blank node labels that nothing else has."""
        return "b" + self.engine.ids.token(10).hex()

    # Reads.

    def read(
        self, caller: Caller, work: Callable[[Index, Stopped], Result], timeout: float | None = None
    ) -> Result:
        """Ask the index something, as of everything that was committed before; durable when it answers.

        Args:
            caller: who asks; it needs the `read` permission.
            work: asks one state of the index.
            timeout: seconds, the process's bound without it.

        Raises:
            Denied: the caller may not.
            SparqlError: code `deadline`.
            TreadleError: what `work` raises.
        """
        check_caller(confirm(self.engine, caller, self.engine.clock.now()).roles, caller, "read")
        until = time.monotonic() + self.seconds(timeout)
        while True:
            index, round_ = self.live.index(), self.live.gate.round
            left = max(0.0, until - time.monotonic())
            found = self.evaluator.run(partial(work, index), timeout=left)
            passed = self.live.gate.passed(round_, max(0.0, until - time.monotonic()))
            if passed is None:
                raise given_up()
            if passed:
                return found

    def snapshot(self, look: Callable[[ReadTx, Index, Rules], Result]) -> Result:
        """Ask the store and the index something together, as an operator."""
        while True:
            index, round_ = self.live.index(), self.live.gate.round
            with self.engine.store.read() as tx:
                found = look(tx, index, self.live.rules(tx))
            if self.live.gate.passed(round_):
                return found

    def seconds(self, timeout: float | None) -> float:
        """A call's bound in seconds."""
        return self.options.seconds if timeout is None else timeout

    def ready(self, progress: Progress | None = None) -> int:
        """Build the index, unless it is there, and follow the log; returns the number of statements."""
        return len(self.live.index(progress))
