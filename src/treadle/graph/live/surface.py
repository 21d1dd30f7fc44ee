"""`db.graph`: the graph as a program uses it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from treadle.access.caller import Caller, stated
from treadle.engine.core import Engine
from treadle.errors import InvalidInput
from treadle.graph import enrollment
from treadle.graph.archive import Archive
from treadle.graph.dataset import Index
from treadle.graph.doctor import Finding
from treadle.graph.evaluation import Stopped
from treadle.graph.live import acts, exporting
from treadle.graph.live.attempts import Load, Text
from treadle.graph.live.bringing import BringHistory
from treadle.graph.live.changes import Changed
from treadle.graph.live.core import OWNER, Core
from treadle.graph.live.following import Progress
from treadle.graph.live.jobs import Condition
from treadle.graph.load import Loaded
from treadle.graph.migrate import NO_ANSWERS, Answers, Migration
from treadle.graph.options import GraphOptions
from treadle.graph.query import Query, Rows, Triples
from treadle.graph.terms import IRI, Resource, Term
from treadle.graph.view import Graph as GraphName

Result = TypeVar("Result")


class Graph:
    """The RDF dataset of a database. `db.graph` is the owner's view of it, `acting.graph` a principal's.

    A method that writes needs to know who acts: `principal=`, unless this view is a principal's. `role` is a
    role of the database. Times are seconds.
    """

    def __init__(self, core: Core, caller: Caller | None = None) -> None:
        self.core = core
        self._caller = caller

    def __repr__(self) -> str:
        return f"<graph as {self._caller.principal}>" if self._caller is not None else "<graph>"

    # Writing.

    def update(
        self,
        text: str,
        base: str | None = None,
        bindings: Mapping[str, Term] | None = None,
        *,
        using: Sequence[str] = (),
        using_named: Sequence[str] = (),
        principal: str | None = None,
        role: str | None = None,
        timeout: float | None = None,
    ) -> Changed:
        """Run a SPARQL 1.1 update. Answers `.tx`, `.asserted`, `.retracted` and `.graphs` once it is durable.

        `base` is what relative IRIs are resolved against; `bindings` puts terms in place of variables, never
        text; `using` and `using_named` are the protocol's using-graph-uri and using-named-graph-uri.

        Raises `Refused` (the guard; `.reason`), `SparqlSyntax` with line and column, `SparqlLimit`,
        `SparqlError` (`deadline`), `Denied`, `InvalidInput`, `Busy` (nothing happened), `OutcomeUnknown`.
        """
        wanted = Text(text, base, tuple(using), tuple(using_named), bindings, via="python")
        with _inputs():
            return self.core.settle(self.core.update(self._writer(principal, role), wanted), timeout)

    def load(
        self,
        text: str | bytes,
        format: str = "turtle",
        graph: IRI | str | None = None,
        base: str | None = None,
        *,
        replace: bool = False,
        principal: str | None = None,
        role: str | None = None,
        timeout: float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Changed:
        """Add a document's statements, or with `replace` put them in place of what `graph` holds.

        `format` is turtle, ntriples, nquads, trig, rdfxml or jsonld; `graph` is where statements go that name
        no graph themselves. The document's blank nodes are new ones. `progress` is called with the number of
        statements read so far, after each hundred thousand.

        Raises `Refused`, `SparqlSyntax`, `SparqlLimit`, `SparqlError`, `Denied`, `InvalidInput`, `Busy` and
        `OutcomeUnknown`, as `update` does.
        """
        caller = self._writer(principal, role)
        with _inputs():
            loaded = Loaded.read(
                text,
                format,
                labels=self.core.labels(),
                graph=named(graph),
                base=base,
                replace=replace,
                progress=progress,
            )
            return self.put(loaded, caller, via="load", timeout=timeout)

    def put(
        self,
        loaded: Loaded,
        caller: Caller,
        *,
        via: str,
        timeout: float | None = None,
        condition: Condition | None = None,
    ) -> Changed:
        """Carry out a document that was read; for surfaces that read it themselves."""
        return self.core.settle(Load(self.core.site, caller, loaded, via=via, condition=condition), timeout)

    # Reading.

    def query(
        self,
        text: str,
        bindings: Mapping[str, Term] | None = None,
        *,
        base: str | None = None,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
        principal: str | None = None,
        role: str | None = None,
        timeout: float | None = None,
    ) -> Rows | bool | Triples:
        """Ask a SPARQL 1.1 query: `Rows` for SELECT, a `bool` for ASK, `Triples` for CONSTRUCT and DESCRIBE.

        The answer is that of one state, no older than the call. `default_graphs` and `named_graphs` take the
        place of FROM; the default graph `urn:x-treadle:union` is the union of all graphs.

        Raises `SparqlSyntax` with line and column, `SparqlLimit`, `SparqlError` (`deadline`), `Denied`,
        `InvalidInput`.
        """
        with _inputs():
            query = Query.read(
                text,
                now=self.core.engine.clock.now(),
                base=base,
                bindings=bindings,
                default_graphs=default_graphs,
                named_graphs=named_graphs,
            )
            return self._read(
                lambda index, stopped: query.run(index, stopped=stopped), principal, role, timeout
            )

    def export(
        self,
        format: str = "nquads",
        graph: IRI | str | None = None,
        *,
        principal: str | None = None,
        role: str | None = None,
        timeout: float | None = None,
    ) -> str:
        """The whole dataset as N-Quads or TriG, or one graph in a format that names no graphs.

        `format` is nquads, trig, turtle, ntriples, rdfxml or jsonld; without `graph` the formats that name no
        graphs give the default graph. The text is of one state.
        Raises `InvalidInput` for a format that there is none of, `Denied`, `SparqlError` (`deadline`).
        """
        with _inputs():
            write = exporting.writer(format, named(graph))
            return self._read(lambda index, stopped: write(index).decode(), principal, role, timeout)

    def graphs(self, *, principal: str | None = None, role: str | None = None) -> list[exporting.Named]:
        """Every graph with its number of statements, the default graph first."""
        return self._read(lambda index, stopped: exporting.listed(index), principal, role, None)

    def capabilities(self) -> dict[str, Any]:
        """What a client of signed workflows asks before it writes: processing, and signature versions."""
        with self.core.engine.store.read() as tx:
            return enrollment.capabilities(self.core.live.rules(tx).stored)

    def ready(self, progress: Progress | None = None) -> int:
        """Build the index now instead of at the first use; returns the number of statements.

        `progress` is called with statements read and in all.
        """
        return self.core.ready(progress)

    # What an operator does.

    def enroll(self, *, principal: str | None = None, role: str | None = None) -> acts.Enrolled:
        """Switch workflow processing on, as `GraphOptions(enforce_workflows=True)` does at open.

        Raises `Refused` (`unmigrated`) with the list of what is in the way.
        """
        done: acts.Enrolled = self.core.run(acts.Enroll(self._operator(principal, role), self.core.live))
        return done

    def disenroll(self, *, principal: str | None = None, role: str | None = None) -> int:
        """Switch processing and verification off; returns the record's number, 0 if both were off."""
        number: int = self.core.run(acts.Disenroll(self._operator(principal, role), self.core.live))
        return number

    def doctor(self) -> list[Finding]:
        """What stands in the way of enrollment, and what is odd; blocking findings first."""
        return self.core.snapshot(acts.examined)

    def plan_migration(self, answers: Answers = NO_ANSWERS) -> Migration:
        """What enrollment needs of the data, and what `migrate` would write."""
        return self.core.snapshot(lambda tx, index, known: acts.migration(index, known, answers))

    def migrate(
        self, answers: Answers = NO_ANSWERS, *, principal: str | None = None, role: str | None = None
    ) -> tuple[Migration, Changed]:
        """Bring the data to what enrollment needs, in one transaction; make a backup first.

        Raises `Refused` (`unmigrated`) where something needs an answer.
        """
        job = acts.Migrate(self._operator(principal, role), self.core.live, answers)
        done: tuple[Migration, Changed] = self.core.run(job)
        return done

    def archive(
        self,
        target: str | Path,
        runs: Collection[Resource] | None = None,
        plans: Collection[Resource] = (),
        *,
        principal: str | None = None,
        role: str | None = None,
    ) -> tuple[Archive, Changed]:
        """Take finished runs (None: all of them) and abandoned plans out, after writing them to a new file.

        The file has N-Quads. A record stays on each run's IRI, so that no run of it starts again.
        Raises `InvalidInput` where the file exists, `Busy` where the graph changed meanwhile.
        """
        caller, live = self._operator(principal, role), self.core.live
        planned = self.core.snapshot(lambda tx, index, known: acts.archive(tx, index, known, runs, plans))
        exporting.write_new(Path(os.fspath(target)), planned.delta.removed)
        done: Changed = self.core.run(acts.ArchiveRuns(caller, live, runs, plans, planned.delta))
        return planned, done

    def bring_history(
        self,
        text: str | bytes,
        format: str = "turtle",
        graph: IRI | str | None = None,
        base: str | None = None,
        *,
        principal: str | None = None,
        role: str | None = None,
    ) -> Changed:
        """Take in whole signed runs with their events, folded instead of advanced; needs `restore`.

        Raises `Refused` with the reason why a run does not come in.
        """
        caller = self._operator(principal, role)
        with _inputs():
            labels = self.core.labels()
            loaded = Loaded.read(text, format, labels=labels, graph=named(graph), base=base)
        done: Changed = self.core.run(BringHistory(caller, self.core.live, loaded))
        return done

    # How.

    def _writer(self, principal: str | None, role: str | None) -> Caller:
        if self._caller is not None:
            return self._caller
        if principal is None:
            raise InvalidInput(
                "say who acts: update(…, principal='release-service'), or "
                "db.acting_as('release-service').graph",
                path="principal",
            )
        return stated(principal, role)

    def _operator(self, principal: str | None, role: str | None) -> Caller:
        return self._caller or stated(principal or OWNER.principal, role)

    def _read(
        self,
        work: Callable[[Index, Stopped], Result],
        principal: str | None,
        role: str | None,
        timeout: float | None,
    ) -> Result:
        return self.core.read(self._operator(principal, role), work, timeout)


def named(graph: IRI | str | None) -> GraphName:
    """A graph's name as a term; raises `InvalidInput` for what is no absolute IRI."""
    if graph is None or isinstance(graph, IRI):
        return graph
    try:
        return IRI(graph)
    except ValueError as error:
        raise InvalidInput(str(error), path="graph") from error


@contextmanager
def _inputs() -> Iterator[None]:
    """Arguments that the inner functions refuse as `ValueError` are the caller's to correct."""
    try:
        yield
    except ValueError as error:
        raise InvalidInput(str(error)) from error


def opened(engine: Engine, options: GraphOptions | None = None) -> Core:
    """The graph of an engine's database, for a process with these options."""
    return Core(engine, options or GraphOptions())


__all__ = ["Core", "Graph", "opened"]
